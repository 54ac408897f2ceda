"""Called by scripts/bench/plan: see there."""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time

# What --check demands on two cores.
WALL_SECONDS = 1.0
PEAK_RSS = 300_000_000
PLAN_BYTES = 1_000_000


def run(command):
    """Wall seconds, peak bytes resident and processor seconds."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}")
    return wall, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tools")
    parser.add_argument("path", nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("-n", type=int, default=5)
    args = parser.parse_args()
    ckpt = os.path.join(args.tools, "ckpt")
    path = args.path
    if path is None:
        path = os.path.join(args.tools, "k3")
        subprocess.run([ckpt, "synth", "-q", "kimi-k3", "--full", path], check=True, stdout=subprocess.DEVNULL)
    command = [ckpt, "plan", "--tp", "8", path]
    run(command)
    runs = [run(command) for _ in range(args.n)]
    file = os.path.join(args.tools, "plan.json.zst")
    run(command + ["-q", "-o", file])
    shown = [run([ckpt, "plan", "show", file]) for _ in range(args.n)]
    wall, rss = min(r[0] for r in runs), max(r[1] for r in runs)
    size = os.path.getsize(file)
    print(f"machine   {os.cpu_count()} processors, {platform.machine()}, {platform.system()} {platform.release()}")
    print(f"command   ckpt {' '.join(command[1:])}")
    print("wall s    " + " ".join(f"{r[0]:.3f}" for r in runs) + f"  best {wall:.3f}, median {statistics.median(r[0] for r in runs):.3f}")
    print(f"cpu s     {statistics.median(r[2] for r in runs):.3f}")
    print(f"peak RSS  {rss / 1e6:.1f} MB")
    print(f"plan file {size:,} bytes; read, printed in {min(r[0] for r in shown):.3f} s")
    if args.check and (wall > WALL_SECONDS or rss > PEAK_RSS or size > PLAN_BYTES):
        sys.exit(f"a limit is missed: {WALL_SECONDS} s, {PEAK_RSS:,} bytes of memory, {PLAN_BYTES:,} bytes of file")


main()
