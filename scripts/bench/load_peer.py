"""Loads safetensors files into host memory with one of the peers of ckpt load and
prints the seconds, imports left out: scripts/bench/load runs it."""

import sys
import time


def safetensors(files):
    import torch
    from safetensors.torch import load_file

    start = time.perf_counter()
    total = 0
    kept = []
    for f in files:
        for t in load_file(f).values():
            t.flatten().view(torch.uint8)[::4096].sum()  # it is mapped: have every page read
            total += t.nbytes
            kept.append(t)
    return time.perf_counter() - start, total


def fastsafetensors(files):
    from fastsafetensors import SafeTensorsFileLoader, SingleGroup

    start = time.perf_counter()
    loader = SafeTensorsFileLoader(SingleGroup(), device="cpu", nogds=True)
    loader.add_filenames({0: files})
    buffer = loader.copy_files_to_device()
    kept = [buffer.get_tensor(k) for k in buffer.key_to_rank_lidx]
    seconds = time.perf_counter() - start
    return seconds, sum(t.nbytes for t in kept)


def runai(files):
    from runai_model_streamer import SafetensorsStreamer

    start = time.perf_counter()
    kept = []
    with SafetensorsStreamer() as streamer:
        streamer.stream_files(files)
        for _, tensor in streamer.get_tensors():
            kept.append(tensor.clone())
    return time.perf_counter() - start, sum(t.nbytes for t in kept)


def runai_in_place(files):
    """Without a copy out of its buffer, which holds all files at once."""
    from runai_model_streamer import SafetensorsStreamer

    start = time.perf_counter()
    total = 0
    with SafetensorsStreamer() as streamer:
        streamer.stream_files(files)
        for _, tensor in streamer.get_tensors():
            total += tensor.nbytes
        return time.perf_counter() - start, total


if __name__ == "__main__":
    seconds, total = {f.__name__: f for f in (safetensors, fastsafetensors, runai, runai_in_place)}[sys.argv[1]](sys.argv[2:])
    print(seconds, total)
