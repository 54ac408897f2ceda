"""Holds package quant against gguf, ggml's C code, ml_dtypes and mlx, bit for
bit. Called by interop/quant/run."""

import argparse
import sys

import against_ggml
import against_mlx
import against_ml_dtypes
import grids
from counted import run
from ours import Ours
from report import Report


def parts(ours, library):
    yield "codebooks", lambda: ours.report.check(
        open("quant/ggml_grid.txt", encoding="utf-8").read() == grids.text(), "quant/ggml_grid.txt is not what grids.py writes")
    yield "gguf decodes", lambda: against_ggml.gguf_decodes(ours)
    yield "gguf encodes", lambda: against_ggml.gguf_encodes(ours)
    yield "ggml decodes", lambda: against_ggml.ggml_decodes(ours, library)
    yield "ggml encodes", lambda: against_ggml.ggml_encodes(ours, library)
    yield "ml_dtypes", lambda: against_ml_dtypes.elements(ours)
    yield "mlx", lambda: against_mlx.quantizes(ours)
    yield "mlx decodes", lambda: against_mlx.dequantizes(ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("coder")
    parser.add_argument("library")
    parser.add_argument("only", nargs="*")
    args = parser.parse_args()
    report = Report()
    ours = Ours(args.coder, report)
    sys.exit(run(report, ours, parts(ours, args.library), args.only, "quant"))


if __name__ == "__main__":
    main()
