"""Blocks of numbers to quantize: random ones and those that tell systems apart."""

import numpy as np

KINDS = ("gauss", "ties", "beside ties", "tiny", "huge", "sparse", "powers", "constant", "any bits", "heavy tail")


def made(kind, n, width, rng):
    """n blocks of one kind, float32."""
    shape = (n, width)
    gauss = rng.standard_normal(shape, dtype=np.float32)
    exponent = rng.integers(-30, 30, (n, 1))
    signs = rng.choice(np.float32([-1, 1]), shape)
    halves = np.float32([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8])
    if kind == "gauss":
        x = np.ldexp(gauss, exponent)
    elif kind == "ties":
        x = np.ldexp(rng.choice(halves, shape) * signs, exponent)
    elif kind == "beside ties":
        x = np.ldexp(rng.choice(halves, shape) * signs, rng.integers(-100, 100, (n, 1)))
        x = (x.view(np.int32) + rng.integers(-1, 2, shape, dtype=np.int32) * (x != 0)).view(np.float32)
    elif kind == "tiny":
        x = np.ldexp(gauss, rng.integers(-149, -115, (n, 1)))
    elif kind == "huge":
        x = np.ldexp(np.clip(gauss / 4, -1, 1), rng.integers(118, 129, (n, 1)))
        x = np.clip(x, -np.finfo(np.float32).max, np.finfo(np.float32).max)
    elif kind == "sparse":
        x = np.ldexp(gauss, exponent) * (rng.random(shape) < 0.05)
        x = np.where(rng.random((n, 1)) < 0.1, 0 * signs, x)  # zeros of both signs
    elif kind == "powers":
        x = np.ldexp(signs, rng.integers(-130, 127, (n, 1)) + rng.integers(-4, 1, shape))
        x = (x.view(np.int32) + rng.integers(-1, 2, shape, dtype=np.int32)).view(np.float32)
    elif kind == "constant":
        x = np.broadcast_to(np.ldexp(gauss[:, :1], exponent), shape) * np.where(rng.random((n, 1)) < 0.5, signs, 1)
    elif kind == "any bits":
        x = rng.integers(0, 1 << 32, shape, dtype=np.uint32).view(np.float32)
        x = np.where(np.isfinite(x), x, gauss)
    else:
        x = np.ldexp(rng.standard_t(2, shape).astype(np.float32), exponent)
    return np.ascontiguousarray(x, dtype=np.float32)


def finite(n, width, seed):
    """About n blocks of all kinds, in turns of kinds, without NaN and infinity."""
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([made(k, n // len(KINDS), width, rng) for k in KINDS])


def broken(n, width, seed):
    """About n blocks with one or more of NaN, infinity or both."""
    rng = np.random.default_rng(seed + 1)
    x = finite(n, width, seed + 2)
    bad = np.uint32([0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF])
    for row, count in zip(x.view(np.uint32), rng.choice([1, 1, 1, 2, width], len(x))):
        row[rng.permutation(width)[:count]] = rng.choice(bad[: rng.choice([2, 6])], count)
    return x


def to_bf16(x):
    """float32 to bfloat16 by truncation; finite stays finite, NaN stays NaN."""
    b = x.view(np.uint32)
    return ((b >> 16) | (np.isnan(x) * np.uint32(0x40))).astype(np.uint16)


def from_bf16(x):
    return (x.astype(np.uint32) << 16).view(np.float32)
