"""What the families share: named value ranges, output buffers and the jitter that turns a case into a hidden one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.declaration import Build, Interface, Jitter
from kgb_gym.operators.grids import Grid, Params, jitter_shape, points
from kgb_gym.operators.maker import Maker, lay

INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
LAYOUTS = ("contiguous", "transposed", "dilated", "sliced", "offset")
"""Layouts in which no two elements share memory: any operand may have them, written ones too."""

SPECIALS = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0)

_PALETTE = (*SPECIALS, 1.0, -1.0, 0.5, -2.0, 3.0)
"""Values of which `rows` and `columns` make every pair, where a shape has room for a hundred elements."""

_NEAR = ((0, 0), (1, 0), (1, 1), (1, -0.5), (-1, 0), (-1, -1), (2, 0), (2, 2))
"""The same of `near_rows` and `near_columns`: numbers and how many epsilons of the type are added, one step or none.
Two tiny numbers join."""

_NORMALS = {"normal": (0.0, 1.0), "large": (0.0, 1e4), "huge": (0.0, 1e30), "small": (0.0, 1e-3)}
_RANGES = {
    "unit": (0.0, 1.0), "signed_unit": (-1.0, 1.0), "positive": (0.05, 4.0), "above_one": (1.0, 10.0),
    "wide": (-80.0, 80.0), "tail": (-6.0, 9.0), "below_one": (-0.2, 0.98), "negative": (-3.45, -0.05),
}  # fmt: skip
_WHOLE = {"digits": (-4, 5), "counts": (1, 12)}
"""Kinds of whole numbers, for every type."""

FLUSHED = 2.0**-106
"""What a scale has to have added so that a kernel may flush subnormal fp32 answers to zero (with `slack=4`)."""


def values(
    make: Maker, shape: Sequence[int], dtype: torch.dtype, kind: str = "normal", layout: str = "contiguous"
) -> torch.Tensor:
    """A tensor of one named kind of values.

    Args:
        make: the source of values.
        shape: its sizes.
        dtype: its type; of integers and bools there are whole numbers only, of `normal` most in [-100, 100) and some
            far from there (see `maker.FAR`), and coins.
        kind: `normal`, `large`, `huge`, `small` (normal values of deviation 1, 1e4, 1e30, 1e-3, clipped to what the
            type holds), `unit`, `signed_unit`, `positive`, `above_one`, `wide`, `tail`, `below_one`, `negative`
            (uniform in the ranges above), `digits`, `counts` (whole numbers), `special` (normal values with NaN,
            infinities and zeros of both signs among them), `undefined` (with NaN and 0 only), `rows` and `columns`
            (for two operands: every pair of special and ordinary values), `near_rows` and `near_columns` (likewise of
            values one step of the type apart, and from zero 1e-30, in fp64 1e-60), `close` (all different, the least steps above 1),
            `eighths` (multiples of 1/8 below 16 in 16 bits, below 2**17 in fp32, 2**40 in fp64) or
            `divisors` (multiples of 1/8 up to 3, or whole numbers up to 24; never zero).
        layout: one of `LAYOUTS`, or `expanded`.

    Raises:
        ValueError: the kind is unknown.
    """
    if kind in _WHOLE:
        first, end = _WHOLE[kind]
        return make.integers(shape, dtype, low=first, high=end, layout=layout)
    if kind == "divisors":
        size = make.integers(shape, torch.int64, low=1, high=25)
        signed = size * (1 - 2 * make.integers(shape, torch.int64, low=0, high=2))
        unsigned = dtype in (torch.uint8, torch.bool)
        return lay((signed / 8 if dtype.is_floating_point else size if unsigned else signed).to(dtype), layout)
    if not dtype.is_floating_point and not dtype.is_complex:
        return make.integers(shape, dtype, layout=layout, far=True)
    if kind == "eighths":
        end = {torch.float32: 2**20, torch.float64: 2**43}.get(dtype, 128)
        return lay((make.integers(shape, torch.int64, low=1 - end, high=end).double() / 8).to(dtype), layout)
    if kind == "close":
        steps = make.permutation(math.prod(shape)).view(tuple(shape)).double()
        return lay((1 + steps * torch.finfo(dtype).eps).to(dtype), layout)
    if kind.removeprefix("near_") in ("rows", "columns"):
        eps = torch.finfo(dtype).eps
        tiny = 1e-60 if dtype is torch.float64 else 1e-30
        near = [tiny, -tiny, *(value + steps * eps for value, steps in _NEAR)]
        palette = near if kind.startswith("near_") else _PALETTE
        every = len(palette)
        place = torch.arange(math.prod(shape)) // (1 if kind.endswith("rows") else every) % every
        chosen = torch.tensor(palette, dtype=dtype)[make.permutation(every)][place]
        return lay(chosen.view(tuple(shape)), layout)
    if kind == "special":
        return make.sprinkle(make.normal(shape, dtype, layout=layout), SPECIALS, share=0.2)
    if kind == "undefined":
        return make.sprinkle(make.normal(shape, dtype, layout=layout), (float("nan"), 0.0), share=0.2)
    if kind in _NORMALS:
        mean, std = _NORMALS[kind]
        top = torch.finfo(dtype).max
        return make.normal(shape, dtype, mean=mean, std=min(std, top / 8), layout=layout)
    if kind in _RANGES:
        low, high = _RANGES[kind]
        return make.uniform(shape, dtype, low=low, high=high, layout=layout)
    known = ", ".join((*_NORMALS, *_RANGES, *_WHOLE))
    raise ValueError(f"unknown kind of values {kind!r}: use special, undefined, {known}")


def strided(
    make: Maker, shape: Sequence[int], dtype: torch.dtype, strides: Sequence[int], kind: str = "normal"
) -> torch.Tensor:
    """Values of one kind under explicit strides, such as those of the paper's Table 10."""
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return values(make, (extent,), dtype, kind).as_strided(tuple(shape), tuple(strides))


