"""Times restarts of an engine against a held load. Called by scripts/bench/handoff."""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")

# An engine's start: attach, make an array of every tensor, read from each.
ENGINE = """
import sys, time
sys.path.insert(0, %r)
import attach
start = time.monotonic()
a = attach.Attachment(sys.argv[1], 0)
n = size = 0
for t in a.manifest["tensors"]:
    x = a.array(t).reshape(-1)
    if x.size:
        x[0], x[-1]
    n, size = n + 1, size + t["bytes"]
print(time.monotonic() - start, n, size)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", help="folder with the program ckpt")
    parser.add_argument("path", nargs="?", help="a checkpoint")
    parser.add_argument("-n", type=int, default=7, help="restarts")
    parser.add_argument("--check", action="store_true", help="fail when one takes a second")
    args = parser.parse_args()
    ckpt, path = os.path.join(args.tools, "ckpt"), args.path
    if path is None:
        full, path = os.path.join(args.tools, "full"), os.path.join(args.tools, "k3")
        subprocess.run([ckpt, "synth", "-q", "kimi-k3", "--full", full], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([ckpt, "slice", "-q", full, path, "--layers", "4"], check=True, stdout=subprocess.DEVNULL)
    socket, start = os.path.join(args.tools, "s"), time.monotonic()
    holder = subprocess.Popen([ckpt, "load", "-q", "--tp", "8", "--ranks", "0", "--device", "host", "--hold", socket, path])
    try:
        while not os.path.exists(socket):
            if holder.poll() is not None:
                sys.exit(f"the load ended with {holder.returncode}")
            time.sleep(0.01)
        print(f"loaded, verified and held after {time.monotonic() - start:.2f} s")
        whole = [restart(socket) for _ in range(args.n)]
    finally:
        holder.send_signal(signal.SIGTERM)
        holder.wait()
    print(f"{args.n} restarts: median {statistics.median(whole):.3f} s, slowest {max(whole):.3f} s, the interpreter and numpy included")
    if args.check and max(whole) >= 1:
        sys.exit("a restart took a second or more")


def restart(socket):
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", ENGINE % EXAMPLES, socket], check=True, capture_output=True, text=True)
    whole = time.monotonic() - start
    attached, tensors, size = done.stdout.split()
    print(f"  process to weights {whole:.3f} s, of it attaching {float(attached):.4f} s: {tensors} tensors, {int(size):,} bytes")
    return whole


if __name__ == "__main__":
    main()
