"""Concatenation along a dimension (aten::cat)."""

from typing import Any

from kgb_gym.operators.aten.families import shaping
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, pairwise, points, product
from kgb_gym.operators.policy import CONVERTED_INPUTS

_HOLLOW: dict[str, Any] = {"shape,sizes": [((2, 3), (0, 2)), ((2, 3), (0, 0)), ((2,), (0, 0))]}

_AWKWARD = points(
    {"shape": (5, 6), "dtype": "float32", "dim": 1, "count": 1},
    {"shape": (3, 5), "dtype": "float32", "dim": 0, "sizes": [3, 0, 4]},
    {"shape": (3, 5), "dtype": "float32", "dim": 1, "legacy": True},
    {"shape": (3, 1), "dtype": "float32", "dim": -1, "count": 36},
    {"shape": (7, 33), "dtype": "float32", "dim": 0, "layout": "transposed"},
    {"shape": (4, 5, 9), "dtype": "bfloat16", "dim": 1, "sizes": [2, 6], "layout": "sliced"},
    {"shape": (3, 4, 5, 7), "dtype": "float16", "dim": -2, "sizes": [1, 2, 3], "layout": "dilated"},
    {"shape": (2, 3, 4, 3, 2), "dtype": "float64", "dim": 2, "layout": "transposed"},
    {"shape": (4, 1300), "dtype": "float32", "dim": 1, "sizes": [1100, 9], "layout": "expanded"},
    {"shape": (300, 3), "dtype": "float32", "dim": 1, "sizes": [3, 4], "layout": "offset"},
    {"shape": (6, 7), "dtype": "float16", "dim": 0, "other_dtype": "int32"},
    {"shape": (6, 7), "dtype": "int8", "dim": 1, "other_dtype": "int64"},
    {"shape": (6, 7), "dtype": "bool", "dim": 0},
    {"shape": (), "dtype": "float32", "dim": 0},
    {"shape": (3, 4), "dtype": "float32", "dim": 0, "wrong": "none"},
    {"shape": (3, 4), "dtype": "float32", "dim": 0, "wrong": "size"},
    {"shape": (3, 4), "dtype": "float32", "dim": 0, "wrong": "rank"},
    {"shape": (3, 4), "dtype": "float32", "dim": 2},
)
_OUT = points(
    {"shape": (13, 31), "dtype": "float32", "dim": 0},
    {"shape": (7, 33), "dtype": "bfloat16", "dim": 1, "sizes": [5, 40], "out": "empty", "layout": "transposed"},
    {"shape": (5, 3, 11), "dtype": "float16", "dim": 1, "sizes": [2, 4], "out": "dilated"},
    {"shape": (9, 5), "dtype": "float32", "dim": 0, "out_dtype": "float64", "out": "transposed"},
    {"shape": (9, 5), "dtype": "float32", "dim": 0, "out_dtype": "int64"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32", "dim": 0}, {"shape": (5, 4), "dtype": "float16", "dim": 1})

OPERATOR = Operator(
    source="aten",
    name="cat",
    interfaces=(
        Interface(
            "cat",
            shaping.pieces,
            suites(
                paper=(
                    product(**_HOLLOW, dim=(0,), dtype=FLOATS[1:2], timed=True),
                    product(shape=((1024, 1024),), count=(2,), dim=(0, -1), dtype=FLOATS, timed=True),
                    product(shape=((20, 320, 15),), sizes=([20, 20, 20], [1, 7, 30]), dim=(0, 1, 2), dtype=FLOATS,
                            timed=True),
                    product(shape=((16, 128, 64, 60),), count=(2,), dim=(1,), dtype=FLOATS, timed=True),
                    points({"shape": (64, 3), "dtype": "float32", "dim": 0, "count": 130}),
                    _AWKWARD,
                ),
                quick=(
                    product(shape=((2, 3),), sizes=([0, 2],), dim=(0,), dtype=("float32",)),
                    pairwise(shape=((16, 40), (5, 32, 7)), sizes=([9, 9, 9], [1, 7, 30]), dim=(0, 1, -1), dtype=FLOATS),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            shaping.pieces_jitter,
        ),
        Interface(
            "cat.out",
            with_out(shaping.pieces, shaping.joined),
            suites(
                paper=(product(shape=((1024, 1024),), dim=(0, 1), dtype=FLOATS, origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            shaping.pieces_jitter,
        ),
    ),
    compare=Exact(),
    description="Lays tensors behind one another along `dim`. Their other sizes agree.",
    notes=(
        "Pieces of several types are converted to their common type (`torch.promote_types` over all).",
        "A piece may have size 0 there. A vector without elements may stand among pieces of any rank, and is skipped.",
        "No pieces, 0-d pieces, ranks or sizes that differ are errors; a `dim` out of range is an IndexError.",
        "An `out` of another type takes converted values if `torch.can_cast` allows it, else it is an error.",
    ),
    left_out=(
        ("cat.names", "PyTorch dropped named-dimension overloads"),
        ("cat.names_out", "PyTorch dropped named-dimension overloads"),
    ),
    policy=CONVERTED_INPUTS,
    family="shaping",
)  # fmt: skip
