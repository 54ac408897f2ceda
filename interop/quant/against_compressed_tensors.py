"""MXFP4, MXFP8 and NVFP4, by compressed-tensors on the CPU."""

import numpy as np
import torch
from compressed_tensors.compressors.mxfp4 import MXFP4PackedCompressor
from compressed_tensors.compressors.mxfp8.base import MXFP8QuantizationCompressor
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams

from against_torchao import tensor
from blocks import broken, finite, from_bf16, to_bf16

BLOCKS = 1 << 18


def weights(bits):
    return QuantizationArgs(num_bits=bits, type="float", strategy="group", group_size=32, symmetric=True, dynamic=False,
                            scale_dtype=torch.uint8, zp_dtype=torch.uint8 if bits == 4 else None)


def compressed(x, bits, zero_point):
    """Scale bytes and codes of a weight with one block a row."""
    args, t = weights(bits), tensor(x)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    scale, zero = calculate_qparams(t.amin(dim=1, keepdim=True), t.amax(dim=1, keepdim=True), args)
    state = {"weight": t, "weight_scale": scale}
    if zero_point:
        state["weight_zero_point"] = torch.zeros_like(scale)
    kind = MXFP4PackedCompressor if bits == 4 else MXFP8QuantizationCompressor
    state = kind.compress(state, scheme)
    codes = state["weight_packed"] if bits == 4 else state["weight"]
    return np.concatenate([state["weight_scale"].view(torch.uint8).numpy().reshape(-1, 1),
                           codes.view(torch.uint8).numpy().reshape(len(x), -1)], axis=1)


def encodes(ours):
    f32 = np.concatenate([finite(BLOCKS, 32, 12), broken(BLOCKS // 16, 32, 13)])
    # every maximum of F16, and blocks of its range
    every = np.arange(0x7C00, dtype=np.uint16).view(np.float16).reshape(-1, 1)
    f16 = every * np.float16([1, 0.5, -0.25, -1, -0.0, 0.75, -0.125, 0.3] * 4)
    with np.errstate(over="ignore"):
        f16 = np.concatenate([f16, f32.astype(np.float16)])
    for source, x in (("BF16", to_bf16(f32)), ("F32", f32), ("F16", f16)):
        value = from_bf16(x) if source == "BF16" else x
        for form, bits, zero, name in (("MXFP4", 4, False, "compressed-tensors"),
                                       ("MXFP8_E4M3", 8, True, "compressed-tensors"),
                                       ("MXFP8_E4M3", 8, False, "compressed-tensors-bare")):
            want = compressed(x, bits, zero)
            got = ours.encode(name, form, source, x, len(x))
            ours.same(f"{name} {form} of {source}", got, want, x, differences(value, got, want))


def differences(value, got, want):
    """All of NaN and infinity: their scale is infinite, and how infinity becomes a
    byte, or NaN a code, is left undefined. Finite blocks have no difference."""
    nan, inf = np.isnan(value).any(axis=1), np.isinf(value).any(axis=1)
    yield "compressed-tensors: NaN in a block: the scale byte is an undefined conversion (127 or 0 by the number of rows)", nan
    wrong = got[:, 1:] != want[:, 1:]
    if got.shape[1] == 17:
        changed = got[:, 1:] ^ want[:, 1:]
        wrong = np.stack([changed & 15, changed >> 4], axis=-1).reshape(len(value), 32) != 0
    yield ("compressed-tensors: Inf / Inf is a NaN of either sign, and its code follows the sign",
           inf & ~nan & (got[:, 0] == want[:, 0]) & ~(wrong & np.isfinite(value)).any(axis=1))


def nvfp4(ours):
    """Blocks of sixteen with the scale of the tensor as a divisor."""
    args = QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True, dynamic=False,
                            scale_dtype=torch.float8_e4m3fn, zp_dtype=torch.float8_e4m3fn)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    rng = np.random.default_rng(15)
    for what, spread in (("one magnitude", 0), ("many magnitudes", 12), ("vanishing scales", 40)):
        x = rng.standard_normal((BLOCKS, 16), dtype=np.float32)
        x[::3] = rng.choice(np.float32([0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6]), x[::3].shape) * rng.choice(np.float32([-1, 1]), x[::3].shape)
        x = np.ldexp(x, -rng.integers(0, spread + 1, (BLOCKS, 1))).astype(np.float32)
        x[rng.random(BLOCKS) < 0.01] *= 0
        for source, values in (("F32", x), ("BF16", to_bf16(x))):
            nvfp4_of(ours, args, scheme, source, values, np.float32(448 * 6) / abs(x).max(), what)


def nvfp4_of(ours, args, scheme, source, x, divisor, what):
    t, scale_of_all = tensor(x), torch.tensor([divisor])
    scale, _ = calculate_qparams(t.amin(dim=1, keepdim=True), t.amax(dim=1, keepdim=True), args, global_scale=scale_of_all)
    state = NVFP4PackedCompressor.compress({"weight": t, "weight_scale": scale, "weight_global_scale": scale_of_all}, scheme)
    want = np.concatenate([state["weight_scale"].view(torch.uint8).numpy().reshape(-1, 1), state["weight_packed"].numpy()], axis=1)
    out = ours.run("encode", "compressed-tensors", "NVFP4", source, repr(float(divisor)), data=x)
    got = np.concatenate([out[:BLOCKS].reshape(-1, 1), out[BLOCKS:].reshape(BLOCKS, -1)], axis=1)
    ours.same(f"compressed-tensors NVFP4 of {source}, {what}", got, want, x)
