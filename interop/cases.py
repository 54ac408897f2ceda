"""Single safetensors files of every kind we can think of, valid and invalid.

files(seed) yields Case(name, data, why): `why` is the named way in which we are
stricter than the reference, where the file was made to show one, else None.
The same seed gives the same bytes.
"""

import json
import random
import re
from dataclasses import dataclass

BITS = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
    "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}

NAMES = [
    "a", "weight", "model.layers.0.mlp.up_proj.weight", "model.layers.10.mlp.up_proj.weight",
    "", " ", ".", "..", "0", "1.2.3.4.5", "00.1", "layers.4294967296.w", "日本", "é", "e\u0301", "\U0001f600",
    "a/b", "a\\b", 'a"b', "a\nb", "\x00", "\x1b[31m", "\x7f", "\u2028", "\u202e", "\ufeff", "\ufffd", "\uffff",
    "__metadata", "_metadata_", "__METADATA__", "x" * 300, "dtype", "shape", "data_offsets",
]


@dataclass
class Case:
    name: str
    data: bytes
    why: str | None = None


def whole(header, data=b"", n=None):
    """A file of this header (text or bytes); n stands in the length if given."""
    if isinstance(header, str):
        header = header.encode()
    return (len(header) if n is None else n).to_bytes(8, "little") + header + data


def entry(dtype, shape, begin, end):
    return '{"dtype":%s,"shape":%s,"data_offsets":[%s,%s]}' % (
        json.dumps(dtype), json.dumps(shape, separators=(",", ":")), begin, end)


def size_of(dtype, shape):
    n = BITS[dtype]
    for d in shape:
        n *= d
    return n // 8 if n % 8 == 0 else None


def draw_shape(rng, dtype):
    while True:
        shape = [rng.choice([0, 1, 1, 2, 3, 4, 5, 8, 16]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 5]))]
        size = size_of(dtype, shape)
        if size is not None and size <= 4096:
            return shape, size


def draw_model(rng, most=6):
    """Tensors (name, dtype, shape, begin, end) in a random order, touching."""
    names = rng.sample(NAMES, rng.randint(1, most))
    tensors, at = [], 0
    for name in names:
        dtype = rng.choice(list(BITS))
        shape, size = draw_shape(rng, dtype)
        tensors.append((name, dtype, shape, at, at + size))
        at += size
    rng.shuffle(tensors)
    return tensors, at


def spell(rng, text):
    """A JSON string of text in one of its many spellings."""
    out = []
    for c in text:
        plain = json.dumps(c, ensure_ascii=False)[1:-1]
        if rng.random() < 0.8:
            out.append(plain)
            continue
        units = c.encode("utf-16-be")
        form = rng.choice(["\\u%04x", "\\u%04X"])
        out.append("".join(form % int.from_bytes(units[i:i + 2], "big") for i in range(0, len(units), 2)))
    return '"' + "".join(out) + '"'


def blank(rng):
    return "".join(rng.choice(" \t\n\r") for _ in range(rng.choice([0, 0, 0, 1, 3])))


def render(rng, tensors, metadata=None, spaced=False, escaped=False):
    """The header of a model, its fields and entries in any order."""
    gap = (lambda: blank(rng)) if spaced else (lambda: "")
    text = (lambda s: spell(rng, s)) if escaped else json.dumps

    def join(parts, begin, end):
        inner = (gap() + "," + gap()).join(parts)
        return begin + gap() + inner + gap() + end

    def pair(key, value):
        return text(key) + gap() + ":" + gap() + value

    entries = []
    for name, dtype, shape, begin, end in tensors:
        fields = [
            pair("dtype", text(dtype)),
            pair("shape", join([str(d) for d in shape], "[", "]")),
            pair("data_offsets", join([str(begin), str(end)], "[", "]")),
        ]
        rng.shuffle(fields)
        entries.append(pair(name, join(fields, "{", "}")))
    if metadata is not None:
        pairs = [pair(k, text(v)) for k, v in metadata.items()]
        entries.insert(rng.randint(0, len(entries)), pair("__metadata__", join(pairs, "{", "}")))
    return join(entries, "{", "}")


