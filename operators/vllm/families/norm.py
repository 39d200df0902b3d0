"""Inputs of normalisations: rows under arbitrary outer strides, and rows that expose low-precision sums."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from kgb_gym.operators.grids import Grid, Params
from kgb_gym.operators.maker import Maker, lay

LAYOUTS = ("contiguous", "sliced", "swapped", "expanded", "offset")
"""Of a normalisation's input, whose last dimension is always dense: `sliced` (rows of a wider buffer), `swapped` (first
two dimensions swapped in memory), `expanded` (the first dimension has stride 0), `offset` (three elements in)."""

VALUES = ("normal", "large", "small", "zero_row")
"""`large`: squares overflow fp16; `small`: epsilon decides; `zero_row`: the first row is zero. A grid's points may ask
for `special` as well: NaN and an infinity somewhere."""


def rows(make: Maker, shape: tuple[int, ...], dtype: torch.dtype, values: str, layout: str) -> torch.Tensor:
    """An input (..., hidden) of a normalisation.

    Raises:
        ValueError: `values` or `layout` is unknown.
    """
    if values not in (*VALUES, "special") or layout not in LAYOUTS:
        raise ValueError(f"unknown values {values!r} or layout {layout!r}")
    std = {"large": 300.0, "small": 1e-3}.get(values, 1.0)
    tensor = make.normal(shape, dtype, mean=0.3 * std, std=std)
    if values == "zero_row":
        tensor.view(-1, shape[-1])[:1] = 0
    if values == "special":
        make.sprinkle(tensor, (float("nan"), float("inf")), share=0.0)
    if layout == "swapped":
        if len(shape) < 3:
            return lay(tensor, "sliced")
        return tensor.transpose(0, 1).contiguous().transpose(0, 1)
    return lay(tensor, layout)


def weight(make: Maker, hidden: int, dtype: torch.dtype, mode: str) -> torch.Tensor:
    """A weight (hidden,): `ones` or `randn`.

    Raises:
        ValueError: the mode is unknown.
    """
    if mode not in ("ones", "randn"):
        raise ValueError(f"unknown weight mode {mode!r}: use ones or randn")
    return make.full((hidden,), 1.0, dtype) if mode == "ones" else make.normal((hidden,), dtype)


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Another hidden size and number of rows (the last dimension and one other), values and layout."""
    shape = list(params["shape"])
    shape[-1] = max(1, shape[-1] + rng.randint(-(shape[-1] // 4) - 2, shape[-1] // 4 + 2))
    axis = rng.randrange(len(shape) - 1) if len(shape) > 1 else 0
    if axis != len(shape) - 1:
        shape[axis] = max(1, shape[axis] + rng.randint(-2, 2))
    return {
        **params,
        "shape": shape,
        "weight_mode": "randn",
        "epsilon": round(rng.uniform(1e-6, 1e-3), 7),
        "values": rng.choice(VALUES[:3]),
        "layout": rng.choice(LAYOUTS),
    }


def normalised(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """The norm of `x` times the weight in float64, without intermediate roundings."""
    wide = x.double()
    eps = torch.tensor(epsilon, dtype=torch.float32).double()
    answer: torch.Tensor = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * weight.double()
    return answer


def rounded(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """The norm of fp32 numbers `x` with both of its roundings to the weight's type, as float64."""
    wide, eps = x.double(), torch.tensor(epsilon, dtype=torch.float32).double()
    scaled = (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(weight.dtype)
    return (scaled.double() * weight.double()).to(weight.dtype).double()


def timed(grid: Grid, keep: Callable[[Params], bool]) -> tuple[Grid, Grid]:
    """A grid in two: the points that the published harness times, and the others."""
    return replace(grid.where(keep), timed=True), grid.where(lambda p: not keep(p))
