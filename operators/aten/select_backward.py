"""Gradient of a selection: zeros but for one slice (aten::select_backward)."""

from typing import Any

from kgb_gym.operators.aten.families import shaping
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, pairwise, points, product
from kgb_gym.operators.policy import CONVERTED_INPUTS

_AXES: dict[str, Any] = {"index": ("first", "mid", "neg1"), "dim": (0, -1), "dtype": FLOATS}
_PUBLISHED: dict[str, Any] = {"input_sizes": ((2, 3), (128, 256), (512, 512)), **_AXES}

_AWKWARD = points(
    {"input_sizes": (9,), "dtype": "float32", "dim": 0, "index": 4},
    {"input_sizes": (1, 5), "dtype": "float32", "dim": 0, "index": 0},
    {"input_sizes": (4, 0, 3), "dtype": "float32", "dim": 0, "index": 1},
    {"input_sizes": (5, 33, 7), "dtype": "float32", "dim": 1, "index": -33, "layout": "transposed"},
    {"input_sizes": (6, 5, 9), "dtype": "bfloat16", "dim": -3, "index": 2, "layout": "sliced"},
    {"input_sizes": (3, 4, 5, 7), "dtype": "float16", "dim": 2, "index": 4, "layout": "dilated"},
    {"input_sizes": (3, 4, 5, 2, 7), "dtype": "float64", "dim": 1, "index": 2, "layout": "transposed"},
    {"input_sizes": (300, 3, 9), "dtype": "float64", "dim": 1, "index": 1, "layout": "offset"},
    {"input_sizes": (3, 1300), "dtype": "float32", "dim": 0, "index": 2},
    {"input_sizes": (6, 5, 9), "dtype": "float32", "dim": 2, "index": 0, "layout": "expanded"},
    {"input_sizes": (4, 59), "dtype": "int32", "dim": 0, "index": 3},
    {"input_sizes": (5, 21), "dtype": "bool", "dim": 0, "index": 3},
    {"input_sizes": (4, 5), "dtype": "float32", "dim": 0, "index": 4, "origin": "beyond"},
    {"input_sizes": (4, 5), "dtype": "float32", "dim": 2, "index": 0, "origin": "beyond"},
    {"input_sizes": (), "dtype": "float32", "dim": 0, "index": 0, "origin": "beyond"},
)
_OUT = points(
    {"input_sizes": (13, 31), "dtype": "float32", "dim": 0, "index": "mid"},
    {"input_sizes": (7, 33), "dtype": "bfloat16", "dim": 1, "index": "neg1", "out": "empty"},
    {"input_sizes": (5, 3, 11), "dtype": "float16", "dim": 1, "index": 1, "out": "dilated", "layout": "transposed"},
    {"input_sizes": (9, 5), "dtype": "float32", "dim": 0, "index": 0, "out_dtype": "float64", "origin": "beyond"},
)
_SMOKE = points(
    {"input_sizes": (3, 17), "dtype": "float32", "dim": 0, "index": 1},
    {"input_sizes": (5, 4), "dtype": "float16", "dim": 1, "index": -1},
)

OPERATOR = Operator(
    source="aten",
    name="select_backward",
    interfaces=(
        Interface(
            "select_backward",
            shaping.selected_gradient,
            suites(
                paper=(
                    product(**_PUBLISHED, timed=True),
                    product(
                        input_sizes=((64, 128, 1024),), dim=(0, 1, 2), index=("mid",), dtype=FLOATS, origin="extra"
                    ),
                    _AWKWARD,
                ),
                quick=(pairwise(input_sizes=((2, 3), (16, 26), (33, 33)), **_AXES), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            shaping.gradient_jitter,
        ),
        Interface(
            "select_backward.out",
            with_out(shaping.selected_gradient, shaping.unselected),
            suites(paper=(product(**_PUBLISHED), _OUT), quick=(_OUT,), smoke=(_SMOKE,)),
            shaping.gradient_jitter,
        ),
    ),
    compare=Exact(),
    description="The gradient of `x.select(dim, index)`: of shape `input_sizes`, zero everywhere but in that slice, which "
    "is `grad_output`.",
    notes=(
        "`dim` and `index` may be negative; out of range they are IndexErrors, as is a 0-d `input_sizes`.",
        "An `out` of another type is a RuntimeError.",
    ),
    policy=CONVERTED_INPUTS,
    usual=REAL,
    family="shaping",
)
