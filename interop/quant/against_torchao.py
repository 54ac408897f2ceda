"""MX encoders, decoders and casts, by torchao and torch on the CPU."""

import numpy as np
import torch
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.constants import DTYPE_FP6_E2M3, DTYPE_FP6_E3M2
from torchao.prototype.mx_formats.mx_tensor import to_dtype, to_mx

from blocks import broken, finite, from_bf16, to_bf16
from ours import canonical

BLOCKS = 1 << 17
KINDS = {"MXFP4": torch.float4_e2m1fn_x2, "MXFP8_E4M3": torch.float8_e4m3fn, "MXFP8_E5M2": torch.float8_e5m2,
         "MXFP6_E2M3": DTYPE_FP6_E2M3, "MXFP6_E3M2": DTYPE_FP6_E3M2}


def tensor(x):
    t = torch.from_numpy(np.ascontiguousarray(x))
    return t.view(torch.bfloat16) if x.dtype == np.uint16 else t


def pack6(codes):
    """Codes of six bits, four in three bytes, the first in the low bits."""
    c = codes.reshape(len(codes), -1, 4).astype(np.uint32)
    v = c[..., 0] | c[..., 1] << 6 | c[..., 2] << 12 | c[..., 3] << 18
    return np.stack([v, v >> 8, v >> 16], axis=-1).astype(np.uint8).reshape(len(codes), -1)


def encodes(ours):
    f32 = np.concatenate([finite(BLOCKS, 32, 8), broken(BLOCKS // 16, 32, 9)])
    for source, x in (("BF16", to_bf16(f32)), ("F32", f32)):
        value = from_bf16(x) if source == "BF16" else x
        for mode in ("floor", "even", "rceil", "ceil"):
            for form, kind in KINDS.items():
                scales, codes = to_mx(tensor(x), kind, 32, ScaleCalculationMode[mode.upper()])
                codes = codes.view(torch.uint8).numpy().reshape(len(x), -1)
                if form.startswith("MXFP6"):
                    codes = pack6(codes)
                want = np.concatenate([scales.view(torch.uint8).numpy().reshape(-1, 1), codes], axis=1)
                got = ours.encode(f"torchao-{mode}-0.18", form, source, x, len(x))
                ours.same(f"torchao 0.18.0 {mode} {form} of {source}", got, want, x)
                got = ours.encode(f"torchao-{mode}", form, source, x, len(x))
                ours.same(f"torchao 0.18.0 {mode} {form} of {source}, scheme of main", got, want, x,
                          main(mode, form, source, value, got, want))


def main(mode, form, source, value, got, want):
    """What main does otherwise than 0.18.0."""
    top = abs(value).max(axis=1)
    lost = ~np.isfinite(value).all(axis=1)
    yield f"torchao {mode}: main gives byte 255 and NaN for NaN and infinity, 0.18.0 for NaN alone and other codes", lost
    yield (f"torchao {mode}: main divides a block of byte 0 by 2^-127, 0.18.0 by " + ("1" if mode == "rceil" else "2^-126"),
           ~lost & (want[:, 0] == 0) & (got[:, 0] == 0))
    if mode == "even":
        yield "torchao even: main gives byte 255 to maxima that round to 2^128, 0.18.0 clamps", ~lost & (got[:, 0] == 255)
    if mode == "rceil":
        yield ("torchao rceil: main looks at the bits, 0.18.0 takes ceil(log2) in float32, one less just above a step",
               ~lost & (got[:, 0].astype(int) == want[:, 0].astype(int) + 1) & (source == "F32"))


def decodes(ours):
    rng = np.random.default_rng(10)
    for form in ("MXFP4", "MXFP8_E4M3", "MXFP8_E5M2"):
        size = 16 if form == "MXFP4" else 32
        scales = rng.integers(0, 256, BLOCKS, dtype=np.uint8)
        codes = rng.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
        data = np.concatenate([scales, codes.ravel()])
        theirs = torch.from_numpy(codes)
        if form != "MXFP4":
            theirs = theirs.view(KINDS[form])
        for name, kind in (("F32", torch.float32), ("BF16", torch.bfloat16)):
            want = to_dtype(theirs, torch.from_numpy(scales).view(torch.float8_e8m0fnu), KINDS[form], 32, kind)
            want = want.to(torch.float32).numpy().reshape(BLOCKS, 32)
            got = ours.run("decode", form, name, data=data)
            got = got.view(np.float32) if name == "F32" else from_bf16(got.view(np.uint16))
            ours.same(f"torchao decodes {form} to {name}", canonical(got.reshape(BLOCKS, 32)), canonical(want), codes)


def casts(ours):
    rng = np.random.default_rng(11)
    x = rng.integers(0, 1 << 32, 1 << 23, dtype=np.uint32).view(np.float32)
    near = np.ldexp(rng.integers(0, 1 << 12, 1 << 22), rng.integers(-30, 12, 1 << 22)).astype(np.float32)
    near = (near.view(np.int32) + rng.integers(-1, 2, len(near), dtype=np.int32)).view(np.float32)
    every = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    x = np.concatenate([x, near, every])
    for name, kind, top in (("E4M3", torch.float8_e4m3fn, 448), ("E5M2", torch.float8_e5m2, 57344)):
        want = torch.from_numpy(x).to(kind).view(torch.uint8).numpy()
        got = ours.run("element", name, data=x)
        beyond = (abs(x) > top) if name == "E5M2" else np.zeros(len(x), dtype=bool)
        ours.same(f"torch casts {name}", got, want, x.reshape(-1, 1),
                  [("torch E5M2: beyond the largest value comes infinity, ours saturates", beyond)] if beyond.any() else ())
    x = abs(x)
    want = torch.from_numpy(x).to(torch.float8_e8m0fnu).view(torch.uint8).numpy()
    ours.same("torch casts E8M0", ours.run("e8m0", "nearest", data=x), want, x.reshape(-1, 1))
