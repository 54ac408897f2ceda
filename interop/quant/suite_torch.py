"""Holds package quant against torchao, compressed-tensors and torch, bit for
bit. Called by interop/quant/run in an environment of its own."""

import argparse
import sys

import against_compressed_tensors
import against_torchao
from counted import run
from ours import Ours
from report import Report


def parts(ours):
    yield "torch casts", lambda: against_torchao.casts(ours)
    yield "torchao encodes", lambda: against_torchao.encodes(ours)
    yield "torchao decodes", lambda: against_torchao.decodes(ours)
    yield "compressed-tensors", lambda: against_compressed_tensors.encodes(ours)
    yield "compressed-tensors NVFP4", lambda: against_compressed_tensors.nvfp4(ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("coder")
    parser.add_argument("only", nargs="*")
    args = parser.parse_args()
    report = Report()
    ours = Ours(args.coder, report)
    sys.exit(run(report, ours, parts(ours), args.only, "quant, torch"))


if __name__ == "__main__":
    main()