def draw_metadata(rng):
    if rng.random() < 0.5:
        return None
    return {rng.choice(NAMES): rng.choice(NAMES) for _ in range(rng.randint(0, 3))}


def draw(rng, most=4):
    """A random valid file: header text and data."""
    tensors, size = draw_model(rng, most)
    header = render(rng, tensors, draw_metadata(rng), rng.random() < 0.3, rng.random() < 0.3)
    return header + " " * rng.choice([0, 0, 1, 7, 8, 100]), rng.randbytes(size)


def valid(rng):
    for i in range(200):
        header, data = draw(rng, 8)
        yield Case(f"valid-{i:03}", whole(header, data))
    for dtype, bits in BITS.items():
        for shape in ([], [0], [8], [2, 4], [0, 3], [1] * 9):
            size = size_of(dtype, shape)
            if size is not None:
                yield Case(f"dtype-{dtype}-{len(shape)}-{size}", whole("{" + '"a":' + entry(dtype, shape, 0, size) + "}", bytes(size)))
    many = ",".join('"t.%d":%s' % (i, entry("U8", [1], i, i + 1)) for i in range(2000))
    yield Case("many", whole("{" + many + "}", bytes(2000)))


ONE = '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
EIGHT = bytes(range(8))


def lengths(rng):
    n, size = len(ONE), len(ONE) + 8
    for k in sorted({0, 1, 2, n - 8, n - 2, n - 1, n + 1, n + 2, n + 7, n + 8, n + 9, size, size + 8, 99_999_999, 100_000_000,
              100_000_001, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + n, 2**53, 2**63 - 1, 2**63, 2**63 + n,
              2**64 - 8, 2**64 - 1}):
        yield Case(f"length-{k}", whole(ONE, EIGHT, k))
    swapped = len(ONE).to_bytes(8, "big") + ONE.encode() + EIGHT
    yield Case("length-big-endian", swapped)
    four = len(ONE).to_bytes(4, "little") + ONE.encode() + EIGHT
    yield Case("length-four-bytes", four)


def cuts(rng):
    file = whole('{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I8","shape":[3],"data_offsets":[8,11]}}', bytes(11))
    for i in range(len(file)):
        yield Case(f"cut-{i:03}", file[:i])
    for i in range(40):
        header, data = draw(rng)
        file = whole(header, data)
        yield Case(f"cut-random-{i:02}", file[:rng.randrange(len(file))])


def surplus(rng):
    for extra in (b"\0", b"\n", b" ", b"\0" * 7, b"\0" * 8, b"}", bytes(4096), whole(ONE, EIGHT)):
        yield Case(f"surplus-{len(extra)}-{extra[0]:02x}", whole(ONE, EIGHT + extra))
        yield Case(f"surplus-empty-{len(extra)}-{extra[0]:02x}", whole("{}", extra))


def padding(rng):
    for i, pad in enumerate([" ", " " * 7, " " * 4096]):
        yield Case(f"pad-{i}", whole(ONE + pad, EIGHT))
    for i, pad in enumerate(["\n", "\t", "\r", "\r\n", " \n", "\n ", " " * 20 + "\t" + " " * 20]):
        yield Case(f"pad-white-{i}", whole(ONE + pad, EIGHT), "padding")
        yield Case(f"lead-{i}", whole(pad + ONE, EIGHT), "leading white space")
    yield Case("lead-space", whole(" " + ONE, EIGHT), "leading white space")
    for i, pad in enumerate(["\0", "\0" * 8, "\v", "\f", "\u00a0", "\u2003", "\ufeff", "x", ",", "}", "{}", "/**/", "//", "#", "null", "\x1a"]):
        yield Case(f"pad-other-{i}", whole(ONE + pad, EIGHT))
        yield Case(f"lead-other-{i}", whole(pad + ONE, EIGHT))


