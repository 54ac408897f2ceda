"""What the official package (its Rust core) says of a single file."""

import hashlib

from safetensors import SafetensorError, deserialize, safe_open


def judge(path, data):
    """The contents of a file by name, or None when the package refuses it.

    Its two ways in must agree; where they do not, that is an error.
    """
    try:
        tensors = deserialize(data)
    except SafetensorError:
        tensors = None
    try:
        with safe_open(path, framework="np") as f:
            keys, metadata = list(f.keys()), f.metadata()
    except SafetensorError:
        keys = None
    if (tensors is None) != (keys is None):
        raise AssertionError(f"{path}: safe_open and deserialize disagree")
    if tensors is None:
        return None
    found = {}
    for name, t in tensors:
        found[name] = (t["dtype"], t["shape"], len(t["data"]), hashlib.sha256(t["data"]).hexdigest())
    assert sorted(found) == sorted(keys), path
    return found, metadata or {}
