"""Files that ckpt writes, read by the official package."""

import hashlib
import io
import json
import os
import subprocess

import numpy
import official
from safetensors import deserialize, safe_open

ALIGNMENTS = (8, 4096)

# What numpy calls the types that both it and the official package know.
NUMPY = {"BOOL", "U8", "I8", "I16", "U16", "F16", "I32", "U32", "F32", "C64", "F64", "I64", "U64"}


def rewritten(report, rewrite, accepted, work):
    """Every accepted file, copied through our writer, has the same contents. Our
    writer refuses the empty name that our reader accepts with a warning."""
    folder = os.path.join(work, "rewritten")
    os.mkdir(folder)
    contents = {path: read(path) for path in accepted}
    named = [path for path, (tensors, _) in contents.items() if "" not in tensors]
    jobs = []
    for align in ALIGNMENTS:
        for i, path in enumerate(named):
            jobs.append((align, path, os.path.join(folder, f"{align}-{i}.safetensors")))
    lines = "".join("%d\t%s\t%s\n" % job for job in jobs)
    done = subprocess.run([rewrite], input=lines, capture_output=True, text=True)
    if not report.check(done.returncode == 0, f"rewrite: {done.stderr.strip()}"):
        return
    for align, source, copy in jobs:
        before, after = contents[source], read(copy)
        name = f"{os.path.basename(source)} written with alignment {align}"
        with open(copy, "rb") as f:
            start = 8 + int.from_bytes(f.read(8), "little")
        report.check(start % align == 0, f"{name}: data start at {start}")
        report.check(before == after, f"{name}: contents differ")


def read(path):
    with open(path, "rb") as f:
        return official.judge(path, f.read())


def run(ckpt, *args, status=0):
    """Runs ckpt and returns what it printed."""
    done = subprocess.run([ckpt, *args], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != status:
        raise AssertionError(f"ckpt {' '.join(args)}: exit status {done.returncode}\n{done.stdout.decode()[-2000:]}{done.stderr.decode()[-2000:]}")
    return done.stdout


def synthesised(report, ckpt, family, preset, folder):
    """A synthetic checkpoint: the official package reads every shard, the index
    (where the family has one) agrees with them, and `ckpt cat` gives each
    tensor's bytes and numpy array."""
    run(ckpt, "synth", family, folder, "--preset", preset)
    files = sorted(f for f in os.listdir(folder) if f.endswith(".safetensors"))
    report.check(files, f"{family}: no weight files")
    found, total, chosen = {}, 0, {}
    for file in files:
        with open(os.path.join(folder, file), "rb") as f:
            tensors = dict(deserialize(f.read()))
        with safe_open(os.path.join(folder, file), framework="np") as f:
            report.check(set(f.keys()) == set(tensors), f"{file}: the two readers name different tensors")
        for name, t in tensors.items():
            report.check(name not in found, f"{name} lies in {file} and in {found.get(name)}")
            found[name] = file
            total += len(t["data"])
            kind = (t["dtype"], len(t["shape"]))
            if len(chosen.setdefault(kind, [])) < 3:
                chosen[kind].append((name, file, t))
    index = os.path.join(folder, "model.safetensors.index.json")
    if os.path.exists(index):
        indexed(report, family, index, found, total)
    for samples in chosen.values():
        for name, file, t in samples:
            cat(report, ckpt, folder, name, file, t)


def indexed(report, family, path, found, total):
    """The index names each tensor with its file, and the bytes of all."""
    with open(path) as f:
        index = json.load(f)
    report.check(found == index["weight_map"], f"{family}: the index and the shards differ")
    report.check(total == index["metadata"]["total_size"], f"{family}: total_size {index['metadata']['total_size']}, tensors have {total} bytes")


def cat(report, ckpt, folder, name, file, t):
    """`ckpt cat` raw and as .npy against the official package."""
    raw = run(ckpt, "cat", folder, name)
    report.check(hashlib.sha256(raw).digest() == hashlib.sha256(t["data"]).digest(), f"cat {name}: bytes differ")
    array = numpy.load(io.BytesIO(run(ckpt, "cat", folder, name, "--format", "npy")), allow_pickle=False)
    if t["dtype"] in NUMPY:
        with safe_open(os.path.join(folder, file), framework="np") as f:
            want = f.get_tensor(name)
        report.check(array.dtype == want.dtype and array.shape == want.shape, f"cat {name}: {array.dtype} {array.shape}, want {want.dtype} {want.shape}")
        report.check(array.tobytes() == want.tobytes(), f"cat {name}: arrays differ")
        return
    # Types that numpy lacks come as their bits.
    report.check(list(array.shape) == t["shape"] and array.dtype.kind == "u", f"cat {name}: {array.dtype} {array.shape} for {t['dtype']} {t['shape']}")
    report.check(array.tobytes() == bytes(t["data"]), f"cat {name}: arrays differ")
