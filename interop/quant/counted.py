"""Runs parts of a suite and counts their checks."""

import time
import traceback

import numpy as np


def run(report, ours, parts, only, what):
    """Prints the counts of every part and the differences; gives the exit status."""
    for name, part in parts:
        if only and name not in only:
            continue
        before, start = report.counts(), time.monotonic()
        try:
            with np.errstate(all="ignore"):
                part()
        except Exception:
            report.check(False, f"{name}: {traceback.format_exc()}")
        report.section(f"{name} ({time.monotonic() - start:.1f} s)", before)
    for name, count in ours.seen.items():
        print(f"difference: {name}: {count} blocks")
        if not only:
            report.check(count > 0, f"the difference never occurred: {name}")
    print(f"{what}: {report.passed} passed, {report.failed} failed")
    return report.failed > 0
