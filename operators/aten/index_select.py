"""Entries along one dimension by a vector of indices (aten::index_select)."""

from kgb_gym.operators.aten.families import indexing
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, REDUCTION, pairwise, points, product

_AWKWARD = points(
    {"shape": (), "dtype": "float32", "dim": -1, "count": 1},
    {"shape": (9, 5), "dtype": "float32", "dim": 1, "count": -1},
    {"shape": (5, 0, 3), "dtype": "float32", "dim": 0, "count": 4},
    {"shape": (5, 6), "dtype": "float32", "dim": 0, "count": 0},
    {"shape": (7, 33), "dtype": "float32", "dim": -2, "count": 20, "index_dtype": "int32", "layout": "transposed"},
    {"shape": (6, 5, 9), "dtype": "bfloat16", "dim": 1, "count": 8, "layout": "sliced", "index_layout": "dilated"},
    {"shape": (3, 4, 5, 7), "dtype": "float16", "dim": 2, "count": 6, "layout": "dilated"},
    {"shape": (301,), "dtype": "float64", "dim": 0, "count": 1300, "layout": "offset"},
    {"shape": (4, 1500), "dtype": "float32", "dim": 0, "count": 3, "layout": "expanded"},
    {"shape": (40, 7), "dtype": "int8", "dim": 1, "count": 5},
    {"shape": (23, 9), "dtype": "bool", "dim": 0, "count": 30},
    {"shape": (5, 4), "dtype": "float32", "dim": 2, "count": 3, "origin": "beyond"},
    {"shape": (5, 4), "dtype": "float32", "dim": 0, "wrong": "rank", "origin": "beyond"},
)
_OUT = points(
    {"shape": (33, 21), "dtype": "float32", "dim": 0},
    {"shape": (9, 31), "dtype": "float16", "dim": 1, "count": 40, "out": "empty"},
    {"shape": (5, 6, 7), "dtype": "bfloat16", "dim": 1, "count": 4, "out": "dilated", "layout": "transposed"},
    {"shape": (5, 6), "dtype": "float32", "dim": 0, "count": 2, "out_dtype": "float64", "origin": "beyond"},
)
_SMOKE = points({"shape": (7, 17), "dtype": "float32", "dim": 0}, {"shape": (5, 9), "dtype": "float16", "dim": 1})

OPERATOR = Operator(
    source="aten",
    name="index_select",
    interfaces=(
        Interface(
            "index_select",
            indexing.selection,
            suites(
                paper=(product(shape=REDUCTION, dtype=FLOATS, dim=(0, 1), timed=True), _AWKWARD),
                quick=(pairwise(shape=((1, 2), (64, 40), (5, 41, 3)), dtype=FLOATS, dim=(0, 1)), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            indexing.selection_jitter,
        ),
        Interface(
            "index_select.out",
            with_out(indexing.selection, indexing.selected),
            suites(
                paper=(product(shape=REDUCTION[1:2], dtype=FLOATS, dim=(0, 1), origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            indexing.selection_jitter,
        ),
    ),
    compare=Exact(),
    description="Picks the entries `index` of `self` along `dim`, in that order; entries may be picked more than once.",
    notes=(
        "The index is a vector (or 0-d: one entry) of int32 or int64; negative and too large ones are not tested.",
        "The dimension keeps its place and has `index.numel()` entries; a 0-d `self` gives a 0-d answer.",
        ("A `dim` out of range and an index of two or more dimensions are IndexErrors; an `out` of another type is a "
        "RuntimeError."),
    ),
    left_out=(("index_select.dimname", "PyTorch dropped named-dimension overloads"),
              ("index_select.dimname_out", "PyTorch dropped named-dimension overloads")),
    usual=REAL,
    family="indexing",
)  # fmt: skip
