"""Gradient of a padding by reflection in one dimension (aten::reflection_pad1d_backward)."""

from typing import Any

from kgb_gym.operators.aten.families import resampling
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, pairwise, points, product
from kgb_gym.operators.policy import CONVERTED_INPUTS

_PADDINGS = ([1, 1], [2, 3], [5, 5])
_PUBLISHED: dict[str, Any] = {"shape": ((2, 3, 8), (4, 16, 64), (32, 64, 512)), "padding": _PADDINGS, "dtype": FLOATS}

_AWKWARD = points(
    {"shape": (3, 9), "dtype": "float32", "padding": [2, 3]},
    {"shape": (2, 3, 9), "dtype": "float32", "padding": [8, 8]},
    {"shape": (2, 3, 9), "dtype": "bfloat16", "padding": [0, 5], "layout": "transposed"},
    {"shape": (2, 4, 7), "dtype": "float16", "padding": [6, 0], "layout": "dilated"},
    {"shape": (5, 21), "dtype": "float64", "padding": [20, 11], "layout": "sliced"},
    {"shape": (2, 1, 1500), "dtype": "float32", "padding": [700, 3], "layout": "offset"},
    {"shape": (4, 3, 6), "dtype": "float32", "padding": [2, 1], "layout": "expanded"},
    {"shape": (2, 3, 5), "dtype": "float32", "padding": [0, 0]},
    {"shape": (0, 3, 9), "dtype": "float32", "padding": [2, 3]},
    {"shape": (2, 3, 8), "dtype": "float32", "padding": [8, 1]},
    {"shape": (2, 3, 8), "dtype": "float32", "padding": [1, 1], "wrong": "width"},
    {"shape": (2, 3, 8), "dtype": "int32", "padding": [1, 1]},
)
_OUT = points(
    {"shape": (3, 5, 31), "dtype": "float32", "padding": [3, 4]},
    {"shape": (7, 33), "dtype": "bfloat16", "padding": [9, 4], "out": "empty", "layout": "transposed"},
    {"shape": (5, 3, 11), "dtype": "float16", "padding": [3, 10], "out": "dilated"},
    {"shape": (3, 5, 31), "dtype": "float32", "padding": [3, 4], "out_dtype": "float64"},
)
_SMOKE = points(
    {"shape": (3, 17), "dtype": "float32", "padding": [2, 1]},
    {"shape": (2, 3, 5), "dtype": "float16", "padding": [1, 3]},
)

OPERATOR = Operator(
    source="aten",
    name="reflection_pad1d_backward",
    interfaces=(
        Interface(
            "reflection_pad1d_backward",
            resampling.reflected_gradient,
            suites(
                paper=(product(**_PUBLISHED, timed=True), _AWKWARD),
                quick=(
                    pairwise(shape=((2, 3, 8), (3, 4, 16), (2, 4, 33)), padding=_PADDINGS, dtype=FLOATS),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            resampling.reflected_jitter,
        ),
        Interface(
            "reflection_pad1d_backward.grad_input",
            with_out(resampling.reflected_gradient, resampling.unpadded, "grad_input"),
            suites(paper=(product(**_PUBLISHED), _OUT), quick=(_OUT,), smoke=(_SMOKE,)),
            resampling.reflected_jitter,
        ),
    ),
    compare=Close(depth=lambda arguments: 3, scale=resampling.reflected_magnitudes, own=2.0),
    description="The gradient of padding the last dimension by reflection: every element of `self` collects the gradient "
    "at its own place and at those of its mirror images, left and right, which leave out the edge itself.",
    notes=(
        "Of `self` only the shape counts: (N, C, W) or (C, W); N may be 0. One element may have two images.",
        (
            "Padding is smaller than W, else RuntimeError; so are a gradient of another width, integers, and a `grad_input` of "
            "another type."
        ),
        "16-bit sums may be rounded at every step.",
    ),
    policy=CONVERTED_INPUTS,
    family="windows",
)
