"""Holds ckpt against its real consumers: the official safetensors package,
numpy, and the schema of SARIF. Called by interop/run."""

import argparse
import ctypes.util
import os
import sys
import tempfile
import time
import traceback

import documents
import handed
import loaded
import single
import written
from report import Report

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "..", "safetensors", "testdata", "corpus")


def checks(report, tools, work):
    """Every part of the suite, by name, in order."""
    verdict, rewrite, arenas, ckpt = (os.path.join(tools, t) for t in ("verdict", "rewrite", "arenas", "ckpt"))
    devices = ["host"] + (["opencl"] if ctypes.util.find_library("OpenCL") else [])
    accepted, mini, full = [], os.path.join(work, "mini"), os.path.join(work, "full")
    absent = os.path.join(work, "absent")
    yield "corpus", lambda: single.corpus(report, verdict, CORPUS, work)
    yield "generated files", lambda: accepted.extend(single.generated(report, verdict, work))
    yield "rewritten files", lambda: written.rewritten(report, rewrite, accepted, work)
    yield "mini kimi-k3", lambda: written.synthesised(report, ckpt, "kimi-k3", "mini", mini)
    for family in ("kimi-linear", "kimi-linear-mxfp4", "llama"):
        yield "mini " + family, lambda: written.synthesised(report, ckpt, family, "mini", os.path.join(work, family))
    yield "loaded kimi-k3 on " + ", ".join(devices), lambda: loaded.kimi_k3(report, arenas, mini, work, devices)
    yield "loaded llama on " + ", ".join(devices), lambda: loaded.llama(report, arenas, os.path.join(work, "llama"), work, devices)
    yield "kimi-k3 handed over", lambda: handed.over(report, ckpt, mini, work, handed.EXPERTS)
    yield "llama handed over", lambda: handed.over(report, ckpt, os.path.join(work, "llama"), work, handed.DENSE)
    yield "numbers handed over", lambda: handed.of_numbers(report, ckpt, work)
    yield "single files audited", lambda: documents.alone(report, ckpt, CORPUS)
    yield "audit of a mini", lambda: documents.mini(report, ckpt, mini)
    yield "full-size kimi-k3", lambda: documents.full(report, ckpt, full)
    yield "no such path", lambda: documents.refuses(report, ckpt, "audit", absent, "--json", status=3)
    yield "no such profile", lambda: documents.refuses(report, ckpt, "audit", full, "--json", "--profile", "nobody", status=2)
    yield "no such tensor", lambda: documents.refuses(report, ckpt, "cat", full, "nobody", status=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", help="folder with the programs ckpt, verdict, rewrite and arenas")
    parser.add_argument("only", nargs="*", help="parts to run; all of them when none is named")
    args = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as work:
        for name, part in checks(report, args.tools, work):
            if args.only and name not in args.only:
                continue
            before, start = report.counts(), time.monotonic()
            try:
                part()
            except Exception:
                report.check(False, f"{name}: {traceback.format_exc()}")
            report.section(f"{name} ({time.monotonic() - start:.1f} s)", before)
    print(f"interop: {report.passed} passed, {report.failed} failed")
    sys.exit(report.failed > 0 or report.passed == 0)


if __name__ == "__main__":
    main()
