"""Sliding windows as columns (aten::im2col)."""

from typing import Any

from kgb_gym.operators.aten.families import resampling
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, pairwise, points, product
from kgb_gym.operators.policy import CONVERTED_INPUTS

_WINDOWS: dict[str, Any] = {
    "kernel,dilation,padding,stride": [
        ((3, 3), (1, 1), (1, 1), (1, 1)),
        ((3, 3), (1, 1), (0, 0), (2, 2)),
        ((5, 4), (2, 2), (2, 1), (1, 2)),
        ((1, 1), (1, 1), (0, 0), (1, 1)),
    ]
}
_PUBLISHED: dict[str, Any] = {"shape": ((3, 8, 8), (16, 64, 64), (32, 128, 128)), **_WINDOWS}

_AWKWARD = points(
    {"shape": (2, 3, 9, 11), "dtype": "float32", "kernel": (2, 3), "stride": (1, 2), "padding": (0, 1)},
    {"shape": (3, 2, 10, 12), "dtype": "bfloat16", "kernel": (3, 1), "dilation": (2, 3), "layout": "transposed"},
    {"shape": (2, 2, 7, 9), "dtype": "float16", "kernel": (2, 2), "padding": (3, 4), "layout": "dilated"},
    {
        "shape": (2, 5, 6, 8),
        "dtype": "float64",
        "kernel": (3, 2),
        "dilation": (1, 2),
        "stride": (3, 1),
        "layout": "sliced",
    },
    {"shape": (4, 5, 7), "dtype": "float32", "kernel": (5, 7)},
    {"shape": (0, 3, 5, 7), "dtype": "float32", "kernel": (2, 2)},
    {"shape": (4, 40, 41), "dtype": "float32", "kernel": (2, 3), "padding": (1, 0), "layout": "offset"},
    {"shape": (3, 4, 6, 7), "dtype": "float32", "kernel": (2, 2), "layout": "expanded"},
    {"shape": (2, 3, 9, 8), "dtype": "bool", "kernel": (2, 3), "padding": (1, 1)},
    {"shape": (2, 5, 6), "dtype": "float32", "kernel": (6, 3)},
    {"shape": (2, 5, 6), "dtype": "float32", "kernel": (0, 3)},
    {"shape": (2, 5, 6), "dtype": "float32", "kernel": (2, 3), "stride": (1, 0)},
    {"shape": (5, 6), "dtype": "float32", "kernel": (2, 3)},
)
_OUT = points(
    {"shape": (3, 9, 11), "dtype": "float32", "kernel": (2, 3), "padding": (1, 0)},
    {"shape": (2, 3, 7, 8), "dtype": "bfloat16", "kernel": (3, 3), "padding": (1, 1), "out": "empty"},
    {
        "shape": (2, 2, 7, 8),
        "dtype": "float16",
        "kernel": (2, 2),
        "stride": (2, 1),
        "out": "offset",
        "layout": "transposed",
    },
    {"shape": (3, 9, 11), "dtype": "float32", "kernel": (2, 3), "out_dtype": "float64"},
)
_SMOKE = points(
    {"shape": (2, 5, 7), "dtype": "float32", "kernel": (2, 2)},
    {"shape": (2, 3, 4, 5), "dtype": "float16", "kernel": (3, 2), "padding": (1, 0)},
)

OPERATOR = Operator(
    source="aten",
    name="im2col",
    interfaces=(
        Interface(
            "im2col",
            resampling.columns,
            suites(
                paper=(
                    product(**_PUBLISHED, dtype=FLOATS, timed=True),
                    product(shape=((8, 16, 64, 64),), kernel=((3, 3),), padding=((1, 1),), dtype=FLOATS, origin="extra"),
                    _AWKWARD,
                ),
                quick=(pairwise(shape=((3, 8, 8), (4, 16, 11)), **_WINDOWS, dtype=FLOATS), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            resampling.columns_jitter,
        ),
        Interface(
            "im2col.out",
            with_out(resampling.columns, resampling.window_shape),
            suites(paper=(product(**_PUBLISHED, dtype=FLOATS), _OUT), quick=(_OUT,), smoke=(_SMOKE,)),
            resampling.columns_jitter,
        ),
    ),
    compare=Exact(),
    description="Every window of a batch of images as a column: (N, C, H, W) becomes (N, C·kh·kw, L), where L counts the "
    "windows in row-major order and the rows go through channels, then the window's rows and columns. Outside the image, "
    "in the padding, are zeros.",
    notes=(
        "The image may come without N, and so does the answer then; N may be 0. An `out` is contiguous or to be resized.",
        "All four pairs are (height, width); a window has its elements `dilation` apart and moves by `stride`.",
        ("Kernels, strides and dilations below 1, no window at all, and another rank are errors, as is an `out` of another "
        "type."),
    ),
    policy=CONVERTED_INPUTS,
    family="windows",
)  # fmt: skip
