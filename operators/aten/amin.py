"""Smallest elements over all or some dimensions (aten::amin)."""

from typing import Any

from kgb_gym.operators.aten.families import reduction
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, REDUCTION, WHOLE, pairwise, points, product

_FLAT = ((2, 3), (128, 256), (512, 320))
_DEEP = ((2, 3, 4), (16, 17, 8), (32, 64, 128))
_FLAT_DIMS: tuple[Any, ...] = ([], 0, 1, -1, [0, 1])
_DEEP_DIMS: tuple[Any, ...] = ([], 0, 1, 2, -1, [0, 2], [1, 2], [0, 1, 2])
_PAPER = (
    product(shape=_FLAT, dtype=FLOATS, dim=_FLAT_DIMS, keepdim=(False, True), timed=True),
    product(shape=_DEEP, dtype=FLOATS, dim=_DEEP_DIMS, keepdim=(False, True), timed=True),
)
_QUICK: dict[str, Any] = {"shape": ((2, 3), (190, 25), (5, 17, 3)), "dtype": FLOATS, "keepdim": (False, True)}

_AWKWARD = points(
    {"shape": (), "dtype": "float32"},
    {"shape": (), "dtype": "int64", "dim": 0},
    {"shape": (7, 3), "dtype": "float16"},
    {"shape": (5, 0, 3), "dtype": "float32", "dim": [0]},
    {"shape": (5, 0, 3), "dtype": "float32", "dim": [1], "origin": "beyond"},
    {"shape": (0, 3), "dtype": "float32", "origin": "beyond"},
    {"shape": (4, 9, 5, 3), "dtype": "float32", "dim": [-1, 1], "layout": "transposed"},
    {"shape": (9, 31), "dtype": "int8", "dim": [0], "layout": "sliced"},
    {"shape": (9, 31), "dtype": "uint8", "dim": [1], "layout": "dilated"},
    {"shape": (8, 23), "dtype": "float32", "dim": [1], "kind": "special"},
    {"shape": (33, 8), "dtype": "bfloat16", "dim": [0], "kind": "special"},
    {"shape": (5, 3), "dtype": "bool", "dim": [0]},
    {"shape": (6, 35), "dtype": "int64", "dim": [1], "layout": "offset"},
    {"shape": (3, 6001), "dtype": "float64", "dim": [1], "kind": "positive"},
    {"shape": (6001, 3), "dtype": "float32", "dim": [0], "kind": "positive"},
    {"shape": (40, 1, 60), "dtype": "int32", "keepdim": True, "dim": [0, 1]},
    {"shape": (4, 5), "dtype": "float32", "dim": [1, 1], "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "dim": [2], "origin": "beyond"},
)
_OUT = points(
    {"shape": (23, 17), "dtype": "float32", "dim": [0]},
    {"shape": (4, 9, 5), "dtype": "float16", "dim": [1], "keepdim": True, "out": "empty"},
    {"shape": (6, 5, 7), "dtype": "bfloat16", "dim": [0], "out": "dilated"},
    {"shape": (11, 13), "dtype": "float32", "dim": [1], "out_dtype": "float64", "origin": "beyond"},
    {"shape": (11, 13), "dtype": "int32", "out_dtype": "int32"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32", "dim": [1]}, {"shape": (9, 4), "dtype": "float16", "dim": [0]})

OPERATOR = Operator(
    source="aten",
    name="amin",
    interfaces=(
        Interface(
            "amin",
            reduction.maybe_over,
            suites(
                paper=(
                    *_PAPER,
                    product(shape=REDUCTION[2:], dtype=FLOATS, dim=([], [1], [2]), origin="extra"),
                    _AWKWARD,
                ),
                quick=(pairwise(**_QUICK, dim=([], 0, 1, [0, 1])), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
        Interface(
            "amin.out",
            reduction.with_out,
            suites(
                paper=(
                    product(shape=_FLAT, dtype=FLOATS, dim=_FLAT_DIMS, keepdim=(False, True)),
                    product(shape=_DEEP, dtype=FLOATS, dim=_DEEP_DIMS, keepdim=(False, True)),
                    _OUT,
                ),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
    ),
    compare=Exact(),
    description="The smallest element over the dimensions in `dim` (an empty list: all), in the type of `self`.",
    notes=(
        "A NaN among the elements makes the answer NaN. Integers and bools are taken as well.",
        "A dimension of size 0 among the reduced ones is an IndexError; a tensor without elements and `dim` an error.",
        "`out` must have the type of `self`.",
    ),
    usual=FLOATING | WHOLE,
    family="reduction",
)
