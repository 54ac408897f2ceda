"""Maps what ckpt load --hold keeps by the example that needs numpy alone, and
compares it with the files, in a process that comes and goes as engines do."""

import json
import math
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "examples", "attach.py")
DENSE = (("--tp", "1"), ("--tp", "2", "--pp", "2"))
EXPERTS = (("--tp", "8"), ("--tp", "2", "--ep", "4"), ("--tp", "2", "--layout", "checkpoint"))


def over(report, ckpt, folder, work, topologies):
    """Every rank of several topologies, each attached by a new process."""
    for flags in topologies:
        socket = os.path.join(work, "hold.sock")
        holder = subprocess.Popen([ckpt, "load", *flags, "--device", "host", "--hold", socket, folder],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            name = " ".join(flags)
            if not report.check(appears(socket, holder), f"{name}: no socket"):
                continue
            ranks = ranks_of(flags)
            for rank in range(ranks):
                start = time.monotonic()
                done = attach(socket, rank, folder)
                report.check(done.returncode == 0 and f"rank {rank}: " in done.stdout and " 0 differ" in done.stdout,
                             f"{name}: rank {rank} in {time.monotonic() - start:.2f} s: {done.stdout[-500:]}{done.stderr[-500:]}")
            done = attach(socket, ranks, folder)
            report.check(done.returncode == 1 and f"rank {ranks} is not held" in done.stderr, f"{name}: a rank that is not there: {done.stderr[-500:]}")
        finally:
            holder.send_signal(signal.SIGTERM)
            holder.communicate(timeout=60)
        report.check(holder.returncode == 0 and not os.path.exists(socket), f"{name}: exit status {holder.returncode}")


def of_numbers(report, ckpt, work):
    """Tensors of one number, which have no axis, beside others."""
    folder = os.path.join(work, "numbers")
    os.mkdir(folder)
    header, data = {}, b""
    for name, shape in (("model.embed_tokens.weight", [16, 8]), ("model.scale", []), ("model.layers.0.norm.weight", [8])):
        size = 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += os.urandom(size)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"model_type": "numbers", "hidden_size": 8, "vocab_size": 16, "num_hidden_layers": 1}, f)
    over(report, ckpt, folder, work, (("--tp", "1"),))


def ranks_of(flags):
    """How many ranks a topology has: max(TP, EP) for each stage."""
    degree = dict(zip(flags[::2], flags[1::2]))
    return max(int(degree.get("--tp", 1)), int(degree.get("--ep", 1))) * int(degree.get("--pp", 1))


def attach(*args):
    return subprocess.run([sys.executable, EXAMPLE, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def appears(path, process, within=60):
    end = time.monotonic() + within
    while time.monotonic() < end and process.poll() is None:
        if os.path.exists(path):
            return True
        time.sleep(0.02)
    return False
