"""Operators that read one element back: builders and grids."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.declaration import Call, Interface
from kgb_gym.operators.grids import Params, points, product
from kgb_gym.operators.maker import Maker

FURTHER: tuple[Params, ...] = (
    *({"dtype": d} for d in ("bool", "uint8", "int8", "float64", "complex64", "complex128")),
    {"dtype": "float32", "shape": (1,)},
    {"dtype": "float16", "shape": (1, 1, 1)},
    {"dtype": "int64", "value": 2**60 + 1},
    {"dtype": "int64", "value": -(2**53) - 1, "shape": (1,)},
    {"dtype": "float64", "value": 0.1},
    {"dtype": "float32", "value": 1e-40},
    {"dtype": "float32", "inside": 9},
    {"dtype": "bfloat16", "inside": 30, "shape": (1,)},
    {"dtype": "int32", "inside": 7},
    {"dtype": "bool", "inside": 8, "shape": (1, 1)},
)
"""Every type, integers and doubles that fp32 cannot hold, one element out of a larger tensor."""

NOTES = (
    "A bool gives a Python bool, integers an int, floating point a float, complex numbers a complex. The number is exact.",
    "The tensor may be an element of a larger one, with a storage offset.",
    (
        "Values may be read back here: the answer is a Python number, and no kernel is needed. What reads a value through the "
        "operator itself, as `Tensor.item()` does, would come back to the submission."
    ),
)


def build(
    make: Maker, *, dtype: torch.dtype, shape: Sequence[int] = (), value: float | None = None, inside: int = 0
) -> Call:
    """`f(self)` with one element; `inside`: the third last of so many."""
    if value is not None:
        return make.call(make.full(shape, value, dtype))
    if inside:
        return make.call(make.any((inside,), dtype)[inside - 3 : inside - 2].view(tuple(shape)))
    return make.call(make.any(shape, dtype))


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """An element at another place of a larger tensor."""
    new = {k: v for k, v in params.items() if k != "value"}
    return {**new, "shape": [1] * rng.randint(0, 2), "inside": rng.randint(4, 400)}


def interface(name: str, dtypes: Sequence[str], further: Sequence[Params] = ()) -> Interface:
    """The interface with its grids."""
    return Interface(
        name,
        build,
        suites(
            paper=(product(dtype=dtypes, shape=((),), timed=True), points(*FURTHER, *further)),
            quick=(product(dtype=dtypes, shape=((),)), points(*FURTHER, *further)),
            smoke=(points({"dtype": "float32", "inside": 5}, {"dtype": "int64", "shape": (1,)}),),
        ),
        jitter,
    )
