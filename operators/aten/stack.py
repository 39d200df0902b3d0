"""Concatenation along a new dimension (aten::stack)."""

from typing import Any

from kgb_gym.operators.aten.families import shaping
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, pairwise, points, product
from kgb_gym.operators.policy import CONVERTED_INPUTS

_DTYPES = (*FLOATS, "int16", "int32")
_PUBLISHED: dict[str, Any] = {"shape,count": [((16,), 2), ((16, 256), 2), ((20, 320, 15), 3)]}
_QUICK: dict[str, Any] = {"shape,count": [((16,), 2), ((9, 40), 2), ((5, 12, 7), 3)]}

_AWKWARD = points(
    {"shape": (), "dtype": "float32", "dim": -1, "count": 5},
    {"shape": (3, 0, 4), "dtype": "float32", "dim": 1},
    {"shape": (5, 6), "dtype": "float32", "dim": 2, "count": 1},
    {"shape": (3,), "dtype": "float32", "dim": 1, "count": 36},
    {"shape": (7, 33), "dtype": "float32", "dim": 1, "layout": "transposed"},
    {"shape": (4, 5, 9), "dtype": "bfloat16", "dim": -1, "layout": "dilated"},
    {"shape": (3, 4, 5, 7), "dtype": "float16", "dim": 1, "layout": "transposed"},
    {"shape": (2, 2100), "dtype": "float64", "dim": -1, "layout": "offset"},
    {"shape": (4, 1300), "dtype": "float32", "dim": 1, "layout": "expanded"},
    {"shape": (6, 7), "dtype": "float16", "dim": 0, "other_dtype": "int32"},
    {"shape": (6, 7), "dtype": "bool", "dim": 2, "other_dtype": "uint8"},
    {"shape": (23,), "dtype": "bool", "dim": 0},
    {"shape": (3, 4), "dtype": "float32", "dim": 0, "wrong": "none"},
    {"shape": (3, 4), "dtype": "float32", "dim": 0, "wrong": "size"},
    {"shape": (3, 4), "dtype": "float32", "dim": 3},
)
_OUT = points(
    {"shape": (13, 31), "dtype": "float32", "dim": 0},
    {"shape": (7, 33), "dtype": "bfloat16", "dim": 1, "out": "empty", "layout": "transposed"},
    {"shape": (5, 11), "dtype": "float16", "dim": -1, "out": "dilated", "count": 3},
    {"shape": (9, 5), "dtype": "float32", "dim": 1, "out_dtype": "float64", "out": "transposed"},
    {"shape": (9, 5), "dtype": "float32", "dim": 0, "out_dtype": "int64"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32", "dim": 0}, {"shape": (5, 4), "dtype": "float16", "dim": 1})

OPERATOR = Operator(
    source="aten",
    name="stack",
    interfaces=(
        Interface(
            "stack",
            shaping.pieces,
            suites(
                paper=(
                    product(**_PUBLISHED, dtype=_DTYPES, dim=(-2, -1, 0, 1), timed=True),
                    product(shape=((1024, 1024),), count=(4,), dtype=FLOATS, dim=(0, 2), origin="extra"),
                    points({"shape": (64, 3), "dtype": "float32", "dim": 0, "count": 130}),
                    _AWKWARD,
                ),
                quick=(pairwise(**_QUICK, dtype=_DTYPES, dim=(-2, -1, 0, 1)), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            shaping.stacking_jitter,
        ),
        Interface(
            "stack.out",
            with_out(shaping.pieces, shaping.stacked),
            suites(
                paper=(product(shape=((1024, 1024),), dim=(0, 1), dtype=FLOATS, origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            shaping.stacking_jitter,
        ),
    ),
    compare=Exact(),
    description="Lays tensors of one shape behind one another along a new dimension `dim` of the answer.",
    notes=(
        "Pieces of several types are converted to their common type (`torch.promote_types` over all).",
        "Pieces may be 0-d or empty; `dim` counts in the answer, so it may be the rank of a piece.",
        "No pieces or shapes that differ are RuntimeErrors; a `dim` out of range is an IndexError.",
        "An `out` of another type takes converted values if `torch.can_cast` allows it, else it is an error.",
    ),
    policy=CONVERTED_INPUTS,
    family="shaping",
)
