"""Elementwise functions of two operands, each a tensor or a number, with or without `alpha`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import LAYOUTS, broadcast, buffer, magnitude, values
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Build, Call
from kgb_gym.operators.grids import jitter_shape
from kgb_gym.operators.maker import Maker

QUICK_SHAPES = ((), (1,), (2, 3, 5, 4, 7), (3, 1037))
"""The last takes several programs, whatever block an honest kernel chooses for small tensors."""
ALPHAS = (0.001, -0.999, 100.001, -111.999)
"""The published grid's values of `alpha`, and of a number as an operand."""


def operands(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    other: Sequence[int] | None = None,
    other_dtype: torch.dtype | None = None,
    layout: str = "contiguous",
    other_layout: str = "contiguous",
    kind: str = "normal",
    other_kind: str = "",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two tensors: `shape`, `dtype` and `kind` of the first, those of the second where they differ.

    A 0-d second operand is an integer (or coin), which every type holds: it does not promote the first, and whether its
    value is rounded to the common type before or after the arithmetic must not matter.
    """
    first = values(make, shape, dtype, kind, layout)
    second_dtype = other_dtype or dtype
    if other is not None and len(other) == 0 and len(shape):
        return first, make.integers((), second_dtype, low=2, high=9)
    return first, values(make, shape if other is None else other, second_dtype, other_kind or kind, other_layout)


def tensor_tensor(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    alpha: float | None = None,
    number: str = "",
    scalar: float = 0,
    share: str = "",
    mode: str = "",
    **more: Any,
) -> Call:
    """`f(self, other[, alpha=][, rounding_mode=])`.

    Args:
        make: the source of values.
        shape: sizes of `self`.
        dtype: its type.
        alpha: passed if given.
        number: `other`: the second operand is the Python number `scalar`.
        scalar: that number.
        share: `self`: `other` is the same tensor.
        mode: the rounding mode, passed if given; `none` for None.
        more: see `operands`.
    """
    first, second = operands(make, shape=shape, dtype=dtype, **more)
    if share == "self":
        second = first
    keywords = {**({} if alpha is None else {"alpha": alpha}), **rounding(mode)}
    if number == "other":
        return make.call(first, scalar, **keywords)
    return make.call(first, second, **keywords)


def tensor_scalar(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    scalar: float,
    alpha: float | None = None,
    layout: str = "contiguous",
    kind: str = "normal",
    mode: str = "",
) -> Call:
    """`f.Scalar(self, number[, alpha][, rounding_mode=])`."""
    first = values(make, shape, dtype, kind, layout)
    return make.call(first, scalar, *(() if alpha is None else (alpha,)), **rounding(mode))


def scalar_tensor(make: Maker, *, scalar: float, **params: Any) -> Call:
    """`f.Scalar(number, tensor)`."""
    plain = tensor_scalar(make, scalar=scalar, **params)
    return Call(plain.args[::-1], plain.kwargs)


def rounding(mode: str) -> Mapping[str, str | None]:
    """The keyword `rounding_mode` of a case's `mode`."""
    return {"rounding_mode": None if mode == "none" else mode} if mode else {}


def same(dtype: torch.dtype) -> torch.dtype:
    """The answer has the operands' common type."""
    return dtype


def truth(dtype: torch.dtype) -> torch.dtype:
    """The answer is a bool."""
    return torch.bool


def with_out(build: Build, promotes: Callable[[torch.dtype], torch.dtype] = same) -> Build:
    """The `out=` twin of a builder: parameters `out` (see `common.buffer`) and `out_dtype` join.

    `promotes` gives the answer's type, of the operands' common one.
    """

    def call(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
        plain = build(make, **params)
        first, second = plain.args[0], plain.args[1]
        shape = broadcast(*(t.shape for t in plain.tensors()))
        dtype = out_dtype or promotes(torch.result_type(first, second))
        return Call(plain.args, {**plain.kwargs, "out": buffer(make, shape, dtype, out)})

    return call


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: another shape, with what is broadcast still broadcast, and layouts drawn anew."""
    new = dict(params)
    shape, other = params["shape"], params.get("other")
    new["shape"] = jitter_shape(rng, shape, max(2048, math.prod(shape) // 4))
    if other is not None:
        new["other"], new["shape"] = _follow(rng, shape, other, new["shape"])
    for name in ("layout", "other_layout"):
        if params.get(name) != "expanded" and not (name == "other_layout" and "scalar" in params):
            new[name] = rng.choice(LAYOUTS)
    return new


def no_internal_overlap(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """`jitter` for functions that write `self`, which then may neither be expanded nor grow."""
    new = jitter(rng, params)
    if new.get("layout") == "expanded":
        new["layout"] = "contiguous"
    if len(new.get("other") or ()) > len(new["shape"]):
        new["other"] = new["shape"]
    return new


def sum_of_magnitudes(arguments: Arguments) -> torch.Tensor:
    """|self| + |alpha · other|: what an addition's error is measured by."""
    alpha = abs(float(arguments.get("alpha", 1)))
    return magnitude(arguments["self"]) + alpha * magnitude(arguments["other"])


def _follow(
    rng: random.Random, shape: Sequence[int], other: Sequence[int], moved: Sequence[int]
) -> tuple[list[int], list[int]]:
    """New sizes for the second operand (and the first): ones stay ones, equal sizes stay equal."""
    sizes, first = list(other), list(moved)
    for back in range(1, len(sizes) + 1):
        size = sizes[-back]
        if back > len(first):
            continue
        if shape[-back] == 1 and size != 1:
            first[-back] = 1
        elif size != 1:
            sizes[-back] = first[-back]
    return sizes, first