def tops(rng):
    for i, text in enumerate(["", " ", "{", "}", "[", "[]", "[{}]", '""', '"a"', "0", "1", "null", "true", "false", "NaN", "{}", "{ }",
                              "{\n}", "{}{}", "{},", ",{}", "{,}", '{"a"}', '{"a":}', '{:1}', "{1:2}", '{a:1}', "{'a':1}", '{"a":1}',
                              '{"a":null}', '{"a":[]}', '{"a":{}}', '{"a":""}', '{"":{}}', '{"a":true}', '{"a":{"b":{}}}', "\ufeff{}"]):
        yield Case(f"top-{i:02}", whole(text))


def tokens(text):
    """Splits JSON text roughly: strings, words, numbers, single characters."""
    return re.findall(r'"(?:\\.|[^"\\])*"|[A-Za-z_]+|[-+0-9.eE]+|\s+|.', text, re.S)


ALPHABET = ["{", "}", "[", "]", ":", ",", '"', "0", "1", "8", "-1", "1.0", "1e1", "null", "true", "false", '""', '"a"', '"dtype"',
            '"shape"', '"data_offsets"', '"F32"', '"__metadata__"', " ", "\n", "\\", "\0", "{}", "[]", "nul", "00", "18446744073709551616",
            "9007199254740993"]


def syntax(rng):
    for i in range(600):
        header, data = draw(rng, 2)
        parts = tokens(header)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            at = rng.randrange(len(parts))
            kind = rng.randrange(5)
            if kind == 0 and len(parts) > 1:
                del parts[at]
            elif kind == 1:
                parts.insert(at, parts[rng.randrange(len(parts))])
            elif kind == 2:
                other = rng.randrange(len(parts))
                parts[at], parts[other] = parts[other], parts[at]
            elif kind == 3:
                parts[at] = rng.choice(ALPHABET)
            else:
                parts.insert(at, rng.choice(ALPHABET))
        yield Case(f"syntax-{i:03}", whole("".join(parts), data))


