"""Writes the codebooks of GGML's IQ types, as package quant embeds them, from
the official package: interop/quant/grids.py > quant/ggml_grid.txt"""

import textwrap

import numpy as np
from gguf import quants

HEAD = """\
# Codebooks of GGML's IQ types: name, entries, length of an entry, values of the
# digits; then the entries as digits. Written by interop/quant/grids.py from
# gguf 0.19.0. IQ1_M uses IQ1_S.
"""


def text():
    out = [HEAD]
    for name in ("IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"):
        kind = getattr(quants, name)
        kind.init_grid()
        grid = kind.grid.reshape(kind.grid_shape).astype(int)
        values = [int(v) for v in kind.grid_map]
        digits = "".join(str(values.index(v)) for v in grid.ravel())
        assert np.array_equal([values[int(c)] for c in digits], grid.ravel())
        head = [name, *map(str, kind.grid_shape), *map(str, values)]
        out.append(" ".join(head) + "\n" + "\n".join(textwrap.wrap(digits, 96)) + "\n")
    return "".join(out)


if __name__ == "__main__":
    print(text(), end="")
