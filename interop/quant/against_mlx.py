"""MXFP4 and MXFP8, by mlx on the CPU."""

import mlx.core as mx
import numpy as np

from blocks import broken, finite, from_bf16, to_bf16
from ours import canonical

BLOCKS = 1 << 18


def quantizes(ours):
    mx.set_default_device(mx.cpu)
    for source in ("BF16", "F32", "F16"):
        x = np.concatenate([finite(BLOCKS, 32, 6), broken(BLOCKS // 16, 32, 7)])
        if source == "BF16":
            x = to_bf16(x)
            theirs = mx.array(x).view(mx.bfloat16)
        elif source == "F16":
            x = np.where(np.isfinite(x), np.clip(x, -65504, 65504), x).astype(np.float16)
            theirs = mx.array(x)
        else:
            theirs = mx.array(x)
        for form, mode, bits in (("MXFP4", "mxfp4", 4), ("MXFP8_E4M3", "mxfp8", 8)):
            codes, scales = mx.quantize(theirs, group_size=32, bits=bits, mode=mode)
            want = np.concatenate([np.array(scales).reshape(-1, 1), np.array(codes).view(np.uint8)], axis=1)
            got = ours.encode("mlx", form, source, x, len(x))
            ours.same(f"mlx {mode} of {source}", got, want, x, differences(form, source, x, got, want))


def differences(form, source, x, got, want):
    if source == "BF16":
        return
    lost = ~np.isfinite(x).all(axis=1)
    unsigned = ~((got[:, 1:] != want[:, 1:]) & (x != 0) & ~np.isnan(x)).any(axis=1) if form != "MXFP4" else lost
    if source == "F32":
        yield ("mlx of F32: a block with NaN or infinity has the byte 128 where BF16 and F16 give 0: an undefined conversion; "
               "its zeros and NaN become -448 in MXFP8", lost & unsigned & (want[:, 0] == 128))
    if source == "F16":
        yield ("mlx MXFP8 of F16: in a block with NaN or infinity zeros and NaN become -448 where BF16 gives 448: "
               "the sign of 0 x Inf on x86-64", lost & unsigned & (want[:, 0] == got[:, 0]))


def dequantizes(ours):
    mx.set_default_device(mx.cpu)
    rng = np.random.default_rng(14)
    for form, mode, bits in (("MXFP4", "mxfp4", 4), ("MXFP8_E4M3", "mxfp8", 8)):
        scales = rng.integers(0, 256, BLOCKS, dtype=np.uint8)
        codes = rng.integers(0, 256, (BLOCKS, 4 * bits), dtype=np.uint8)
        data = np.concatenate([scales, codes.ravel()])
        for name, kind in (("F32", mx.float32), ("BF16", mx.bfloat16)):
            want = mx.dequantize(mx.array(codes.view(np.uint32)), mx.array(scales.reshape(-1, 1)), group_size=32, bits=bits,
                                 mode=mode, dtype=kind)
            want = np.array(want.astype(mx.float32))
            got = ours.run("decode", form, name, data=data)
            got = got.view(np.float32) if name == "F32" else from_bf16(got.view(np.uint16))
            ours.same(f"mlx dequantizes {mode} to {name}", canonical(got.reshape(BLOCKS, 32)), canonical(want), codes,
                      [("mlx: the scale byte 255 is 2^128, infinity; ours is NaN", scales == 255)])
