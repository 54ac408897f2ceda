"""GGML's block types: the gguf package and ggml's own C code."""

import ctypes

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

from blocks import broken, finite
from ours import canonical

# Elements of random blocks for each type: 256-element types get 16,384 blocks.
ELEMENTS = 1 << 22

GGUF_DECODES = ("F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S "
                "IQ1_S IQ1_M IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4 NVFP4").split()
GGUF_ENCODES = "F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 TQ1_0 TQ2_0 MXFP4".split()
SIZES = {t.name: s for t, s in GGML_QUANT_SIZES.items()} | {"Q8_1": (32, 36), "Q2_0": (64, 18), "Q1_0": (128, 18)}


def random_blocks(name, rng):
    """Uniform bytes: scales of every kind, NaN and infinity among them."""
    width, size = SIZES[name]
    return rng.integers(0, 256, (ELEMENTS // max(width, 32), size), dtype=np.uint8)


def gguf_decodes(ours):
    rng = np.random.default_rng(1)
    for name in GGUF_DECODES:
        blocks = random_blocks(name, rng)
        want = quants.dequantize(blocks, GGMLQuantizationType[name]).reshape(len(blocks), -1)
        got = ours.run("ggml-decode", name, data=blocks).view(np.float32).reshape(want.shape)
        ours.same("gguf decodes " + name, canonical(got), canonical(want), blocks)


def ggml_decodes(ours, library):
    lib, rng = ctypes.CDLL(library), np.random.default_rng(2)
    names = [n for n in GGUF_DECODES if n not in ("F16", "BF16")] + ["Q1_0", "Q2_0", "Q8_K"]
    for name in names:
        blocks = random_blocks(name, rng)
        want = np.empty((len(blocks), SIZES[name][0]), dtype=np.float32)
        decode = getattr(lib, "dequantize_row_" + c_name(name))
        decode(blocks.ctypes.data_as(ctypes.c_void_p), want.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(want.size))
        got = ours.run("ggml-decode", name, data=blocks).view(np.float32).reshape(want.shape)
        ours.same("ggml decodes " + name, canonical(got), canonical(want), blocks)


def c_name(name):
    """As ggml's functions spell a type: q4_0, q4_K, iq2_xxs."""
    return name.lower().replace("_k", "_K")


def inputs(name):
    width = max(SIZES[name][0], 32)
    n = (1 << 22) // width
    return np.concatenate([finite(n, width, 3), broken(n // 8, width, 4)])


def gguf_encodes(ours):
    for name in GGUF_ENCODES:
        x = inputs(name)
        want = quants.quantize(x, GGMLQuantizationType[name]).view(np.uint8).reshape(len(x), -1)
        got = ours.run("ggml-encode", name, data=x).reshape(want.shape)
        ours.same("gguf encodes " + name, got, want, x, gguf_differences(name, x, got, want))
        if name == "MXFP4":
            ours.same("gguf encodes MXFP4, scheme gguf", ours.encode("gguf", "MXFP4", "F32", x, len(x)), in_order(want), x)


def gguf_differences(name, x, got, want):
    nan = np.isnan(x).any(axis=1)
    zero = ~x.any(axis=1)
    if name == "F16":
        yield "gguf F16: NaN keeps its payload in numpy; ours, as ggml's, is 7E00 with the sign", nan
    if name in ("Q4_0", "Q5_0"):
        yield f"gguf {name}: a block of -0 has the scale +0; in ggml -0, the quotient of +0 and -8 or -16", zero
    if name in ("Q4_1", "Q5_1"):
        zero_m = (x.min(axis=1) == 0) & (got[:, [0, 1, 2]] == want[:, [0, 1, 2]]).all(axis=1)
        yield f"gguf {name}: of zeros of both signs numpy takes any as the minimum, ggml the first", zero_m
    if name not in ("F16", "BF16"):
        yield f"gguf {name}: NaN propagates through numpy's maximum; ggml does not see it", nan


def ggml_encodes(ours, library):
    lib = ctypes.CDLL(library)
    for name in "Q1_0 Q2_0 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1 TQ1_0 TQ2_0 MXFP4 NVFP4 Q8_K".split():
        x = inputs(name)
        want = np.zeros((len(x), SIZES[name][1]), dtype=np.uint8)
        encode = getattr(lib, f"quantize_row_{c_name(name)}_ref")
        encode(x.ctypes.data_as(ctypes.c_void_p), want.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(x.size))
        got = ours.run("ggml-encode", name, data=x).reshape(want.shape)
        ours.same("ggml encodes " + name, got, want, x)
        if name == "MXFP4":
            ours.same("ggml encodes MXFP4, scheme ggml", ours.encode("ggml", "MXFP4", "F32", x, len(x)), in_order(want), x)


def in_order(blocks):
    """MXFP4 blocks with their nibbles in the order of the elements."""
    codes = np.concatenate([blocks[:, 1:] & 15, blocks[:, 1:] >> 4], axis=1).reshape(len(blocks), -1, 2)
    return np.concatenate([blocks[:, :1], codes[..., 0] | codes[..., 1] << 4], axis=1)
