#!/usr/bin/env python3
"""Maps the weights of a rank that ckpt holds, without a copy, and checks them.

    ckpt load --tp 8 --hold /tmp/k3.sock /raid/weights/kimi-k3 &
    python3 attach.py /tmp/k3.sock 3                           # list what rank 3 has
    python3 attach.py /tmp/k3.sock 3 /raid/weights/kimi-k3     # and compare it with the files

Needs numpy and Linux. docs/handoff.md describes the protocol and the manifest.
"""

import fcntl
import json
import mmap
import os
import socket
import sys

import numpy as np

SCHEMA = "ckpt.handoff/v1"
MOST_LINE, MOST_DESCRIPTORS = 64 << 10, 253
F_GET_SEALS, SEAL_SHRINK, SEAL_WRITE = 1034, 2, 8

# Types that numpy lacks appear as their bits.
DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "F8_E4M3": "u1", "F8_E5M2": "u1", "F8_E8M0": "u1",
    "U16": "<u2", "I16": "<i2", "F16": "<f2", "BF16": "<u2", "U32": "<u4", "I32": "<i4", "F32": "<f4",
    "U64": "<u8", "I64": "<i8", "F64": "<f8", "C64": "<c8",
}


def receive(connection):
    """Gives the next line, parsed, and the descriptors that came with it."""
    line, fds = b"", []
    while not line.endswith(b"\n"):
        data, got, flags, _ = socket.recv_fds(connection, MOST_LINE, MOST_DESCRIPTORS)
        fds += got
        if not data or flags & socket.MSG_CTRUNC or len(line) > MOST_LINE:
            raise EOFError("the holder went away, or says more than it may")
        line += data
    answer = json.loads(line)
    if "error" in answer:
        raise PermissionError("the holder refuses: " + answer["error"])
    return answer, fds


def view(fd, size):
    """Maps a sealed memory file; one that could shrink would kill the reader."""
    if fcntl.fcntl(fd, F_GET_SEALS) & (SEAL_SHRINK | SEAL_WRITE) != SEAL_SHRINK | SEAL_WRITE or os.fstat(fd).st_size < size:
        raise ValueError("not a sealed memory file of %d bytes" % size)
    return mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ)


class Attachment:
    """A lease of the arenas of ranks: it lasts until the connection is closed."""

    def __init__(self, path, *ranks):
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(path)
        self.say({"schema": SCHEMA, "ranks": ranks})
        answer, fds = receive(self.connection)
        try:
            self.manifest = json.loads(bytes(view(fds[0], answer["manifest_bytes"])[: answer["manifest_bytes"]]))
            self.arenas = {}
            for a in self.manifest["arenas"]:
                if a["kind"] != "memfd":
                    raise NotImplementedError("this example maps host memory, and arena %d is %s" % (a["arena"], a["kind"]))
                memory = self.arenas[a["arena"]] = view(fds[a["descriptor"]], a["bytes"])
                for c in a["canaries"]:
                    want = bytes.fromhex(c["hex"])
                    if memory[c["offset"] : c["offset"] + len(want)] != want:
                        raise ValueError("arena %d is not the one that was handed over" % a["arena"])
        finally:
            for fd in fds:
                os.close(fd)
        self.say({"commit": self.manifest["hold"]})
        receive(self.connection)
        self.tensors = {(t["rank"], t["name"]): t for t in self.manifest["tensors"]}

    def say(self, line):
        self.connection.sendall(json.dumps(line).encode() + b"\n")

    def array(self, t):
        """Gives a tensor as an array over the holder's own memory, for reading only."""
        dtype = np.dtype(DTYPES[t["dtype"]])
        return np.frombuffer(self.arenas[t["arena"]], dtype, t["bytes"] // dtype.itemsize, t["offset"]).reshape(t["shape"])

    def sources(self, t):
        """Yields file, offset and bytes of each source of a tensor, with its place in the stack."""
        for s in t["sources"]:
            order = self.manifest["orders"][s["order"] - 1] if "order" in s else None
            for k in range(s.get("count", 1)):
                slot = order[k] if order else s.get("slot", 0) + k
                yield s["file"], s["offset"] + k * s.get("stride", 0), s["bytes"], slot


def as_bytes(array):
    """Gives the bytes of an array; of a single number too, which has no axis to view."""
    return np.ascontiguousarray(array).view("u1")


def check(attachment, t, folder):
    """Compares a tensor with the files of the checkpoint: True, False, or None where its
    bytes were rearranged or computed and a comparison would take more than a slice."""
    if t["layout"] != "slice" or "transform" in t:
        return None
    have, sources = attachment.array(t), list(attachment.sources(t))
    for file, offset, size, slot in sources:
        with open(os.path.join(folder, file), "rb") as f:
            f.seek(offset)
            want = np.frombuffer(f.read(size), have.dtype)
        shape, axis, part = t["global_shape"], t["axis"], have
        if len(sources) > 1 or want.size < np.prod(shape):  # a stack: one source a slot
            shape, part, axis = shape[1:], have[slot], axis - 1 if axis else None
        want = want.reshape(shape)
        if axis is not None and "range" in t:
            want = want.take(range(*t["range"]), axis)
        if not np.array_equal(as_bytes(part), as_bytes(want)):
            return False
    return True


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    rank = int(sys.argv[2])
    try:
        attachment = Attachment(sys.argv[1], rank)
    except (OSError, EOFError, ValueError) as e:
        sys.exit("attach: %s" % e)
    if len(sys.argv) == 3:
        for t in attachment.manifest["tensors"]:
            print("%12d %-8s %-24s %s" % (t["bytes"], t["dtype"], t["shape"], t["name"]))
        return
    verdicts = {True: 0, False: 0, None: 0}
    for t in attachment.manifest["tensors"]:
        verdict = check(attachment, t, sys.argv[3])
        verdicts[verdict] += 1
        if verdict is False:
            print("differs: " + t["name"])
    print("rank %d: %d tensors equal the files, %d differ, %d are rearranged" % (rank, verdicts[True], verdicts[False], verdicts[None]))
    sys.exit(verdicts[False] > 0)


if __name__ == "__main__":
    main()
