"""Decoders of GGML blocks: package quant's benchmark against gguf's numpy."""

import argparse
import re
import statistics
import subprocess
import sys
import time

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

ELEMENTS, ROUNDS, LIMIT = 1 << 22, 5, 10


def ours(test, name):
    """GB/s of float32 written."""
    out = subprocess.run([test, "-test.run", "^$", "-test.bench", f"^BenchmarkGGMLDecode/{name}$", "-test.benchtime", "0.3s",
                          "-test.cpu", "1"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return float(re.search(r"([\d.]+) MB/s", out).group(1)) / 1000


def theirs(name):
    kind = GGMLQuantizationType[name]
    width, size = GGML_QUANT_SIZES[kind]
    blocks = np.random.default_rng(1).integers(0, 256, (ELEMENTS // width, size), dtype=np.uint8)
    start = time.perf_counter()
    with np.errstate(all="ignore"):
        quants.dequantize(blocks, kind)
    return 4 * ELEMENTS / (time.perf_counter() - start) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("test")
    parser.add_argument("types", nargs="*", default=["Q4_K", "Q6_K", "Q8_0"])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    slow = []
    print(f"{'':8}{'ours':>8}{'gguf':>8}{'ratio':>8}   GB/s of float32, medians of {ROUNDS}")
    for name in args.types:
        pairs = [(ours(args.test, name), theirs(name)) for _ in range(ROUNDS)]
        a, b = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        ratio = statistics.median(p[0] / p[1] for p in pairs)
        print(f"{name:8}{a:8.2f}{b:8.2f}{ratio:8.1f}")
        if ratio < LIMIT:
            slow.append(name)
    if args.check and slow:
        sys.exit(f"slower than {LIMIT} times gguf: {', '.join(slow)}")


if __name__ == "__main__":
    main()
