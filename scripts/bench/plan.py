"""Called by scripts/bench/plan: see there."""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

# What --check demands on two cores, of the best run: a busy machine makes every
# other one slower, and says nothing of the program.
WALL_SECONDS = 1.0
PEAK_RSS = 300_000_000
PLAN_BYTES = 1_000_000
SHOW_SECONDS = 1.0


def run(command, allowed=(0,)):
    """Wall seconds, peak bytes resident and processor seconds."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in allowed:
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}")
    return wall, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def measure(ckpt, path, file, n):
    """Plans and audits of the same files in turns; the first of each warms the
    page cache."""
    command = [ckpt, "plan", "--tp", "8", path]
    plans, audits, shown = [], [], []
    for i in range(n + 1):
        p, a = run(command), run([ckpt, "audit", path], (0, 3))
        if i > 0:
            plans.append(p)
            audits.append(a)
    if os.path.exists(file):
        os.remove(file)
    run(command + ["-q", "-o", file])
    shown = [run([ckpt, "plan", "show", file])[0] for _ in range(n)]
    wall, rss, cpu = (statistics.median(column) for column in zip(*plans))
    return {
        "runs": n, "wall_seconds": wall, "best_seconds": min(p[0] for p in plans), "cpu_seconds": cpu,
        "peak_rss": max(p[1] for p in plans), "audit_seconds": statistics.median(a[0] for a in audits),
        "ratio_to_audit": statistics.median(p[0] / a[0] for p, a in zip(plans, audits)),
        "plan_bytes": os.path.getsize(file), "show_seconds": statistics.median(shown),
    }


def show(m):
    print(f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()} {platform.release()}; {m['runs']} runs in turns, medians")
    print(f"  ckpt plan --tp 8  {m['wall_seconds']:7.3f} s  best {m['best_seconds']:.3f} s, processor {m['cpu_seconds']:.3f} s, peak RSS {m['peak_rss'] / 1e6:.0f} MB")
    print(f"  ckpt audit        {m['audit_seconds']:7.3f} s  the plan takes {m['ratio_to_audit']:.2f} of it")
    print(f"  ckpt plan show    {m['show_seconds']:7.3f} s  of a file of {m['plan_bytes']:,} bytes")
    print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in m.items()}), flush=True)


def missed(m):
    """The limits that a measurement misses."""
    limits = {"best_seconds": WALL_SECONDS, "peak_rss": PEAK_RSS, "show_seconds": SHOW_SECONDS, "plan_bytes": PLAN_BYTES}
    return [f"{k} is {m[k]:.3f}, at most {v} is allowed" for k, v in limits.items() if m[k] > v]


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench/plan", description=__doc__)
    parser.add_argument("tools")
    parser.add_argument("path", nargs="?")
    parser.add_argument("-n", "--runs", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    ckpt, path = os.path.join(args.tools, "ckpt"), args.path
    if path is None:
        path = os.path.join(args.tools, "k3")
        subprocess.run([ckpt, "synth", "-q", "kimi-k3", "--full", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    # Another process on the machine can spoil a measurement, never better it.
    for attempt in range(3 if args.check else 1):
        m = measure(ckpt, path, os.path.join(args.tools, "plan.json.zst"), args.runs)
        show(m)
        faults = missed(m)
        if not faults:
            break
    if args.check and faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
