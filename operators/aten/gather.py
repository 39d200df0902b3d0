"""Elements along one dimension by a tensor of indices (aten::gather)."""

from typing import Any

from kgb_gym.operators.aten.families import indexing
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, pairwise, points, product

_PUBLISHED: dict[str, Any] = {
    "shape,index": [
        ((512, 128, 32), (128, 100, 31)),
        ((1024, 64, 16), (900, 64, 5)),
        ((128, 32, 256), (128, 30, 200)),
    ]
}
_QUICK: dict[str, Any] = {
    "shape,index": [((20, 12, 8), (5, 9, 7)), ((9, 16, 7), (9, 3, 7)), ((12, 6, 20), (11, 6, 19))]
}

_AWKWARD = points(
    {"shape": (), "index": [], "dtype": "float32", "dim": 0},
    {"shape": (), "index": [3], "dtype": "float32", "dim": -1},
    {"shape": (5, 6), "index": [0], "dtype": "float32", "dim": 0},
    {"shape": (4, 7), "index": [30, 7], "dtype": "float32", "dim": 0, "layout": "transposed"},
    {
        "shape": (6, 9),
        "index": [5, 40],
        "dtype": "bfloat16",
        "dim": -1,
        "layout": "dilated",
        "index_layout": "transposed",
    },
    {
        "shape": (3, 5, 2, 7),
        "index": [2, 9, 2, 6],
        "dtype": "float16",
        "dim": 1,
        "layout": "sliced",
        "index_layout": "dilated",
    },
    {"shape": (2, 3, 4, 3, 2), "index": [2, 2, 4, 5, 1], "dtype": "float64", "dim": -2, "layout": "offset"},
    {"shape": (700,), "index": [2500], "dtype": "float32", "dim": 0},
    {"shape": (5, 8), "index": [5, 3], "dtype": "float32", "dim": 1, "index_dtype": "int32"},
    {"shape": (6, 11), "index": [4, 14], "dtype": "int64", "dim": 1, "layout": "expanded", "sparse_grad": True},
    {"shape": (13, 9), "index": [20, 8], "dtype": "bool", "dim": 0},
    {"shape": (5, 4), "index": [5], "dtype": "float32", "dim": 0, "origin": "beyond"},
    {"shape": (5, 4), "index": [2, 5], "dtype": "float32", "dim": 0, "origin": "beyond"},
    {"shape": (5, 4), "index": [2, 3], "dtype": "float32", "dim": 2, "origin": "beyond"},
)
_OUT = points(
    {"shape": (15, 21), "index": [7, 19], "dtype": "float32", "dim": 0},
    {"shape": (9, 6, 5), "index": [9, 8, 4], "dtype": "float16", "dim": 1, "out": "empty"},
    {"shape": (5, 6, 7), "index": [4, 6, 9], "dtype": "bfloat16", "dim": 2, "out": "dilated", "layout": "transposed"},
    {"shape": (5, 6), "index": [2, 6], "dtype": "float32", "dim": 0, "out_dtype": "float64", "origin": "beyond"},
)
_SMOKE = points(
    {"shape": (7, 17), "index": [5, 16], "dtype": "float32", "dim": 0},
    {"shape": (5, 9), "index": [4, 12], "dtype": "float16", "dim": 1},
)

OPERATOR = Operator(
    source="aten",
    name="gather",
    interfaces=(
        Interface(
            "gather",
            indexing.gathering,
            suites(
                paper=(product(**_PUBLISHED, dtype=FLOATS, dim=(0, 1, 2), timed=True), _AWKWARD),
                quick=(pairwise(**_QUICK, dtype=FLOATS, dim=(0, 1, 2)), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            indexing.gathering_jitter,
        ),
        Interface(
            "gather.out",
            with_out(indexing.gathering, indexing.gathered),
            suites(
                paper=(
                    points({"shape": (512, 128, 32), "index": [128, 100, 31], "dtype": "float32", "dim": 1}),
                    _OUT,
                ),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            indexing.gathering_jitter,
        ),
    ),
    compare=Exact(),
    description="Picks single elements: for two dimensions and `dim=0`, `answer[i, j] = self[index[i, j], j]`.",
    notes=(
        ("The answer has the index's shape, which in every dimension but `dim` may be smaller than that of `self`; along "
        "`dim` it may be larger. 0-d counts as one element; an empty index may have any rank and gives an empty answer."),
        "Indices are int64 or int32 and lie within `self`; negative and too large ones are not tested.",
        ("Ranks that differ or an index larger than `self` elsewhere than along `dim` are RuntimeErrors, as is an `out` of "
        "another type; a `dim` out of range is an IndexError. `sparse_grad` is without effect."),
    ),
    left_out=(("gather.dimname", "PyTorch dropped named-dimension overloads"),
              ("gather.dimname_out", "PyTorch dropped named-dimension overloads")),
    usual=REAL,
    family="indexing",
)  # fmt: skip
