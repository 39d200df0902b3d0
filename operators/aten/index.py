"""Elements and slices by lists of indices, masks and None (aten::index)."""

from typing import Any

from kgb_gym.operators.aten.families import advanced
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, pairwise, points, product
from kgb_gym.operators.policy import Policy

_SMALL: dict[str, Any] = {
    "shape,picks": [
        ((32, 32), ([8], [8])),
        ((32, 32), ([8], [2, 8])),
        ((32, 32), ([2, 8],)),
        ((64, 64, 64), ([2, 8], [2, 8])),
    ]
}
_LARGE: dict[str, Any] = {
    "shape,picks": [
        ((268435456,), ([65536],)),
        ((512, 512, 512), ([128], [128], [128])),
        ((512, 512, 512), ([2, 128], [128], [128])),
        ((512, 512, 512), ([2, 128],)),
    ]
}
_EIGHTH: dict[str, Any] = {
    "shape,picks": [
        ((33554432,), ([65536],)),
        ((256, 256, 256), ([128], [128], [128])),
        ((256, 256, 256), ([2, 128], [128], [128])),
        ((256, 256, 256), ([2, 128],)),
    ]
}
_ALONE: dict[str, Any] = {
    "shape,picks": [((32, 32), ("none", [5])), ((32, 32), ("mask2",)), ((32, 32), ([0],)), ((10,), ([3],))]
}
_WRONG: dict[str, Any] = {"shape,picks": [((32, 32), ()), ((32, 32), ([3], [3], [3]))]}
_QUICK: dict[str, Any] = {
    "shape,picks": [
        ((300,), ([70],)),
        ((32, 32), ([8], [2, 8])),
        ((12, 9, 7), ([2, 5], [5], [5])),
        ((9, 8, 6), ([2, 3], [2, 3])),
    ]
}

_AWKWARD = points(
    {"shape": (9, 40), "picks": [[]], "dtype": "float32"},
    {"shape": (5, 6, 7), "picks": ["none", [4], [4]], "dtype": "float32", "negative": True},
    {"shape": (5, 6, 7), "picks": [[4], "none", [4]], "dtype": "float32", "negative": True, "layout": "transposed"},
    {"shape": (3, 4, 5, 6), "picks": ["none", [2, 1], [3]], "dtype": "float16", "layout": "sliced"},
    {"shape": (3, 4, 5, 6, 2), "picks": ["none", [3], "none", [2, 3]], "dtype": "float32", "index_dtype": "int32"},
    {"shape": (30, 1100), "picks": [[3]], "dtype": "bfloat16", "index_layout": "dilated"},
    {"shape": (41, 60), "picks": ["mask2"], "dtype": "float32", "trues": 1201},
    {"shape": (21, 9), "picks": ["mask"], "dtype": "float32", "layout": "transposed", "index_layout": "dilated"},
    {"shape": (5, 6, 7), "picks": ["none", "mask2"], "dtype": "bfloat16", "layout": "transposed"},
    {"shape": (9, 7, 8), "picks": ["mask", "none", [1]], "dtype": "float16", "negative": True},
    {"shape": (3, 4, 5), "picks": ["mask3"], "dtype": "float32", "layout": "transposed"},
    {"shape": (9, 7, 8), "picks": [[6], "mask2"], "dtype": "float32", "trues": 6},
    {"shape": (9, 7), "picks": ["mask2"], "dtype": "float32", "trues": 0},
    {"shape": (6, 8), "picks": [[5, 3]], "dtype": "int64"},
    {"shape": (40, 3), "picks": ["mask"], "dtype": "bool"},
    {"shape": (6, 8), "picks": [[3], [2]], "dtype": "float32", "origin": "beyond"},
    {"shape": (6, 8), "picks": [[3]], "dtype": "float32", "wrong": "type", "origin": "beyond"},
    {"shape": (6, 8), "picks": ["mask"], "dtype": "float32", "wrong": "mask", "origin": "beyond"},
)
_OUT = points(
    {"shape": (13, 31), "picks": [[7], [7]], "dtype": "float32"},
    {"shape": (9, 33), "picks": [[4, 2]], "dtype": "bfloat16", "out": "empty"},
    {"shape": (9, 5, 7), "picks": ["none", "mask"], "dtype": "float16", "out": "dilated"},
    {"shape": (9, 5), "picks": [[3]], "dtype": "float32", "out_dtype": "float64", "origin": "beyond"},
)
_SMOKE = points(
    {"shape": (9, 17), "picks": [[5]], "dtype": "float32"},
    {"shape": (9, 4), "picks": ["mask2"], "dtype": "float16"},
)

OPERATOR = Operator(
    source="aten",
    name="index",
    interfaces=(
        Interface(
            "index.Tensor",
            advanced.lookup,
            suites(
                paper=(
                    product(**_LARGE, dtype=("float16",), timed=True),
                    product(**_EIGHTH, dtype=("float32", "bfloat16"), timed=True),
                    product(**_SMALL, dtype=FLOATS, timed=True),
                    product(**_ALONE, dtype=FLOATS[1:2], timed=True),
                    product(**_WRONG, dtype=FLOATS[1:2]).beyond(),
                    points({"shape": (1024, 1024), "picks": ["mask2"], "dtype": "float32"}),
                    _AWKWARD,
                ),
                quick=(
                    pairwise(**_QUICK, dtype=FLOATS, negative=(False, True)),
                    product(**_WRONG, dtype=FLOATS[1:2]).beyond(),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            advanced.jitter,
        ),
        Interface(
            "index.Tensor_out",
            with_out(advanced.lookup, advanced.looked_up),
            suites(paper=(product(**_SMALL, dtype=FLOATS[1:2], origin="extra"), _OUT), quick=(_OUT,), smoke=(_SMOKE,)),
            advanced.jitter,
        ),
    ),
    compare=Exact(),
    description="Indexing as in `self[i, :, j]`: the list holds one entry for each leading dimension, an index tensor or "
    "None for a whole dimension. Index tensors are broadcast to one shape B and walked together. B takes their place in "
    "the answer where they stand side by side, else it comes first.",
    notes=(
        "Index tensors are int32 or int64, of any rank and layout; negative numbers count from the end.",
        (
            "A bool tensor is a mask over as many dimensions as it has: it stands for the indices of its true elements, in "
            "row-major order. Their number has to be read back (`.item()`); uint8 masks are not tested."
        ),
        "Numbers out of range and lists of None only are not tested.",
        (
            "No or too many entries, shapes that can't be broadcast, masks of other sizes and indices of another type are "
            "IndexErrors; an `out` of another type is a RuntimeError."
        ),
    ),
    left_out=(
        ("index.Tensor_hacked_twin", "TorchScript builtin: not in the dispatcher"),
        ("index.str", "TorchScript builtin: not in the dispatcher"),
        ("index.list_int", "TorchScript builtin: not in the dispatcher"),
        ("index.list_float", "TorchScript builtin: not in the dispatcher"),
        ("index.list_bool", "TorchScript builtin: not in the dispatcher"),
        ("index.list_Tensor", "TorchScript builtin: not in the dispatcher"),
        ("index.list_str", "TorchScript builtin: not in the dispatcher"),
    ),
    data_dependent=True,
    policy=Policy(deny_ops=frozenset({"nonzero"})),
    usual=REAL,
    family="indexing",
)
