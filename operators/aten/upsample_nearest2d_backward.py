"""Gradient of upsampling by nearest neighbours in two dimensions (aten::upsample_nearest2d_backward)."""

from typing import Any

from kgb_gym.operators.aten.families import resampling
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, pairwise, points, product
from kgb_gym.operators.policy import CONVERTED_INPUTS

_PUBLISHED: dict[str, Any] = {
    "batch,inputs,outputs": [
        ((2, 3), (4, 5), (8, 10)),
        ((4, 8), (16, 32), (24, 48)),
        ((1, 32), (64, 128), (128, 256)),
    ],
    "scales": (False, True),
    "dtype": FLOATS,
}
_QUICK: dict[str, Any] = {
    "batch,inputs,outputs": [((2, 3), (4, 5), (8, 10)), ((2, 3), (6, 8), (9, 12)), ((1, 5), (9, 13), (18, 26))],
    "scales": (False, True),
    "dtype": FLOATS,
}

_AWKWARD = points(
    {"batch": (2, 3), "inputs": (5, 3), "outputs": (7, 11), "dtype": "float32"},
    {"batch": (2, 3), "inputs": (5, 7), "outputs": (7, 10), "scales": [1.5, 1.5], "dtype": "float32"},
    {"batch": (2, 3), "inputs": (8, 10), "outputs": (4, 7), "dtype": "float32", "layout": "transposed"},
    {"batch": (3, 2), "inputs": (1, 6), "outputs": (5, 14), "dtype": "bfloat16", "layout": "sliced"},
    {"batch": (3, 5), "inputs": (4, 6), "outputs": (12, 15), "dtype": "float16", "layout": "channels_last"},
    {"batch": (1, 3), "inputs": (3, 2), "outputs": (11, 15), "dtype": "float32", "layout": "dilated"},
    {"batch": (2, 3), "inputs": (5, 7), "outputs": (5, 7), "dtype": "float32"},
    {
        "batch": (2, 2),
        "inputs": (6, 4),
        "outputs": (15, 10),
        "scales": [2.5, 2.5],
        "dtype": "float64",
        "layout": "offset",
    },
    {"batch": (3, 2), "inputs": (4, 3), "outputs": (8, 9), "dtype": "float32", "layout": "expanded"},
    {"batch": (2, 3), "inputs": (5, 4), "outputs": (1, 1), "dtype": "float32"},
    {"batch": (0, 3), "inputs": (4, 5), "outputs": (8, 10), "dtype": "float32"},
    {"batch": (2, 3), "inputs": (4, 5), "outputs": (8, 10), "dtype": "float32", "wrong": "size"},
    {"batch": (2, 3), "inputs": (0, 5), "outputs": (8, 10), "dtype": "float32"},
    {"batch": (2, 3), "inputs": (4, 5), "outputs": (8, 10), "dtype": "int32"},
)
_OUT = points(
    {"batch": (2, 3), "inputs": (7, 9), "outputs": (14, 18), "dtype": "float32"},
    {"batch": (2, 3), "inputs": (4, 9), "outputs": (9, 18), "dtype": "bfloat16", "out": "empty"},
    {
        "batch": (2, 3),
        "inputs": (7, 5),
        "outputs": (14, 15),
        "dtype": "float16",
        "out": "dilated",
        "scales": True,
        "layout": "transposed",
    },
    {"batch": (2, 3), "inputs": (7, 9), "outputs": (14, 18), "dtype": "float32", "out_dtype": "float64"},
)
_SMOKE = points(
    {"batch": (1, 2), "inputs": (3, 4), "outputs": (6, 8), "dtype": "float32"},
    {"batch": (2, 1), "inputs": (4, 3), "outputs": (4, 6), "dtype": "float16", "scales": True},
)

OPERATOR = Operator(
    source="aten",
    name="upsample_nearest2d_backward",
    interfaces=(
        Interface(
            "upsample_nearest2d_backward",
            resampling.nearest_gradient,
            suites(
                paper=(
                    product(**_PUBLISHED, timed=True),
                    product(batch=((16, 128),), inputs=((32, 30),), outputs=((64, 60),), dtype=FLOATS, origin="extra"),
                    _AWKWARD,
                ),
                quick=(pairwise(**_QUICK), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            resampling.nearest_jitter,
        ),
        Interface(
            "upsample_nearest2d_backward.grad_input",
            with_out(resampling.nearest_gradient, resampling.nearest_input, "grad_input"),
            suites(paper=(product(**_PUBLISHED), _OUT), quick=(_OUT,), smoke=(_SMOKE,)),
            resampling.nearest_jitter,
        ),
    ),
    compare=Close(depth=resampling.meeting, scale=resampling.nearest_magnitudes, own=2.0),
    description="The gradient of resizing an image to `output_size` by repeating its nearest elements: every element of "
    "the (N, C, H, W) of `input_size` adds up the elements of `grad_output` that had repeated it.",
    notes=(
        ("In each direction element i of the output repeats element min(floor(i / s), n - 1) of the n of the input, where "
        "s is `scales_h` or `scales_w` if given and positive, else the quotient of the sizes (output / input). They agree "
        "with the sizes, and no case depends on how i / s is rounded."),
        "The output may be smaller than the input; elements that nothing repeats get 0. N may be 0.",
        "16-bit sums may be rounded at every step.",
        "A gradient of other sizes, sizes of 0 and integers are errors, as is a `grad_input` of another type.",
    ),
    policy=CONVERTED_INPUTS,
    family="windows",
)  # fmt: skip
