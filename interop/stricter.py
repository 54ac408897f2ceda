"""The ways in which ckpt is stricter than the reference, on purpose, and no
others. ways(data) finds them in a file without any code of ckpt, so that every
difference between the two verdicts has a name or is a fault.
"""

import json

# Each way with the audit codes that may be reported for it.
WAYS = {
    "leading white space": {"ST005"},
    "padding": {"ST005"},
    "duplicate name": {"ST006"},
    "duplicate metadata key": {"ST006"},
    "unknown field": {"ST005"},
    "entry as an array": {"ST005"},
    "dtype as an object": {"ST005", "ST007"},
    "size above 2^53": {"ST005", "ST010"},
    "null metadata": {"ST012", "ST005"},
}

WHITE = " \t\r\n"
FIELDS = {"dtype", "shape", "data_offsets"}


class Pairs(list):
    """A JSON object as its pairs, in order."""


def parse(text):
    """The value of JSON text, or None when Python cannot read it."""
    def refuse(name):
        raise ValueError(name)

    try:
        return json.loads(text, object_pairs_hook=Pairs, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


def ways(data):
    """The names of WAYS that a file with a readable header shows."""
    n = int.from_bytes(data[:8], "little")
    try:
        text = data[8:8 + n].decode()
    except UnicodeDecodeError:
        return set()
    found = set()
    top = parse(text)
    if not isinstance(top, Pairs):
        return found
    if text[:1] in tuple(WHITE):
        found.add("leading white space")
    if text.rstrip(" ") != text.rstrip(WHITE):
        found.add("padding")
    if repeats(top):
        found.add("duplicate name")
    for name, value in top:
        found |= of_metadata(value) if name == "__metadata__" else of_entry(value)
    return found


def repeats(pairs):
    return len({k for k, _ in pairs}) != len(pairs)


def of_metadata(value):
    if value is None:
        return {"null metadata"}
    if isinstance(value, Pairs) and repeats(value):
        return {"duplicate metadata key"}
    return set()


def of_entry(value):
    if isinstance(value, list) and not isinstance(value, Pairs):
        return {"entry as an array"} | of_fields(zip(("dtype", "shape", "data_offsets"), value))
    if not isinstance(value, Pairs):
        return set()
    found = of_fields(value)
    if any(k not in FIELDS for k, _ in value):
        found.add("unknown field")
    return found


def of_fields(pairs):
    found = set()
    for key, value in pairs:
        if key == "dtype" and isinstance(value, Pairs):
            found.add("dtype as an object")
        if key in ("shape", "data_offsets") and isinstance(value, list):
            if any(isinstance(n, int) and n > 2**53 for n in value):
                found.add("size above 2^53")
    return found
