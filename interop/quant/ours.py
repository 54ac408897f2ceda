"""Calls of the program coder, and the comparison of bytes block by block."""

import subprocess

import numpy as np


class Ours:
    """Package quant, through interop/quant/coder."""

    def __init__(self, coder, report):
        self.coder, self.report = coder, report
        self.seen = {}  # name of a difference: number of blocks

    def run(self, *args, data):
        done = subprocess.run([self.coder, *args], input=np.ascontiguousarray(data).tobytes(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            raise RuntimeError(f"{args}: {done.stderr.decode()}")
        return np.frombuffer(done.stdout, dtype=np.uint8)

    def encode(self, scheme, form, source, data, blocks):
        """Scale byte and codes of each block, side by side."""
        out = self.run("encode", scheme, form, source, data=data)
        return np.concatenate([out[:blocks].reshape(blocks, 1), out[blocks:].reshape(blocks, -1)], axis=1)

    def same(self, what, got, want, source, differences=()):
        """Every block of got is that of want, or a named difference explains it.

        differences holds (name, mask of blocks); one that never occurs is an
        error of the suite. source is shown when a block differs that no name
        explains.
        """
        got, want = got.reshape(len(source), -1), want.reshape(len(source), -1)
        if got.shape != want.shape:
            return self.report.check(False, f"{what}: {got.shape} and {want.shape}")
        wrong = (got != want).any(axis=1)
        names = []
        for name, mask in differences:
            count = int((wrong & mask).sum())
            self.seen[name] = self.seen.get(name, 0) + count
            if count:
                names.append(f"{count} {name}")
            wrong &= ~mask
        first = int(np.argmax(wrong)) if wrong.any() else 0
        self.report.check(
            not wrong.any(),
            f"{what}: {wrong.sum()} of {len(wrong)} blocks; block {first} of {source[first].tobytes().hex()[:300]}\n"
            f"  ours   {got[first].tobytes().hex()[:160]}\n  theirs {want[first].tobytes().hex()[:160]}")
        print(f"  {what}: {len(wrong)} blocks" + "".join(f", {n}" for n in names), flush=True)
        return not wrong.any()


def canonical(x):
    """float32 bits with one NaN for all."""
    return np.where(np.isnan(x), np.uint32(0x7FC00000), x.view(np.uint32))
