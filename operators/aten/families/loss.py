"""Losses: elementwise functions of two or three tensors, kept (reduction 0), averaged (1) or summed (2)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import common
from kgb_gym.operators.aten.families.common import LAYOUTS, broadcast, buffer, values
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Build, Call
from kgb_gym.operators.grids import points
from kgb_gym.operators.maker import Maker

NONE, MEAN, SUM = 0, 1, 2
REDUCTIONS = (NONE, MEAN, SUM)
SHAPES = ((2, 3), (128, 256), (512, 512))
"""The published sizes."""

NOTES = (
    "`reduction`: 0 keeps every element, 1 gives their mean, 2 their sum, both as a 0-d tensor; the mean of nothing is NaN.",
    "16-bit inputs are computed and summed in fp32, and rounded once.",
)


def operands(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    other: Sequence[int] | None = None,
    kind: str = "normal",
    target: str = "normal",
    layout: str = "contiguous",
    other_layout: str = "contiguous",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two tensors.

    Args:
        make: the source of values.
        shape: sizes of the first.
        dtype: type of both.
        other: sizes of the second, where they differ.
        kind: values of the first (see `common.values`).
        target: values of the second; `signs` gives -1 and 1.
        layout: layout of the first.
        other_layout: layout of the second.
    """
    sizes = shape if other is None else other
    return values(make, shape, dtype, kind, layout), aims(make, sizes, dtype, target, other_layout)


def aims(make: Maker, shape: Sequence[int], dtype: torch.dtype, kind: str, layout: str) -> torch.Tensor:
    """A tensor of targets; kind `signs`: -1 and 1, else as in `common.values`."""
    if kind != "signs":
        return values(make, shape, dtype, kind, layout)
    signs = make.integers(shape, torch.int64, low=0, high=2) * 2 - 1
    return values(make, shape, dtype, "normal", layout).copy_(signs)


def with_out(build: Build) -> Build:
    """The `out=` twin of a builder; parameters `out` (see `common.buffer`) and `out_dtype` join."""

    def call(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
        plain = build(make, **params)
        shape = broadcast(*(t.shape for t in plain.tensors())) if params.get("reduction", MEAN) == NONE else ()
        return Call(plain.args, {**plain.kwargs, "out": buffer(make, shape, out_dtype or params["dtype"], out)})

    return call


def terms(*names: str) -> Callable[[Arguments], int]:
    """A depth: how many elements are summed into the answer, from the tensors named."""

    def depth(arguments: Arguments) -> int:
        if arguments.get("reduction", MEAN) == NONE:
            return 1
        return math.prod(broadcast(*(arguments[n].shape for n in names)))

    return depth


def reduced(each: Callable[[Arguments], torch.Tensor]) -> Callable[[Arguments], torch.Tensor]:
    """A scale: the magnitudes `each` gives, reduced as the loss is."""

    def scale(arguments: Arguments) -> torch.Tensor:
        magnitudes = each(arguments)
        kind = arguments.get("reduction", MEAN)
        return magnitudes if kind == NONE else magnitudes.sum() if kind == SUM else magnitudes.mean()

    return scale


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: another shape and layouts; what is broadcast becomes one row. Errors are repaired."""
    new = common.jitter(rng, params)
    for name in ("other", "third", "weight", "pos_weight"):
        if params.get(name) is not None and not isinstance(params[name], bool):
            new[name] = new["shape"][-1:]
    new["other_layout"] = rng.choice(LAYOUTS)
    return new


SMOKE = points(
    {"shape": (3, 17), "dtype": "float32", "reduction": NONE}, {"shape": (9, 4), "dtype": "float16", "reduction": MEAN}
)
SMOKE_SIGNS = points(
    {"shape": (3, 17), "dtype": "float32", "reduction": NONE, "target": "signs"},
    {"shape": (9, 4), "dtype": "float16", "reduction": MEAN, "target": "signs"},
)
