"""Sequences of numbers: builders, grids and the error model."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.factories import number, options
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker


def build(
    make: Maker,
    *,
    end: float,
    start: float | None = None,
    step: float | None = None,
    dtype: torch.dtype | None = None,
    out: Sequence[int] | None = None,
    dilated: bool = False,
) -> Call:
    """`f(end)`, `f(start, end)` or `f(start, end, step)`, with `dtype=` and `device=` or with `out=` of shape `out`."""
    given = [number(v) for v in (start, end, step) if v is not None]
    if out is None:
        return make.call(*given, **options(dtype))
    layout = "dilated" if dilated else "contiguous"
    return make.call(*given, out=make.out(out, dtype or torch.float32, layout=layout))


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another range in the same direction."""
    new = dict(params)
    step = new.get("step") or 1
    narrow = new.get("dtype") in ("int8", "uint8")
    start = 0
    if "start" in new:
        start = new["start"] = new["start"] + rng.randint(0, 3) * (1 if step > 0 else -1)
    new["end"] = start + rng.randint(1, 3 if narrow else 1200) * step
    if "out" in new:
        new["out"] = [0]
        new.pop("dilated", None)
    return new


def magnitude(arguments: Arguments) -> torch.Tensor:
    """|start| + |i · step| of every element."""
    start, end, step = (arguments.get(n, d) for n, d in (("start", 0), ("end", 0), ("step", 1)))
    distances: torch.Tensor = torch.arange(start, end, step, dtype=torch.float64) - start
    return distances.abs().add(abs(start))