def buffer(make: Maker, shape: Sequence[int], dtype: torch.dtype, kind: str = "same") -> torch.Tensor:
    """What is passed as `out=`: of the right shape in some layout (`same`: contiguous), or to be resized: `empty`, or
    `small`, with two elements in a row."""
    if kind in {"empty", "small"}:
        return make.out((0,) if kind == "empty" else (2,), dtype)
    return make.out(shape, dtype, layout="contiguous" if kind == "same" else kind)


def suites(*, paper: Sequence[Grid], quick: Sequence[Grid], smoke: Sequence[Grid]) -> Mapping[str, tuple[Grid, ...]]:
    """The grids of an interface by suite."""
    return {"paper": tuple(paper), "quick": tuple(quick), "smoke": tuple(smoke)}


def interface(
    name: str,
    build: Build,
    *,
    paper: Sequence[Grid],
    quick: Sequence[Grid],
    smoke: Sequence[Params],
    jitter: Jitter,
    reads: Sequence[str] = (),
) -> Interface:
    """An interface with its grids."""
    grids = suites(paper=paper, quick=quick, smoke=(points(*smoke),))
    return Interface(name, build, grids, jitter, reads=tuple(reads))


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: its `shape` moved (see `jitter_shape`), its `layout` drawn anew.

    At most the larger of 2048 elements and a quarter of the original's, so that an interpreter bears it.
    """
    new = dict(params)
    new.pop("strides", None)
    new["shape"] = jitter_shape(rng, params["shape"], max(2048, math.prod(params["shape"]) // 4))
    if params.get("layout") != "expanded":
        new["layout"] = rng.choice(LAYOUTS)
    return new


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which all broadcast. Of shapes that do not, the longest: such a call raises anyway."""
    rank = max(len(s) for s in shapes)
    aligned = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    sizes = [{n for n in column if n != 1} for column in zip(*aligned, strict=True)]
    if any(len(s) > 1 for s in sizes):
        return next(tuple(s) for s in shapes if len(s) == rank)
    return tuple(s.pop() if s else 1 for s in sizes)


def promoted(dtype: torch.dtype) -> torch.dtype:
    """The type in which a floating-point function of `dtype` answers."""
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.float32


def conditioned(
    function: Callable[[torch.Tensor], torch.Tensor],
    derivative: Callable[[torch.Tensor], torch.Tensor],
    most: float = 100.0,
) -> Callable[[Mapping[str, Any]], torch.Tensor]:
    """The error model of a function of `self`: |f| + |x · f'|, what a rounding of the argument may do, in float64.

    The second term counts at most `most` · |f|; where it is not finite, not at all.
    """

    def scale(arguments: Mapping[str, Any]) -> torch.Tensor:
        x = arguments["self"].double()
        value = function(x).abs()
        spread = torch.nan_to_num((x * derivative(x)).abs(), nan=0.0, posinf=0.0)
        return value + torch.minimum(spread, most * value) + FLUSHED

    return scale


def magnitude(value: torch.Tensor | float) -> torch.Tensor:
    """|value| in float64."""
    tensor = torch.as_tensor(value)
    return tensor.abs().double() if tensor.dtype is not torch.bool else tensor.double()


def builtins(name: str, overloads: str) -> tuple[tuple[str, str], ...]:
    """Left-out entries of overloads (separated by spaces) that only TorchScript has."""
    return tuple((f"{name}.{overload}", "TorchScript builtin: not in the dispatcher") for overload in overloads.split())
