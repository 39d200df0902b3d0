"""Elementwise functions of one tensor: builders, grids and interfaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
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


PUBLISHED = ((2, 3), (128, 256), (512, 512))
"""Shapes of the published harness where it does not use Table 9."""
PUBLISHED_LARGE = ((2, 3), (128, 256), (1024, 1024))


def build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    layout: str = "contiguous",
    kind: str = "normal",
    strides: Sequence[int] | None = None,
    n: int | None = None,
    **further: Any,
) -> Call:
    """`f([n, ]self[, further=])`."""
    if strides is not None:
        tensor = strided(make, shape, dtype, strides, kind)
    else:
        tensor = values(make, shape, dtype, kind, layout)
    return make.call(*(() if n is None else (n,)), tensor, **further)


def build_out(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    out: str = "same",
    out_dtype: torch.dtype | None = None,
    promotes: Callable[[torch.dtype], torch.dtype] = promoted,
    **params: Any,
) -> Call:
    """`f(self, out=)`; `promotes` gives the answer's type."""
    plain = build(make, shape=shape, dtype=dtype, **params)
    answer = out_dtype or promotes(dtype)
    return Call(plain.args, {**plain.kwargs, "out": buffer(make, shape, answer, out)})


def kept(dtype: torch.dtype) -> torch.dtype:
    """The answer's type is the input's."""
    return dtype


def interfaces(
    name: str,
    *,
    kind: str = "normal",
    special: str = "special",
    further: Sequence[Params] = (),
    integers: bool = True,
    integer_kind: str = "normal",
    keeps: bool = False,
    promotes: Callable[[torch.dtype], torch.dtype] = promoted,
    published: Sequence[Sequence[int]] = (),
    fixed: Params | None = None,
    axes: Mapping[str, Sequence[Any]] | None = None,
    written: Sequence[Params] = (),
) -> tuple[Interface, ...]:
    """The functional and the `out=` interface of a function of one tensor.

    Args:
        name: the ATen packet.
        kind: the kind of values that lies within its domain.
        special: the kind with NaN and infinities that it defines.
        further: points for this function, such as large arguments; they join every suite but `smoke`.
        integers: whether integers and bools are accepted (and promoted to float32, unless it `keeps` types); if not,
            one case expects the error.
        integer_kind: which integers lie within the domain.
        keeps: the answer has the input's type, and `out` must have it as well.
        promotes: the answer's type, of the input's; if it does not keep it.
        published: further shapes of the published grid.
        fixed: parameters of the function outside the published grid.
        axes: parameters of the published grid.
        written: points for this function's `out=` interface.
    """
    base: dict[str, Any] = {**({"kind": kind} if kind != "normal" else {}), **(fixed or {})}
    domain: dict[str, Any] = {**({"kind": (kind,)} if kind != "normal" else {}), **(axes or {})}
    whole: dict[str, Any] = {**({"kind": integer_kind} if integer_kind != "normal" else {}), **(fixed or {})}
    accepted = ({"shape": (5, 43), "dtype": "int32", **whole}, {"shape": (33,), "dtype": "bool", **(fixed or {})})
    awkward = points(
        {"shape": (0, 3), "dtype": "float32", **base},
        {"shape": (3, 17), "dtype": "float16", "layout": "expanded", **base},
        {"shape": (9, 7, 5), "dtype": "bfloat16", "layout": "sliced", **base},
        {"shape": (5, 67), "dtype": "float64", "layout": "offset", **base},
        {"shape": (211,), "dtype": "float32", **(fixed or {}), "kind": special},
        *(accepted if integers else ({"shape": (5,), "dtype": "int32", **(fixed or {}), "origin": "beyond"},)),
        *further,
    )
    out = points(
        {"shape": (13, 31), "dtype": "float32", **base},
        {"shape": (7, 33), "dtype": "float16", "out": "empty", **base},
        {"shape": (5, 9), "dtype": "float32", "out": "small", **base},
        {"shape": (5, 3, 11), "dtype": "bfloat16", "out": "dilated", "layout": "transposed", **base},
        {
            "shape": (17, 12),
            "dtype": "float32",
            "out": "transposed",
            **base,
            **({} if keeps else {"out_dtype": "float16"}),
        },
        *(({"shape": (45,), "dtype": "int64", **whole},) if integers else ()),
        {"shape": (3, 5), "dtype": "float32", "out_dtype": "float16" if keeps else "int64", **base, "origin": "beyond"},
        *written,
    )
    smoke = points({"shape": (17,), "dtype": "float32", **base}, {"shape": (3, 5), "dtype": "float16", **base})
    layouts = ("contiguous", "transposed", "dilated")
    shapes = (*POINTWISE, *published)
    return (
        Interface(
            name,
            build,
            suites(
                paper=(
                    product(shape=shapes, dtype=FLOATS, **domain, timed=True),
                    points(*({**p, "dtype": d, **base} for p in TABLE_10 for d in FLOATS)),
                    awkward,
                ),
                quick=(pairwise(shape=QUICK_SHAPES, dtype=FLOATS, layout=layouts, **domain), awkward),
                smoke=(smoke,),
            ),
            jitter,
        ),
        Interface(
            f"{name}.out",
            partial(build_out, promotes=kept if keeps else promotes),
            suites(
                paper=(
                    points(*({"shape": s, "dtype": d, **base} for s in POINTWISE[2:5] for d in FLOATS)),
                    out,
                ),
                quick=(out,),
                smoke=(smoke,),
            ),
            jitter,
        ),
    )


__all__ = ["PUBLISHED", "PUBLISHED_LARGE", "QUICK_SHAPES", "TABLE_10", "build", "build_out", "interfaces", "kept"]
