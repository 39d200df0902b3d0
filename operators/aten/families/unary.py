"""Elementwise functions of one tensor: builders, grids and interfaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import buffer, jitter, promoted, strided, suites, values
from kgb_gym.operators.declaration import Call, Interface
from kgb_gym.operators.grids import FLOATS, POINTWISE, Params, pairwise, points, product
from kgb_gym.operators.maker import Maker

QUICK_SHAPES = ((), (1,), (23, 41), (4, 16, 15), (3, 1037), (2, 3, 5, 4, 7))
"""(3, 1037) takes several programs, whatever block an honest kernel chooses for small tensors."""
"""The paper's pointwise shapes at sizes an interpreter bears: at most 960 elements."""

TABLE_10 = (
    {"shape": (1000000,), "strides": (2,)},
    {"shape": (128, 10000), "strides": (1, 128)},
    {"shape": (320, 20, 15), "strides": (15, 4800, 1)},
    {"shape": (3, 40999, 200), "strides": (1, 3, 122997)},
    {"shape": (10, 10, 10, 10, 10), "strides": (1, 10000, 23, 399, 1024)},
)
"""The paper's strided layouts (Table 10)."""


def build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    layout: str = "contiguous",
    kind: str = "normal",
    strides: Sequence[int] | None = None,
) -> Call:
    """`f(self)`."""
    if strides is not None:
        return make.call(strided(make, shape, dtype, strides))
    return make.call(values(make, shape, dtype, kind, layout))


def build_out(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    layout: str = "contiguous",
    kind: str = "normal",
    out: str = "same",
    out_dtype: torch.dtype | None = None,
    floating: bool = True,
) -> Call:
    """`f(self, out=)`. With `floating` an integer input gives a floating-point answer."""
    tensor = values(make, shape, dtype, kind, layout)
    answer = out_dtype or (promoted(dtype) if floating else dtype)
    return make.call(tensor, out=buffer(make, shape, answer, out))


def interfaces(
    name: str, *, kind: str = "normal", further: Sequence[Params] = (), integers: bool = True
) -> tuple[Interface, ...]:
    """The functional and the `out=` interface of a floating-point function.

    Args:
        name: the ATen packet.
        kind: the kind of values that lies within its domain.
        further: points for this function, such as large arguments; they join every suite but `smoke`.
        integers: whether integers and bools are accepted, and promoted to float32.
    """
    base: dict[str, Any] = {"kind": kind} if kind != "normal" else {}
    domain: dict[str, Any] = {"kind": (kind,)} if kind != "normal" else {}
    awkward = points(
        {"shape": (0, 3), "dtype": "float32", **base},
        {"shape": (3, 17), "dtype": "float16", "layout": "expanded", **base},
        {"shape": (9, 7, 5), "dtype": "bfloat16", "layout": "sliced", **base},
        {"shape": (5, 67), "dtype": "float64", "layout": "offset", **base},
        {"shape": (211,), "dtype": "float32", "kind": "special"},
        *((({"shape": (5, 43), "dtype": "int32"}, {"shape": (33,), "dtype": "bool"})) if integers else ()),
        *further,
    )
    out = points(
        {"shape": (13, 31), "dtype": "float32", **base},
        {"shape": (7, 33), "dtype": "float16", "out": "empty", **base},
        {"shape": (5, 3, 11), "dtype": "bfloat16", "out": "dilated", "layout": "transposed", **base},
        {"shape": (17, 12), "dtype": "float32", "out": "transposed", "out_dtype": "float16", **base},
        *(({"shape": (45,), "dtype": "int64"},) if integers else ()),
        {"shape": (3, 5), "dtype": "float32", "out_dtype": "int64", **base},
    )
    smoke = points({"shape": (17,), "dtype": "float32", **base}, {"shape": (3, 5), "dtype": "float16", **base})
    layouts = ("contiguous", "transposed", "dilated")
    return (
        Interface(
            name,
            build,
            suites(
                paper=(
                    product(shape=POINTWISE, dtype=FLOATS, **domain, timed=True),
                    points(*({**p, "dtype": d} for p in TABLE_10 for d in FLOATS)) if not base else points(),
                    awkward,
                ),
                quick=(pairwise(shape=QUICK_SHAPES, dtype=FLOATS, layout=layouts, **domain), awkward),
                smoke=(smoke,),
            ),
            jitter,
        ),
        Interface(
            f"{name}.out",
            build_out,
            suites(
                paper=(product(shape=POINTWISE[2:5], dtype=FLOATS, **domain, origin="extra"), out),
                quick=(out,),
                smoke=(smoke,),
            ),
            jitter,
        ),
    )


__all__ = ["QUICK_SHAPES", "TABLE_10", "build", "build_out", "interfaces"]
