"""Compares the arenas of loads with what the official package reads and numpy
slices, by rules that are written down here and know nothing of our plans: which
axis of which tensor is split, and what an engine's layout does to it."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import safetensors

# Ends of names and the axis that tensor parallelism splits; the rest is whole.
KIMI_K3 = [(re.compile(p), axis) for p, axis in (
    (r"(embed_tokens|lm_head)\.weight", 0),
    (r"self_attn\.(q|k|v|b|f_b|q_b|kv_b|g)_proj\.weight", 0),
    (r"self_attn\.(q|k|v)_conv1d\.weight", 0),
    (r"self_attn\.dt_bias", 0),
    (r"self_attn\.o_proj\.weight", 1),
    (r"(mlp|shared_experts)\.(gate|up)_proj\.weight", 0),
    (r"(mlp|shared_experts)\.down_proj\.weight", 1),
    (r"routed_expert_(down|up)_proj\.weight", 1),
    (r"experts\.\d+\.w[13]\.weight_(packed|scale)", 0),
    (r"experts\.\d+\.w2\.weight_(packed|scale)", 1),
)]
LLAMA = [(re.compile(p), axis) for p, axis in (
    (r"(embed_tokens|lm_head)\.weight", 0),
    (r"self_attn\.(q|k|v)_proj\.weight", 0),
    (r"self_attn\.o_proj\.weight", 1),
    (r"mlp\.(gate|up)_proj\.weight", 0),
    (r"mlp\.down_proj\.weight", 1),
)]
BITS = {"BF16": "<u2", "F32": "<f4", "U8": "u1", "F16": "<u2"}


def read(folder):
    """Gives the tensors of the language model, as the official package has
    them, their bits where numpy lacks the type."""
    tensors = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".safetensors"):
            continue
        with open(os.path.join(folder, name), "rb") as f:
            for key, t in safetensors.deserialize(f.read()):
                if not key.startswith(("vision_tower.", "mm_projector.")):
                    tensors[key] = np.frombuffer(t["data"], BITS[t["dtype"]]).reshape(t["shape"])
    return tensors


def axis_of(rules, name):
    for pattern, axis in rules:
        if re.search(r"(^|\.)" + pattern.pattern + "$", name):
            return axis
    return None


def piece(array, axis, parts, part):
    if axis is None:
        return array
    width, rest = divmod(array.shape[axis], parts)
    assert rest == 0, (array.shape, axis, parts)
    return np.ascontiguousarray(array.take(range(part * width, (part + 1) * width), axis=axis))


def stored(tensors, rules, tp, rank, kv_heads=0):
    """What a rank holds in the layout of the checkpoint. Heads of keys and
    values that the degree exceeds are repeated."""
    held = {}
    for name, array in tensors.items():
        axis, parts, part = axis_of(rules, name), tp, rank
        if kv_heads and re.search(r"self_attn\.[kv]_proj\.weight$", name) and tp > kv_heads:
            parts, part = kv_heads, rank * kv_heads // tp
        held[name] = piece(array, axis, parts, part)
    return held


ENGINE = {
    "input_layernorm.weight": "attn_norm.weight", "post_attention_layernorm.weight": "ffn_norm.weight",
    "self_attention_res_norm.weight": "attn_res_norm.weight", "mlp_res_norm.weight": "mlp_res_norm.weight",
    "self_attention_res_proj.weight": "attn_res_proj.weight", "mlp_res_proj.weight": "mlp_res_proj.weight",
    "self_attn.q_proj.weight": "attn_q.weight", "self_attn.k_proj.weight": "attn_k.weight", "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.q_conv1d.weight": "ssm_q_conv1d.weight", "self_attn.k_conv1d.weight": "ssm_k_conv1d.weight",
    "self_attn.v_conv1d.weight": "ssm_v_conv1d.weight", "self_attn.b_proj.weight": "ssm_beta.weight",
    "self_attn.f_a_proj.weight": "ssm_f_a.weight", "self_attn.f_b_proj.weight": "ssm_f_b.weight", "self_attn.A_log": "ssm_a",
    "self_attn.dt_bias": "ssm_dt.bias", "self_attn.o_norm.weight": "ssm_norm.weight", "self_attn.q_a_proj.weight": "attn_q_a.weight",
    "self_attn.q_a_layernorm.weight": "attn_q_a_norm.weight", "self_attn.q_b_proj.weight": "attn_q_b.weight",
    "self_attn.kv_a_proj_with_mqa.weight": "attn_kv_a_mqa.weight", "self_attn.kv_a_layernorm.weight": "attn_kv_a_norm.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight", "mlp.up_proj.weight": "ffn_up.weight", "mlp.down_proj.weight": "ffn_down.weight",
    "block_sparse_moe.gate.weight": "ffn_gate_inp.weight", "block_sparse_moe.gate.e_score_correction_bias": "exp_probs_b.bias",
    "block_sparse_moe.routed_expert_down_proj.weight": "ffn_routed_down.weight",
    "block_sparse_moe.routed_expert_up_proj.weight": "ffn_routed_up.weight",
    "block_sparse_moe.routed_expert_norm.weight": "ffn_routed_norm.weight",
    "block_sparse_moe.shared_experts.gate_proj.weight": "ffn_gate_shexp.weight",
    "block_sparse_moe.shared_experts.up_proj.weight": "ffn_up_shexp.weight",
    "block_sparse_moe.shared_experts.down_proj.weight": "ffn_down_shexp.weight",
}
GLOBAL = {
    "embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight", "lm_head.weight": "output.weight",
    "output_attn_res_norm.weight": "output_attn_res_norm.weight", "output_attn_res_proj.weight": "output_attn_res_proj.weight",
}
EXPERT = {"w1": "ffn_gate_exps", "w2": "ffn_down_exps", "w3": "ffn_up_exps"}


def engine(tensors, config, tp, rank):
    """What a rank holds in the engine's layout of a Kimi K3."""
    heads, nope, value = (config[k] for k in ("num_attention_heads", "qk_nope_head_dim", "v_head_dim"))
    mla = {n - 1 for n in config["linear_attn_config"]["full_attn_layers"]}
    held, stacks = {}, {}
    for name, array in stored(tensors, KIMI_K3, tp, rank).items():
        m = re.fullmatch(r"language_model\.model\.layers\.(\d+)\.(.*)", name)
        if not m:
            held[GLOBAL[re.sub(r"^language_model\.(model\.)?", "", name)]] = array
            continue
        layer, rest = int(m[1]), m[2]
        block = f"blk.{layer}."
        if e := re.fullmatch(r"block_sparse_moe\.experts\.(\d+)\.(w[123])\.weight_(packed|scale)", rest):
            tail = ".weight" if e[3] == "packed" else ".weight_scale"
            stacks.setdefault(block + EXPERT[e[2]] + tail, {})[int(e[1])] = array
        elif rest == "self_attn.kv_b_proj.weight":
            view = array.reshape(heads // tp, nope + value, -1)
            held[block + "attn_k_b.weight"] = np.ascontiguousarray(view[:, :nope].transpose(0, 2, 1))
            held[block + "attn_v_b.weight"] = np.ascontiguousarray(view[:, nope:])
        elif rest == "self_attn.A_log":
            held[block + "ssm_a"] = (-np.exp(array.astype(np.float64))).astype(np.float32)
        elif rest == "self_attn.g_proj.weight":
            held[block + ("attn_gate.weight" if layer in mla else "ssm_g_full.weight")] = array
        elif rest == "self_attn.o_proj.weight":
            held[block + ("attn_output.weight" if layer in mla else "ssm_out.weight")] = array
        else:
            held[block + ENGINE[rest]] = array
    for name, experts in stacks.items():
        held[name] = np.stack([experts[e] for e in sorted(experts)])
    return held


def rank_file(report, what, folder, rank, listed, held):
    """Compares the arena of one rank: every tensor, and that no two meet."""
    with open(os.path.join(folder, f"rank-{rank}.bin"), "rb") as f:
        arena = f.read()
    ok = report.check(sorted(t["name"] for t in listed) == sorted(held), f"{what}: rank {rank} has other tensors than it should")
    end = 0
    for t in sorted(listed, key=lambda t: t["offset"]):
        want = held.get(t["name"])
        got = arena[t["offset"]:t["offset"] + t["bytes"]]
        ok &= report.check(want is not None and got == want.tobytes(), f"{what}: rank {rank}: {t['name']} differs")
        ok &= report.check(t["offset"] >= end, f"{what}: rank {rank}: {t['name']} lies over another")
        end = t["offset"] + t["bytes"]
    return ok


def load(report, arenas, folder, work, expect, *flags, tp):
    """Loads with one set of flags and compares every rank."""
    out = os.path.join(work, "arenas")
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    what = " ".join(["load", os.path.basename(folder), "--tp", str(tp), *flags])
    run = subprocess.run([arenas, "-tp", str(tp), *(f[1:] if f.startswith("--") else f for f in flags), folder, out],
                         capture_output=True, text=True, check=False)
    if not report.check(run.returncode == 0, f"{what}: {run.stderr}"):
        return
    with open(os.path.join(out, "tensors.json")) as f:
        listed = json.load(f)
    for rank in range(tp):
        rank_file(report, what, out, rank, [t for t in listed if t["rank"] == rank], expect(tp, rank))
    shutil.rmtree(out)


def kimi_k3(report, arenas, folder, work, devices):
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    config = config.get("text_config", config)
    tensors = read(folder)
    for tp in (1, 2, 4, 8):
        for device in devices:
            for io in ("uring", "pread"):
                load(report, arenas, folder, work, lambda tp, rank: engine(tensors, config, tp, rank),
                     "--device", device, "--io", io, tp=tp)
        load(report, arenas, folder, work, lambda tp, rank: stored(tensors, KIMI_K3, tp, rank),
             "--layout", "checkpoint", "--verify", "device", "--block", "65536", tp=tp)


def llama(report, arenas, folder, work, devices):
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    tensors = read(folder)
    for tp in (1, 2, 4):
        for device in devices:
            load(report, arenas, folder, work, lambda tp, rank: stored(tensors, LLAMA, tp, rank, config["num_key_value_heads"]),
                 "--device", device, "--io", "auto", tp=tp)
