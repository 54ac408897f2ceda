"""Called by scripts/bench/audit: see there."""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import time

# What --check demands on two cores, of the best run: a busy machine makes every
# other one slower, and says nothing of the program.
WALL_SECONDS = 0.6
PEAK_RSS = 250_000_000
RATIO = 1.0

INDEX = "model.safetensors.index.json"

# Each prints the seconds of its loop alone, the start of Python and imports
# left out.
OPEN = """
import sys, time
from safetensors import safe_open
start = time.perf_counter()
for path in sys.argv[1:]:
    with safe_open(path, framework="np") as f:
        pass
print(time.perf_counter() - start)
"""
LOADS = """
import json, sys, time
start = time.perf_counter()
for path in sys.argv[1:]:
    with open(path, "rb") as f:
        json.loads(f.read() if path.endswith(".json") else f.read(int.from_bytes(f.read(8), "little")))
print(time.perf_counter() - start)
"""


def audit(ckpt, path):
    """Wall seconds, peak bytes resident and processor seconds of one audit."""
    start = time.perf_counter()
    child = subprocess.Popen([ckpt, "audit", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 3):
        sys.exit(f"ckpt audit {path}: exit status {child.returncode}")
    return wall, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def python(program, files):
    done = subprocess.run([sys.executable, "-c", program, *files], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return float(done.stdout)


def header_bytes(files):
    total = 0
    for path in files:
        with open(path, "rb") as f:
            total += 8 + int.from_bytes(f.read(8), "little")
    return total


def measure(ckpt, path, runs):
    files = sorted(glob.glob(os.path.join(path, "*.safetensors")))
    index = os.path.join(path, INDEX)
    if not files or not os.path.exists(index):
        sys.exit(f"{path}: no safetensors files with an index")
    size = header_bytes(files) + os.path.getsize(index)
    ours, opens, loads = [], [], []
    for i in range(runs + 1):
        a, o, l = audit(ckpt, path), python(OPEN, files), python(LOADS, [*files, index])
        if i > 0:  # the first round warms the page cache
            ours.append(a)
            opens.append(o)
            loads.append(l)
    wall, rss, cpu = (statistics.median(column) for column in zip(*ours))
    return {
        "files": len(files), "bytes": size, "runs": runs,
        "wall_seconds": wall, "best_seconds": min(a[0] for a in ours), "cpu_seconds": cpu,
        "peak_rss": max(a[1] for a in ours), "bytes_per_second": size / wall,
        "official_open_seconds": statistics.median(opens), "json_loads_seconds": statistics.median(loads),
        "ratio_to_open": statistics.median(a[0] / o for a, o in zip(ours, opens)),
        "ratio_to_loads": statistics.median(a[0] / l for a, l in zip(ours, loads)),
    }


def show(m):
    print(f"{m['files']} headers and the index, {m['bytes'] / 1e6:.1f} MB of JSON, {m['runs']} runs in turns, medians")
    print(f"  ckpt audit        {m['wall_seconds']:7.3f} s  best {m['best_seconds']:.3f} s, processor {m['cpu_seconds']:.3f} s, "
          f"{m['bytes_per_second'] / 1e6:.0f} MB/s, peak RSS {m['peak_rss'] / 1e6:.0f} MB")
    print(f"  safe_open         {m['official_open_seconds']:7.3f} s  the audit takes {m['ratio_to_open']:.2f} of it")
    print(f"  json.loads        {m['json_loads_seconds']:7.3f} s  the audit takes {m['ratio_to_loads']:.2f} of it")
    print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in m.items()}), flush=True)


def missed(m):
    """The limits that a measurement misses."""
    limits = {"best_seconds": WALL_SECONDS, "peak_rss": PEAK_RSS, "ratio_to_open": RATIO}
    return [f"{k} is {m[k]:.3f}, at most {v} is allowed" for k, v in limits.items() if m[k] > v]


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench/audit", description=__doc__)
    parser.add_argument("tools")
    parser.add_argument("path", nargs="?")
    parser.add_argument("-n", "--runs", type=int, default=7)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    ckpt = os.path.join(args.tools, "ckpt")
    path = args.path
    if path is None:
        path = os.path.join(args.tools, "kimi-k3")
        subprocess.run([ckpt, "synth", "kimi-k3", path, "--full"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    # Another process on the machine can spoil a measurement, never better it.
    for attempt in range(3 if args.check else 1):
        m = measure(ckpt, path, args.runs)
        show(m)
        faults = missed(m)
        if not faults:
            break
    if args.check and faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
