"""Rotation by quarter turns in the plane of two dimensions (aten::rot90)."""

from typing import Any

from kgb_gym.operators.aten.families import shaping
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, Grid, pairwise, points, product
from kgb_gym.operators.policy import CONVERTED_INPUTS

_FLAT = ((2, 3), (128, 256), (512, 512))
_DEEP = ((4, 5, 6), (32, 64, 16), (128, 32, 64))
_PLANES = ([0, 1], [0, 2], [1, 2])


def _published(timed: bool) -> tuple[Grid, Grid]:
    every: dict[str, Any] = {"dtype": FLOATS, "timed": timed}
    return (
        product(shape=_FLAT, k=(0, 1, 2, 3, -1), dims=([0, 1],), **every),
        product(shape=_DEEP, k=(0, 1, 2, 3), dims=_PLANES, **every),
    )


_AWKWARD = points(
    {"shape": (3, 0, 4), "dtype": "float32", "k": 1, "dims": [0, 1]},
    {"shape": (1, 9), "dtype": "float32", "k": 2, "dims": [0, 1]},
    {"shape": (5, 9), "dtype": "float32", "k": 7, "dims": [1, 0]},
    {"shape": (40, 61), "dtype": "float32", "k": -6, "dims": [-1, -2], "layout": "transposed"},
    {"shape": (37, 45), "dtype": "bfloat16", "k": 5, "dims": [0, 1], "layout": "dilated"},
    {"shape": (3, 5, 2, 7), "dtype": "float16", "k": 1, "dims": [3, 1], "layout": "sliced"},
    {"shape": (2, 3, 4, 3, 2), "dtype": "float64", "k": 3, "dims": [0, -2], "layout": "offset"},
    {"shape": (6, 5), "dtype": "float32", "k": 4, "dims": [0, 1], "layout": "transposed"},
    {"shape": (6, 50), "dtype": "float32", "k": 1, "dims": [0, 1], "layout": "expanded"},
    {"shape": (4, 9), "dtype": "int32", "k": 1, "dims": [0, 1]},
    {"shape": (7, 9), "dtype": "bool", "k": 2, "dims": [0, 1]},
    {"shape": (4, 5), "dtype": "float32", "k": 1, "dims": [0, 0]},
    {"shape": (4, 5), "dtype": "float32", "k": 1, "dims": [0, 2]},
    {"shape": (4, 5), "dtype": "float32", "k": 1, "dims": [0]},
    {"shape": (4,), "dtype": "float32", "k": 1, "dims": [0, 1]},
)
_OUT = points(
    {"shape": (13, 31), "dtype": "float32", "k": 1, "dims": [0, 1]},
    {"shape": (7, 33), "dtype": "bfloat16", "k": 2, "dims": [0, 1], "out": "empty", "layout": "transposed"},
    {"shape": (5, 3, 11), "dtype": "float16", "k": 3, "dims": [2, 0], "out": "dilated"},
    {"shape": (9, 5), "dtype": "float32", "k": 1, "dims": [0, 1], "out_dtype": "float64"},
)
_SMOKE = points(
    {"shape": (3, 17), "dtype": "float32", "k": 1, "dims": [0, 1]},
    {"shape": (5, 4), "dtype": "float16", "k": 2, "dims": [0, 1]},
)

OPERATOR = Operator(
    source="aten",
    name="rot90",
    interfaces=(
        Interface(
            "rot90",
            shaping.rotation,
            suites(
                paper=(*_published(True), _AWKWARD),
                quick=(
                    pairwise(shape=((2, 3), (16, 26), (33, 33)), k=(0, 1, 2, 3, -1), dtype=FLOATS, dims=([0, 1],)),
                    points({"shape": (4, 5, 6), "dtype": "float32", "k": 3, "dims": [1, 2]}),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            shaping.rotation_jitter,
        ),
        Interface(
            "rot90.out",
            with_out(shaping.rotation, shaping.rotated),
            suites(paper=(*_published(False), _OUT), quick=(_OUT,), smoke=(_SMOKE,)),
            shaping.rotation_jitter,
        ),
    ),
    compare=Exact(),
    description="Turns the plane of the two dimensions `dims` by `k` quarter turns, from the first towards the second.",
    notes=(
        "`k` may be negative or larger than 3. A whole turn gives a copy, never an alias.",
        "`dims` may be negative and in either order; two equal ones, or not exactly two, are RuntimeErrors.",
        "Fewer than two dimensions, and an `out` of another type, are RuntimeErrors; one out of range is an IndexError.",
    ),
    policy=CONVERTED_INPUTS,
    family="shaping",
)
