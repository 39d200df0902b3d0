"""Filling where a mask says so, in place (aten::masked_fill_)."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import LAYOUTS, suites, values
from kgb_gym.operators.aten.families.common import jitter as jitter_one
from kgb_gym.operators.aten.families.unary import QUICK_SHAPES, TABLE_10
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import FLOATS, POINTWISE, Params, pairwise, points, product
from kgb_gym.operators.maker import Maker, lay


def build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    threshold: float = 0.5,
    value: float | str = 1024,
    value_dtype: torch.dtype | None = None,
    value_shape: Sequence[int] = (),
    mask: Sequence[int] | None = None,
    mask_dtype: torch.dtype = torch.bool,
    layout: str = "contiguous",
    mask_layout: str = "contiguous",
) -> Call:
    """`f(self, mask, value)`: the mask is true with probability 1 - `threshold`; a `value_dtype` makes `value` a tensor."""
    number = float(value) if isinstance(value, str) else value
    chance = make.uniform(shape if mask is None else mask, torch.float32)
    where = lay((chance > threshold).to(mask_dtype), mask_layout)
    filling = (
        number if value_dtype is None else torch.full(tuple(value_shape), number, dtype=torch.float64).to(value_dtype)
    )
    return make.call(values(make, shape, dtype, layout=layout), where, filling)


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: another shape, a mask of all its dimensions, and layouts drawn anew."""
    new = {**jitter_one(rng, params), "mask_layout": rng.choice(LAYOUTS)}
    new.pop("mask", None)
    return new


def interface(
    name: str, further: Sequence[Params], *, brief: bool = False, reads: tuple[str, ...] = (), **value: Any
) -> Interface:
    """One overload; `value` are its published values. `brief`: less in `quick`, as the other overload has it."""
    base = {k: v[0] for k, v in value.items()}
    awkward = points(
        {"shape": (0, 3), "dtype": "float32", **base},
        {"shape": (9, 31), "dtype": "bfloat16", "layout": "sliced", "mask": (31,), **base},
        {"shape": (5, 6, 7), "dtype": "float32", "layout": "transposed", "mask": (6, 1), **base},
        {"shape": (23, 19), "dtype": "float16", "layout": "dilated", "mask_layout": "transposed", **base},
        {"shape": (8, 12), "dtype": "float32", "mask_layout": "expanded", **base},
        {"shape": (5, 21), "dtype": "float64", "layout": "offset", "mask": (21,), **base, "value": math.pi},
        {"shape": (45,), "dtype": "float32", **base, "value": "nan"},
        {"shape": (3,), "dtype": "float32", "mask": (2, 3), **base},
        {"shape": (7,), "dtype": "float32", "mask_dtype": "uint8", **base},
        *further,
    )
    short = awkward.where(lambda p: p["shape"] in ([5, 6, 7], [23, 19], [45], [3]) or p in points(*further).points)
    smoke = points({"shape": (17,), "dtype": "float32", **base}, {"shape": (3, 5), "dtype": "float16", **base})
    strided = points(*(
        {"shape": p["shape"], "dtype": d, "layout": layout, **base}
        for p in TABLE_10[:3]
        for d, layout in zip(FLOATS, ("transposed", "dilated", "sliced"), strict=True)
    ))  # fmt: skip
    return Interface(
        name,
        build,
        suites(
            paper=(
                product(shape=POINTWISE, dtype=FLOATS, threshold=(0.3, 0.5, 0.7), **value, timed=True),
                strided,
                awkward,
            ),
            quick=(
                pairwise(shape=QUICK_SHAPES[4 if brief else 2 :], dtype=FLOATS, **value),
                short if brief else awkward,
            ),
            smoke=(smoke,),
        ),
        jitter,
        reads=reads,
    )


_SCALAR: tuple[Params, ...] = (
    {"shape": (4, 5), "dtype": "float32", "mask": (), "threshold": -1.0},
    {"shape": (39,), "dtype": "int32", "value": 2.75},
    {"shape": (57,), "dtype": "float32", "value": 0.1},
    {"shape": (33,), "dtype": "bool", "value": 0},
)
_TENSOR: tuple[Params, ...] = (
    {"shape": (39,), "dtype": "int64", "value": -7, "value_dtype": "int32"},
    {"shape": (39,), "dtype": "int32", "value": 2.75, "value_dtype": "float32"},
    {"shape": (57,), "dtype": "float32", "value": 0.1, "value_dtype": "float32"},
    {"shape": (57,), "dtype": "float64", "value": math.pi, "value_dtype": "float64"},
    {"shape": (7,), "dtype": "float32", "value_dtype": "float32", "value_shape": (1,)},
)

OPERATOR = Operator(
    source="aten",
    name="masked_fill_",
    interfaces=(
        interface("masked_fill_.Scalar", _SCALAR, value=(1024,)),
        interface(
            "masked_fill_.Tensor",
            _TENSOR,
            brief=True,
            reads=("value",),
            value=(1024,),
            value_dtype=("int64", "float32"),
        ),
    ),
    compare=Exact(),
    description="Sets the elements of `self` where the mask is true to one value, in place, and returns `self` itself.",
    notes=(
        "The mask is broadcast to `self`, which may not grow, and must be a bool tensor (RuntimeError).",
        "The value takes the type of `self`: towards zero for integers. NaN is a value.",
        "A value that is a tensor has no dimensions (RuntimeError otherwise) and any type.",
    ),
    family="indexing",
)
