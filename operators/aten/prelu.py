"""Leaky ReLU with learnt slopes (aten::prelu)."""

from collections.abc import Sequence

import torch

from kgb_gym.operators.aten.families.common import jitter, suites, values
from kgb_gym.operators.aten.families.unary import QUICK_SHAPES, TABLE_10
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, POINTWISE, pairwise, points, product
from kgb_gym.operators.maker import Maker

_PUBLISHED = ((2, 3), (128, 256), (512, 512), (4, 8, 16), (2, 32, 16, 16), (2, 128, 64, 64))


def build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    weight: str,
    layout: str = "contiguous",
    weight_layout: str = "contiguous",
    kind: str = "normal",
    weight_dtype: torch.dtype | None = None,
) -> Call:
    """`f(self, weight)` with slopes `one`, `none` (without dimensions), `channels`, `wrong` (one too many) or `matrix`.

    Layout `channels_last`: of four dimensions the second is the innermost in memory.
    """
    if layout == "channels_last":
        x = values(make, (shape[0], *shape[2:], shape[1]), dtype, kind).permute(0, 3, 1, 2)
    else:
        x = values(make, shape, dtype, kind, layout)
    channels = shape[1] if len(shape) > 1 else 1
    sizes = {"one": (1,), "none": (), "channels": (channels,), "wrong": (channels + 1,), "matrix": (channels, 1)}
    return make.call(x, values(make, sizes[weight], weight_dtype or dtype, layout=weight_layout))


_AWKWARD = points(
    {"shape": (), "dtype": "float32", "weight": "none"},
    {"shape": (17,), "dtype": "float32", "weight": "one"},
    {"shape": (17,), "dtype": "float32", "weight": "wrong", "origin": "beyond"},
    {"shape": (0, 3), "dtype": "float32", "weight": "channels"},
    {"shape": (3, 17), "dtype": "float16", "layout": "expanded", "weight": "channels"},
    {"shape": (9, 7, 5), "dtype": "bfloat16", "layout": "sliced", "weight": "channels"},
    {"shape": (5, 67), "dtype": "float64", "layout": "offset", "weight": "channels", "weight_layout": "dilated"},
    {"shape": (2, 5, 7, 6), "dtype": "float32", "layout": "channels_last", "weight": "channels"},
    {"shape": (4, 5, 6), "dtype": "float32", "layout": "transposed", "weight": "channels"},
    {"shape": (6, 11), "dtype": "float32", "layout": "transposed", "weight": "channels"},
    {"shape": (211,), "dtype": "float32", "kind": "special", "weight": "none"},
    {"shape": (4, 5), "dtype": "float32", "weight": "wrong", "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "weight": "matrix", "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "weight": "channels", "weight_dtype": "float16", "origin": "beyond"},
)
_SMOKE = points(
    {"shape": (3, 5), "dtype": "float32", "weight": "channels"}, {"shape": (17,), "dtype": "float16", "weight": "one"}
)

OPERATOR = Operator(
    source="aten",
    name="prelu",
    interfaces=(
        Interface(
            "prelu",
            build,
            suites(
                paper=(
                    product(
                        shape=(*POINTWISE, *_PUBLISHED), dtype=FLOATS, weight=("one", "channels"), timed=True
                    ).where(lambda p: p["shape"] != []),
                    points(
                        *(
                            {"shape": p["shape"], "dtype": d, "layout": layout, "weight": "channels"}
                            for p in TABLE_10[1:3]
                            for d, layout in zip(FLOATS, ("transposed", "dilated", "sliced"), strict=True)
                        )
                    ),
                    _AWKWARD,
                ),
                quick=(
                    pairwise(
                        shape=QUICK_SHAPES[1:],
                        dtype=FLOATS,
                        weight=("one", "channels"),
                        layout=("contiguous", "transposed", "dilated"),
                    ),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            jitter,
        ),
    ),
    compare=Close(slack=4.0),
    description="x where x is positive, elsewhere the slope times x. There is one slope, or one for each channel: for each "
    "index of the second dimension.",
    notes=(
        "A tensor of one dimension has one channel; a tensor of none takes a single slope.",
        "`weight` has at most one dimension and as many elements as there are channels, or one; else RuntimeError.",
        "`self` and `weight` must have one type (RuntimeError). NaN stays NaN.",
        "16-bit tensors are computed in fp32 and rounded once.",
    ),
    usual=FLOATING,
    family="unary",
)
