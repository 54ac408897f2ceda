"""Called by scripts/bench/load: see there."""

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

# What --check demands, of medians of pairs in one run.
NULL_OF_FIO = 0.97
HOST_OF_NULL = 0.93
OF_FASTEST_PEER = 1.15
SPARSE_OF_FIO = 0.95
SPARSE_BESIDE_STAGING = 512 << 20

HUGE_PAGES = "/proc/sys/vm/nr_hugepages"
PEERS = ("safetensors", "fastsafetensors", "runai", "runai_in_place")


def generate(folder, gigabytes):
    """Writes a Llama of about so many GB, in files of about 2 GB, with random
    contents: layers of the 8B model, as many as it takes."""
    hidden, inner, kv, vocab = 4096, 14336, 1024, 32000
    layer = {"input_layernorm": [hidden], "post_attention_layernorm": [hidden], "self_attn.q_proj": [hidden, hidden],
             "self_attn.k_proj": [kv, hidden], "self_attn.v_proj": [kv, hidden], "self_attn.o_proj": [hidden, hidden],
             "mlp.gate_proj": [inner, hidden], "mlp.up_proj": [inner, hidden], "mlp.down_proj": [hidden, inner]}
    size = lambda shape: 2 * int(np.prod(shape))
    ends = 2 * size([vocab, hidden])
    layers = max(1, round((gigabytes * 1e9 - ends) / sum(map(size, layer.values()))))
    tensors = {"model.embed_tokens.weight": [vocab, hidden]}
    for i in range(layers):
        tensors |= {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()}
    tensors |= {"model.norm.weight": [hidden], "lm_head.weight": [vocab, hidden]}
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden, "intermediate_size": inner,
              "num_hidden_layers": layers, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": vocab,
              "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": False,
              "hidden_act": "silu", "torch_dtype": "bfloat16"}
    groups, filled = [{}], 0
    for name, shape in tensors.items():
        if filled + size(shape) > 2e9 and groups[-1]:
            groups, filled = groups + [{}], 0
        groups[-1][name] = shape
        filled += size(shape)
    random, weight_map = np.random.default_rng(1), {}
    for i, group in enumerate(groups):
        file = f"model-{i + 1:05}-of-{len(groups):05}.safetensors"
        header, at = {}, 0
        for name, shape in group.items():
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size(shape)]}
            weight_map[name] = file
            at += size(shape)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(os.path.join(folder, file), "wb") as f:
            f.write(len(text).to_bytes(8, "little") + text)
            while at > 0:
                f.write(random.bytes(min(at, 64 << 20)))
                at -= min(at, 64 << 20)
            f.flush()
            os.fsync(f.fileno())
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": sum(map(size, tensors.values()))}, "weight_map": weight_map}, f)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f)


def weights(folder):
    return sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".safetensors"))


