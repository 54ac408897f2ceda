"""Elements and E8M0, by ml_dtypes."""

import ml_dtypes
import numpy as np

ELEMENTS = {"E2M1": ml_dtypes.float4_e2m1fn, "E2M3": ml_dtypes.float6_e2m3fn, "E3M2": ml_dtypes.float6_e3m2fn,
            "E4M3": ml_dtypes.float8_e4m3fn, "E5M2": ml_dtypes.float8_e5m2}


def numbers():
    """Every bfloat16, every float16, and 16 million float32 at random."""
    rng = np.random.default_rng(5)
    every = np.arange(1 << 16, dtype=np.uint32)
    yield "every bfloat16", (every << 16).view(np.float32)
    yield "every float16", every.astype(np.uint16).view(np.float16).astype(np.float32)
    yield "float32", rng.integers(0, 1 << 32, 1 << 22, dtype=np.uint32).view(np.float32)
    near = np.ldexp(rng.integers(0, 1 << 12, 1 << 22), rng.integers(-30, 12, 1 << 22)).astype(np.float32)
    near = (near.view(np.int32) + rng.integers(-1, 2, len(near), dtype=np.int32)).view(np.float32)
    yield "float32 beside ties", near


def elements(ours):
    for what, x in numbers():
        for name, kind in ELEMENTS.items():
            want = x.astype(kind).view(np.uint8)
            got = ours.run("element", name, data=x)
            top = float(ml_dtypes.finfo(kind).max)
            beyond = ~(abs(x) <= top)
            ours.same(f"ml_dtypes {name}, {what}", got, want, x.reshape(-1, 1), differences(name, x, beyond))
        x = abs(x)
        want = x.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8)
        got = ours.run("e8m0", "nearest", data=x)
        ours.same(f"ml_dtypes E8M0, {what}", got, want, x.reshape(-1, 1), [
            ("E8M0: ml_dtypes takes a subnormal float32 above 2^-127 to 1, torch by the mantissa to 0 or 1", x < 2.0 ** -126),
        ])


def differences(name, x, beyond):
    if name in ("E4M3", "E5M2"):
        yield f"ml_dtypes {name}: beyond the largest value comes NaN or infinity, ours saturates", beyond & ~np.isnan(x)
    if name != "E4M3":  # the types of four and six bits have no NaN, E5M2 has six
        yield f"ml_dtypes {name}: which code a NaN becomes", np.isnan(x)