def flips(rng):
    for i in range(500):
        header, data = draw(rng, 2)
        raw = bytearray(whole(header, data))
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            at = rng.randrange(8, 8 + len(header.encode()))
            raw[at] ^= 1 << rng.randrange(8)
        yield Case(f"flip-{i:03}", bytes(raw))
    for i in range(64):
        raw = bytearray(whole(ONE, EIGHT))
        raw[i // 8] ^= 1 << i % 8
        yield Case(f"flip-length-{i:02}", bytes(raw))
    for i in range(200):
        header, data = draw(rng, 2)
        raw = bytearray(header.encode())
        at = rng.randrange(len(raw))
        if rng.random() < 0.5:
            del raw[at]
        else:
            raw.insert(at, rng.randrange(256))
        yield Case(f"bytes-{i:03}", whole(bytes(raw), data))


NUMBERS = ["0", "-0", "1", "-1", "01", "00", "+1", "1.0", "1.", ".5", "1e0", "1E0", "0e0", "1e400", "8.0", "0x1", "1_0", '"8"', "null", "true", "[]",
           "[1]", "{}", "NaN", "Infinity", "-Infinity", "8 ", "2", "8", "9", "255", "65536", "4294967296", "9007199254740991", "9007199254740992",
           "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
           "1" + "0" * 400, "0" * 400, "0.0", "-8", "1e-1", "٣", "８"]


def numbers(rng):
    for i, n in enumerate(NUMBERS):
        over = n.isascii() and n.isdigit() and n[0] != "0" and 2**53 < int(n) < 2**64
        forms = {
            "dim": '{"a":{"dtype":"F32","shape":[%s],"data_offsets":[0,8]}}' % n,
            "dim-of-nothing": '{"a":{"dtype":"F32","shape":[0,%s],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}' % n,
            "begin": '{"a":{"dtype":"F32","shape":[2],"data_offsets":[%s,8]}}' % n,
            "end": '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,%s]}}' % n,
            "both": '{"a":{"dtype":"F32","shape":[0],"data_offsets":[%s,%s]}}' % (n, n),
            "metadata": '{"__metadata__":{"a":%s},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' % n,
        }
        for place, header in forms.items():
            why = "size above 2^53" if over and place == "dim-of-nothing" else None
            yield Case(f"number-{i:02}-{place}", whole(header, EIGHT), why)


ESCAPES = ["\\" + chr(c) for c in range(32, 127)] + [
    "\\u0041", "\\u00e9", "\\u00E9", "\\U0041", "\\u004", "\\u", "\\u00g0", "\\u 041", "\\u+041", "\\ud83d\\ude00", "\\uD83D\\uDE00", "\\ud83d", "\\ude00",
    "\\ude00\\ud83d", "\\ud83d\\u0041", "\\ud83dx", "\\ud83d\\n", "\\ud83d\\", "\\uffff", "\\ufffe", "\\u0000", "\\u001b", "\\u2028", "\\ufeff", "\\\\u0041", "\\"]


def escapes(rng):
    for i, e in enumerate(ESCAPES):
        yield Case(f"escape-{i:03}-name", whole('{"a%s":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' % e, EIGHT))
        yield Case(f"escape-{i:03}-value", whole('{"__metadata__":{"k":"v%s"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' % e, EIGHT))
        yield Case(f"escape-{i:03}-dtype", whole('{"a":{"dtype":"F32%s","shape":[2],"data_offsets":[0,8]}}' % e, EIGHT))
    for c in range(0x20):
        raw = b'{"a%c":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' % c
        yield Case(f"control-{c:02x}", whole(raw, EIGHT))
    hidden = {
        "field": '{"a":{"dt\\u0079pe":"F32","shape":[2],"data_offsets":[0,8]}}',
        "dtype": '{"a":{"dtype":"F\\u00332","shape":[2],"data_offsets":[0,8]}}',
        "metadata": '{"\\u005f_metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
        "metadata-number": '{"__meta\\u0064ata__":{"k":1},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
    }
    for name, header in hidden.items():
        yield Case(f"escape-hidden-{name}", whole(header, EIGHT))


SEQUENCES = ["80", "bf", "c0", "c080", "c1bf", "c2", "c27f", "c2c0", "e0", "e080", "e08080", "e09fbf", "eda080", "edbfbf", "eda0bdedb880", "ef", "efbf",
             "f0", "f08080", "f0808080", "f08fbfbf", "f48fbfbf", "f4908080", "f5808080", "f8888080", "fc8484848080", "fe", "ff", "fffe", "feff",
             "c3a9", "e282ac", "f09f9880", "efbfbf", "ee8080", "c3a9c3", "e282", "f09f98"]


def encodings(rng):
    for s in SEQUENCES:
        raw = bytes.fromhex(s)
        yield Case(f"utf8-{s}-name", whole(b'{"a' + raw + b'":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', EIGHT))
        yield Case(f"utf8-{s}-value", whole(b'{"__metadata__":{"k":"' + raw + b'"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', EIGHT))
        yield Case(f"utf8-{s}-pad", whole(ONE.encode() + raw, EIGHT))
        yield Case(f"utf8-{s}-unknown", whole(b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":"' + raw + b'"}}', EIGHT))
    for codec in ("utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-8-sig"):
        yield Case(f"utf8-{codec}", whole(ONE.encode(codec), EIGHT))


def duplicates(rng):
    a = entry("F32", [2], 0, 8)
    b = entry("F32", [2], 8, 16)
    u8 = entry("U8", [8], 0, 8)
    for name, header, size in [
        ("same", '{"a":%s,"a":%s}' % (a, a), 8), ("dtype", '{"a":%s,"a":%s}' % (u8, a), 8), ("dtype-back", '{"a":%s,"a":%s}' % (a, u8), 8),
        ("escape", '{"a":%s,"\\u0061":%s}' % (a, a), 8), ("thrice", '{"a":%s,"a":%s,"a":%s}' % (a, a, a), 8),
        ("empty-name", '{"":%s,"":%s}' % (a, a), 8), ("apart", '{"a":%s,"b":%s,"a":%s}' % (a, b, a), 16),
        ("unicode", '{"é":%s,"\\u00e9":%s}' % (a, a), 8),
    ]:
        yield Case(f"twice-{name}", whole(header, bytes(size)), "duplicate name")
    yield Case("twice-other-place", whole('{"a":%s,"a":%s}' % (a, b), bytes(16)))
    yield Case("twice-nfc-nfd", whole('{"\u00e9":%s,"e\u0301":%s}' % (a, b), bytes(16)))
    meta = '{"__metadata__":%s,"a":' + a + "}"
    for name, m in [("same", '{"k":"v","k":"v"}'), ("other", '{"k":"v","k":"w"}'), ("escape", '{"k":"v","\\u006b":"v"}'), ("empty", '{"":"","":""}')]:
        yield Case(f"twice-metadata-{name}", whole(meta % m, EIGHT), "duplicate metadata key")
    yield Case("twice-block", whole('{"__metadata__":{},"__metadata__":{},"a":%s}' % a, EIGHT))
    yield Case("twice-block-escape", whole('{"__metadata__":{},"__met\\u0061data__":{},"a":%s}' % a, EIGHT))
    for field, value in [("dtype", '"F32"'), ("shape", "[2]"), ("data_offsets", "[0,8]")]:
        yield Case(f"twice-field-{field}", whole('{"a":%s,"%s":%s}}' % (a[:-1], field, value), EIGHT))


def forms(rng):
    rest = '"shape":[2],"data_offsets":[0,8]}}'
    for i, dtype in enumerate(['{"F32":null}', '{"F\\u00332":null}', '{ "F32" : null }']):
        yield Case(f"dtype-object-{i}", whole('{"a":{"dtype":%s,%s' % (dtype, rest), EIGHT), "dtype as an object")
    for i, dtype in enumerate(['{"F32":{}}', '{"F32":[]}', '{"F32":1}', '{"F32":null,"F16":null}', "{}", '["F32"]', '[]', "17", "null", "true", '"f32"', '"F32 "',
                               '" F32"', '""', '"F"', '"F32\\u0000"', '"float32"', '"F8_E4M3FN"', '"F4_E2M1"', '"BF32"', '"U4"', '"I4"', '"I128"', '"C32"', '"C128"',
                               '"bool"', '"Bool"', '"MXFP4"', '"F128"', '"F8"', '"F6"', '"E8M0"']):
        yield Case(f"dtype-other-{i:02}", whole('{"a":{"dtype":%s,%s' % (dtype, rest), EIGHT))
    for i, e in enumerate(['["F32",[2],[0,8]]', '[ "F32" , [ 2 ] , [ 0 , 8 ] ]', '["F\\u00332",[2],[0,8]]']):
        yield Case(f"array-entry-{i}", whole('{"a":%s}' % e, EIGHT), "entry as an array")
    for i, e in enumerate(["[]", '["F32"]', '["F32",[2]]', '["F32",[2],[0,8],0]', '[[2],"F32",[0,8]]', "null", '"F32"', "0", "{}", '[{"F32":null},[2],[0,8],null]']):
        yield Case(f"entry-other-{i}", whole('{"a":%s}' % e, EIGHT))
    base = '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],%s}}'
    for i, extra in enumerate(['"x":1', '"":null', '"Dtype":"F32"', '"x":{"y":[1,2.5e3,{}]}', '"x":"\\ud83d\\ude00"', '"x":-0', '"x":1.5', '"x":true', '"x":[]',
                               '"__metadata__":{}', '"DATA_OFFSETS":[0,8]', '"x":1e300', '"x":' + "[" * 100 + "]" * 100]):
        yield Case(f"unknown-field-{i:02}", whole(base % extra, EIGHT), "unknown field")
    for i, extra in enumerate(['"x":01', '"x":tru', '"x":"\\q"', '"x"', '"x":', '"x":[1,]', '"x":{"y"}', '"x":' + "[" * 3000, '"x":' + "[" * 200 + "]" * 200, '"x":1e999',
                               '"x":"\n"', '"x":-', '"x":"\\ud83d"']):
        yield Case(f"unknown-broken-{i:02}", whole(base % extra, EIGHT))
    fields = {"dtype": '"F32"', "shape": "[2]", "data_offsets": "[0,8]"}
    for missing in fields:
        kept = ",".join('"%s":%s' % kv for kv in fields.items() if kv[0] != missing)
        yield Case(f"missing-{missing}", whole('{"a":{%s}}' % kept, EIGHT))
        for i, value in enumerate(["null", "0", '""', "{}", "[]", "[null]", "[[2]]", "[0,8,16]", "[8]", '["0","8"]', "[0,8,]", "[,]", "[0 8]", "true", "[2,[]]"]):
            changed = dict(fields, **{missing: value})
            header = "{\"a\":{%s}}" % ",".join('"%s":%s' % kv for kv in changed.items())
            yield Case(f"value-{missing}-{i:02}", whole(header, EIGHT))
        for other in (missing.upper(), missing.capitalize(), missing + " ", missing.replace("_", "-") + "x"):
            renamed = ",".join('"%s":%s' % (other if k == missing else k, v) for k, v in fields.items())
            yield Case(f"renamed-{missing}-{other}", whole('{"a":{%s}}' % renamed, EIGHT))


def metadata(rng):
    a = entry("F32", [2], 0, 8)
    yield Case("metadata-null", whole('{"__metadata__":null,"a":%s}' % a, EIGHT), "null metadata")
    yield Case("metadata-null-last", whole('{"a":%s,"__metadata__": null }' % a, EIGHT), "null metadata")
    for i, m in enumerate(["{}", '{"":""}', '{"k":"v"}', '{"k":""}', '{"k":"\\u0000"}', '{"k":null}', '{"k":1}', '{"k":{}}', '{"k":[]}', '{"k":true}', "[]", '[["k","v"]]',
                           '""', "0", "true", '{"k":"v",}', '{k:"v"}', '{"k"}', a, '{"format":"pt"}', '{"dtype":"F32","shape":"x","data_offsets":"y"}']):
        yield Case(f"metadata-{i:02}", whole('{"__metadata__":%s,"a":%s}' % (m, a), EIGHT))
        yield Case(f"metadata-alone-{i:02}", whole('{"__metadata__":%s}' % m))
    yield Case("metadata-long", whole('{"__metadata__":{"k":"%s"},"a":%s}' % ("v" * 100_000, a), EIGHT))
    yield Case("metadata-inside", whole('{"a":{"__metadata__":{}}}', b""))


def layouts(rng):
    def two(b0, e0, b1, e1, size, d0=None, d1=None):
        x = entry("U8", [max(e0 - b0, 0) if d0 is None else d0], b0, e0)
        y = entry("U8", [max(e1 - b1, 0) if d1 is None else d1], b1, e1)
        return whole('{"a":%s,"b":%s}' % (x, y), bytes(size))

    for b0, e0, b1, e1, size in [(0, 4, 4, 8, 8), (4, 8, 0, 4, 8), (0, 4, 5, 9, 9), (0, 4, 3, 7, 7), (0, 4, 0, 4, 4), (1, 4, 4, 8, 8), (0, 4, 8, 4, 8), (4, 0, 4, 8, 8),
                                 (0, 8, 2, 4, 8), (0, 0, 0, 0, 0), (0, 0, 0, 8, 8), (0, 8, 8, 8, 8), (0, 8, 4, 4, 8), (0, 8, 0, 0, 8), (0, 8, 9, 9, 8), (8, 8, 0, 8, 8),
                                 (1, 1, 0, 8, 8), (0, 4, 4, 4, 4), (4, 4, 4, 4, 4), (0, 4, 4, 9, 8), (0, 4, 4, 7, 8), (0, 2**40, 2**40, 2**40, 8),
                                 (0, 4, 4, 2**53, 8), (0, 4, 4, 2**53 + 1, 8), (0, 4, 4, 2**63, 8), (0, 4, 4, 2**64 - 1, 8), (0, 4, 2**64 - 1, 4, 8)]:
        yield Case(f"layout-{b0}-{e0}-{b1}-{e1}-{size}", two(b0, e0, b1, e1, size))
    for i in range(150):
        tensors, size = draw_model(rng, 4)
        t = rng.randrange(len(tensors))
        name, dtype, shape, begin, end = tensors[t]
        delta = rng.choice([-9, -8, -2, -1, 1, 2, 8, 9])
        kind = rng.randrange(4)
        if kind == 0:
            begin = max(begin + delta, 0)
        elif kind == 1:
            end = max(end + delta, 0)
        elif kind == 2:
            begin, end = max(begin + delta, 0), max(end + delta, 0)
        else:
            shape = shape + [2] if not shape or rng.random() < 0.3 else [max(d + delta, 0) for d in shape[:1]] + shape[1:]
        tensors[t] = (name, dtype, shape, begin, end)
        yield Case(f"layout-random-{i:03}", whole(render(rng, tensors), rng.randbytes(size)))
    for i in range(60):
        header, data = draw(rng, 3)
        if not data:
            continue
        k = rng.choice([1, 2, len(data)])
        yield Case(f"layout-data-{i:02}", whole(header, data[:-k] if rng.random() < 0.5 else data + bytes(k)))


def shapes(rng):
    for dtype in ("F4", "F6_E2M3", "F6_E3M2"):
        for n in range(1, 17):
            for size in {n * BITS[dtype] // 8, -(-n * BITS[dtype] // 8)}:
                yield Case(f"partial-{dtype}-{n}-{size}", whole('{"a":%s}' % entry(dtype, [n], 0, size), bytes(size)))
        yield Case(f"partial-{dtype}-scalar", whole('{"a":%s}' % entry(dtype, [], 0, 1), bytes(1)))
        yield Case(f"partial-{dtype}-empty", whole('{"a":%s}' % entry(dtype, [0, 3], 0, 0)))
    big = [[2**32, 2**32], [2**32, 2**32, 0], [0, 2**32, 2**32], [2**31, 2**31, 2**31], [2**53, 2**53], [2**53, 0], [2**40, 2**24, 1], [2**40, 2**23],
           [2**53, 2**10], [2**53, 2**11], [2**61], [2**60], [1] * 1000, [2] * 64, [2] * 63, [2] * 61, [0] + [2**53] * 4, [2**53] * 2 + [0], [2**50, 2**13], [2**50, 2**14]]
    for i, shape in enumerate(big):
        for dtype in ("F32", "U8", "F4", "F64"):
            for end in (0, 8):
                why = "size above 2^53" if any(d > 2**53 for d in shape) else None
                case = Case(f"shape-{i:02}-{dtype}-{end}", whole('{"a":%s}' % entry(dtype, shape, 0, end), bytes(end)), why)
                yield case


def files(seed=20):
    """All cases, each with a name of its own."""
    names = set()
    for kind in (valid, lengths, cuts, surplus, padding, tops, syntax, flips, numbers, escapes, encodings, duplicates, forms, metadata, layouts, shapes):
        rng = random.Random(f"{seed} {kind.__name__}")
        for case in kind(rng):
            assert case.name not in names, case.name
            names.add(case.name)
            yield case