def drop(files):
    for name in files:
        fd = os.open(name, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


@contextlib.contextmanager
def huge_pages(count):
    """Reserves huge pages for fio and gives them back."""
    try:
        with open(HUGE_PAGES) as f:
            before = int(f.read())
        with open(HUGE_PAGES, "w") as f:
            f.write(str(before + count))
    except OSError as e:
        print(f"no huge pages for fio ({e}): its buffers are ordinary, and it is slower for it")
        yield "malloc"
        return
    try:
        yield "mmaphuge"
    finally:
        with open(HUGE_PAGES, "w") as f:
            f.write(str(before))


def fio(files, depth, memory, block="4m"):
    """GB/s of fio over all files, in their order."""
    drop(files)
    run = subprocess.run(["fio", "--name=read", "--filename=" + ":".join(files), "--rw=read", "--bs=" + block, "--direct=1",
                          "--ioengine=io_uring", "--iomem=" + memory, f"--iodepth={depth}", "--file_service_type=sequential",
                          "--readonly", "--output-format=json"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout[run.stdout.index("{"):])["jobs"][0]["read"]["bw_bytes"] / 1e9


def ckpt(tools, folder, *flags):
    command = [os.path.join(tools, "ckpt"), "load", "--json", "--progress", "none", *flags, folder]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"{' '.join(command)}: {run.stderr}")
    return json.loads(run.stdout)


def peer(peers, name, files):
    """GB/s of one of them, or why it has none."""
    path, python = peers.split(":", 1)
    drop(files)
    here = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run([python, os.path.join(here, "load_peer.py"), name, *files], capture_output=True, text=True, check=False,
                         env={**os.environ, "PYTHONPATH": path, "RUNAI_STREAMER_CONCURRENCY": "16", "RUNAI_STREAMER_MEMORY_LIMIT": "-1"})
    if run.returncode:
        return None, (run.stderr.strip().splitlines() or ["?"])[-1]
    seconds, total = map(float, run.stdout.split()[-2:])
    return total / seconds / 1e9, ""


def measure(tools, folder, peers, n):
    files = weights(folder)
    rates, cpu, faults = {}, {}, {}
    put = lambda name, rate: rates.setdefault(name, []).append(rate)
    with huge_pages(40) as memory:
        print(f"fio with iomem={memory}; {len(files)} files, {sum(map(os.path.getsize, files)):,} bytes; {n} runs in turns, each cold", flush=True)
        for i in range(n + 1):
            first = {}
            for depth in (4, 16):
                first[f"fio depth {depth}"] = fio(files, depth, memory)
            for name, flags in {"null, uring": ["--device", "null", "--io", "uring"], "null, pread": ["--device", "null", "--io", "pread"],
                                "host TP8, hashed": ["--device", "host", "--tp", "8", "--verify", "source"]}.items():
                doc = ckpt(tools, folder, "--cold", *flags)
                if doc["cold"]["resident_before"] > 1 << 20:
                    sys.exit(f"{name}: not cold: {doc['cold']}")
                first[name] = doc["gb_per_s"]
                if name.startswith("host"):  # as the peers are timed: from the call until everything is there
                    first[name + ", from the start"] = doc["bytes"]["payload"] / doc["seconds"]["total"] / 1e9
                if i:
                    cpu.setdefault(name, []).append(doc["cpu"]["seconds_per_gb"])
            for name in PEERS if peers else ():
                if name not in faults:
                    rate, fault = peer(peers, name, files)
                    if fault:
                        faults[name] = fault
                    else:
                        first[name] = rate
            if i:  # the first round warms everything but the page cache
                for name, rate in first.items():
                    put(name, rate)
    return rates, cpu, faults


def paired(rates, a, b):
    return statistics.median(x / y for x, y in zip(rates[a], rates[b]))


def report(rates, cpu, faults, check):
    rates["fio"] = [max(p) for p in zip(rates["fio depth 4"], rates["fio depth 16"])]
    for name, list_ in rates.items():
        if not list_:
            continue
        note = f"  processor {statistics.median(cpu[name]):.3f} s a GB" if name in cpu else ""
        print(f"  {name:32} {statistics.median(list_):6.2f} GB/s  {min(list_):.2f} to {max(list_):.2f}{note}")
    for name, fault in faults.items():
        print(f"  {name:32} not run: {fault}")
    out = [("null sink of fio", paired(rates, "null, uring", "fio"), NULL_OF_FIO),
           ("host TP8, hashed, of the null sink", paired(rates, "host TP8, hashed", "null, uring"), HOST_OF_NULL)]
    ran = [p for p in PEERS if p in rates]
    if ran:
        fastest = max(ran, key=lambda p: statistics.median(rates[p]))
        whole = "host TP8, hashed, from the start"
        out.append((f"{whole}, of {fastest}", paired(rates, whole, fastest), OF_FASTEST_PEER))
        print(f"from the first request to the last byte it is {paired(rates, 'host TP8, hashed', fastest):.3f} of {fastest}")
    return judge(out, check)


def judge(out, check):
    failed = False
    for what, is_, wanted in out:
        failed |= is_ < wanted
        print(f"{what}: {is_:.3f} (at least {wanted})")
    print(json.dumps({what: round(is_, 4) for what, is_, _ in out}), flush=True)
    return int(check and failed)


def sparse(tools, n, check):
    """The full-size Kimi K3, all holes."""
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.join(work, "k3")
        subprocess.run([os.path.join(tools, "ckpt"), "synth", "-q", "kimi-k3", "--full", folder], check=True, stdout=subprocess.DEVNULL)
        files, ratios = weights(folder), []
        with huge_pages(40) as memory:
            for _ in range(n):
                best = max(fio(files, depth, memory) for depth in (4, 16))
                doc = ckpt(tools, folder, "--tp", "8", "--device", "null")
                beside = doc["memory"]["peak_rss"] - doc["memory"]["pinned"]
                ratios.append(doc["gb_per_s"] / best)
                print(f"  fio {best:.2f} GB/s, null sink {doc['gb_per_s']:.2f} GB/s, {doc['bytes']['payload']:,} bytes, "
                      f"{beside / 2**20:.0f} MiB beside {doc['memory']['pinned'] / 2**20:.0f} MiB of staging", flush=True)
                if doc["bytes"]["payload"] != 1_559_965_606_912 or beside > SPARSE_BESIDE_STAGING:
                    sys.exit("not the payload, or too much memory")
        return judge([("null sink of fio, 1.56 TB of holes", statistics.median(ratios), SPARSE_OF_FIO)], check)


def arenas(tools, folder):
    """Every rank's arena against numpy slices of the mapped files."""
    import attach
    import loaded

    with open(os.path.join(folder, "config.json")) as f:
        heads = json.load(f)["num_key_value_heads"]
    tensors, compared = {}, 0
    for name in weights(folder):
        with open(name, "rb") as f:
            header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
            start = f.tell()
        data = np.memmap(name, "u1", "r", start)
        for key, t in header.items():
            a, b = t["data_offsets"]
            tensors[key] = data[a:b].view("<u2").reshape(t["shape"])
    for tp in (1, 2, 4, 8):
        for io in ("uring", "pread"):
            with tempfile.TemporaryDirectory() as work:
                socket = os.path.join(work, "s")
                holder = subprocess.Popen([os.path.join(tools, "ckpt"), "load", "-q", "--tp", str(tp), "--io", io, "--hold", socket, folder],
                                          stdout=subprocess.DEVNULL)
                while not os.path.exists(socket) and holder.poll() is None:
                    time.sleep(0.05)
                for rank in range(tp):
                    lease = attach.Attachment(socket, rank)
                    held = {t["name"]: lease.array(t) for t in lease.manifest["tensors"]}
                    compared += compare(held, tensors, tp, rank, heads, loaded)
                    del held, lease
                holder.send_signal(signal.SIGINT)
                holder.wait()
        out = tempfile.mkdtemp()
        subprocess.run([os.path.join(tools, "arenas"), "-tp", str(tp), "-device", "opencl", folder, out], check=True)
        with open(os.path.join(out, "tensors.json")) as f:
            listed = json.load(f)
        for rank in range(tp):
            arena = np.memmap(os.path.join(out, f"rank-{rank}.bin"), "u1", "r")
            held = {t["name"]: arena[t["offset"]:t["offset"] + t["bytes"]].view("<u2").reshape(t["shape"]) for t in listed if t["rank"] == rank}
            compared += compare(held, tensors, tp, rank, heads, loaded)
        shutil.rmtree(out)
        print(f"TP {tp}: host by uring and by pread, OpenCL: every arena equals the slices; {compared:,} tensors so far", flush=True)


def compare(held, tensors, tp, rank, heads, loaded):
    if set(held) != set(tensors):
        sys.exit(f"TP {tp}, rank {rank}: other tensors than it should have")
    for name, source in tensors.items():
        if not np.array_equal(held[name], loaded.stored({name: source}, loaded.LLAMA, tp, rank, heads)[name]):
            sys.exit(f"TP {tp}, rank {rank}: {name} differs")
    return len(held)


def main():
    parser = argparse.ArgumentParser(description="See scripts/bench/load.")
    parser.add_argument("tools")
    parser.add_argument("dir", nargs="?")
    parser.add_argument("-n", type=int, default=5)
    parser.add_argument("--gb", type=float, default=6)
    parser.add_argument("--peers", default="")
    for flag in ("--check", "--no-peers", "--arenas", "--sparse"):
        parser.add_argument(flag, action="store_true")
    args = parser.parse_args()
    if args.sparse:
        sys.exit(sparse(args.tools, args.n, args.check))
    with tempfile.TemporaryDirectory() as work:
        folder = args.dir or work
        if not args.dir:
            generate(folder, args.gb)
        if args.arenas:
            arenas(args.tools, folder)
            return
        sys.exit(report(*measure(args.tools, folder, "" if args.no_peers else args.peers, args.n), args.check))


if __name__ == "__main__":
    main()
