"""Pieces of one size along a dimension, as views (aten::unsafe_split)."""

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, points, product
from kgb_gym.operators.policy import CONVERTED_INPUTS

_SHAPES = ((2, 3), (128, 256), (1024, 256))
_PAPER = product(shape=_SHAPES, split=(2, 64, 1000), dim=(0, 1, -1), dtype=FLOATS, timed=True)

_AWKWARD = points(
    {"shape": (7, 3), "dtype": "float32", "split": 3, "dim": 0},
    {"shape": (5, 4), "dtype": "float32", "split": 9, "dim": -2},
    {"shape": (0, 3), "dtype": "float32", "split": 0},
    {"shape": (0, 3), "dtype": "float32", "split": 2},
    {"shape": (5, 6), "dtype": "float16", "split": 4, "dim": 1, "layout": "transposed"},
    {"shape": (9,), "dtype": "int64", "split": 4, "layout": "dilated"},
    {"shape": (5, 6), "dtype": "bfloat16", "split": 2, "dim": 1, "layout": "sliced"},
    {"shape": (5, 6), "dtype": "float32", "split": 2, "layout": "offset"},
    *({"shape": (5, 7), "dtype": d, "split": 3, "dim": 1} for d in views.FURTHER_DTYPES),
    {"shape": (5, 6), "dtype": "float32", "split": -1},
    {"shape": (5, 6), "dtype": "float32", "split": 0},
    {"shape": (), "dtype": "float32", "split": 1},
)
_OUT = points(
    {"shape": (13, 31), "dtype": "float32", "split": 5},
    {"shape": (7, 6), "dtype": "float16", "split": 4, "dim": 1, "out": "empty", "layout": "transposed"},
    {"shape": (9, 5), "dtype": "bfloat16", "split": 4, "out": "dilated"},
    {"shape": (3, 1037), "dtype": "int32", "split": 1030, "dim": -1, "out": "transposed"},
    {"shape": (4, 3, 2, 3), "dtype": "float64", "split": 3, "layout": "sliced", "out": "irregular"},
    {"shape": (4, 5), "dtype": "complex64", "split": 3, "dim": 1},
    {"shape": (4, 5), "dtype": "bool", "split": 3},
)

OPERATOR = Operator(
    source="aten",
    name="unsafe_split",
    interfaces=(
        Interface(
            "unsafe_split.Tensor",
            views.split,
            suites(
                paper=(_PAPER, _AWKWARD),
                quick=(product(shape=((2, 3), (16, 24)), split=(2, 10), dim=(0, -1), dtype=FLOATS[1:2]), _AWKWARD),
                smoke=(
                    points(
                        {"shape": (7, 3), "dtype": "float32", "split": 3},
                        {"shape": (5, 6), "dtype": "float16", "split": 4, "dim": 1},
                    ),
                ),
            ),
            views.split_jitter,
        ),
        Interface(
            "unsafe_split.Tensor_out",
            views.split_out,
            suites(
                paper=(_PAPER, _OUT),
                quick=(_OUT,),
                smoke=(
                    points(
                        {"shape": (7, 3), "dtype": "float32", "split": 3},
                        {"shape": (5, 6), "dtype": "float16", "split": 4, "dim": 1},
                    ),
                ),
            ),
            views.split_jitter,
        ),
    ),
    compare=Exact(),
    description="Cuts `self` along a dimension into pieces of `split_size`, the last one smaller if need be.",
    notes=(
        (
            "A negative size, a size of 0 for a dimension that is not empty, and a 0-d `self` are RuntimeErrors; an empty dimension "
            "gives one empty piece."
        ),
        "The pieces are views: each shares the memory of `self`, with the strides and the storage offset of a slice.",
        (
            "With `out`, a list of one tensor a piece, the pieces are written there by kernels: an `out` may be of another size "
            "(and is then resized) and have any strides; nothing is returned."
        ),
    ),
    view=True,
    policy=CONVERTED_INPUTS,
    family="views",
)
