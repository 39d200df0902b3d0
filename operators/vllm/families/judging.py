"""Comparisons of quantised outputs, and of calls whose outputs need different ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch

from kgb_gym.operators.compare import Arguments, Check, Close, Comparison, Exact, Target, describe, same_bits_or_nan

TOP = {torch.int8: (-128.0, 127.0), torch.float8_e4m3fn: (-448.0, 448.0)}
"""The least and greatest code of a quantised type."""
WORSE = {torch.int8: 1.5, torch.float8_e4m3fn: 1.1}
"""How much the sum of squared errors may exceed that of right rounding: a step of the largest value, from which the
scale is taken, moves all codes of a row; those of e4m3 are too far apart for it to show."""


@dataclass(frozen=True)
class Each:
    """Another comparison for some outputs, by name; `rest` for the others."""

    by_name: Mapping[str, Comparison] = field(default_factory=dict)
    rest: Comparison = field(default_factory=Close)

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        return self.by_name.get(target.name, self.rest).check(target, got, arguments, widen)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.by_name.get(target.name, self.rest).right(target, got, arguments, widen)


@dataclass(frozen=True)
class Codes:
    """Codes of a quantised type against the exact quotient `target.precise`: none further from it than half a step and
    `relative` of its size, and the sum of their squared errors (in steps) hardly more than that of right rounding. So
    ties may fall either way, and an earlier rounding too, but nothing may be off throughout."""

    relative: float = 2.0**-20
    absolute: torch.Tensor | float = 0.0
    """What else a code may be off, in steps."""

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        if target.precise is None:
            return Exact().check(target, got, arguments, widen)
        exact = target.precise.clamp(*TOP[got.dtype])
        value, step = got.double(), step_of(exact, got.dtype)
        error = (value - exact).abs()
        bad = ~(error <= step * (0.5 + self.absolute) + widen * self.relative * exact.abs())
        if got.numel() and not bool(bad.any()):
            rounding = ((target.reference.double() - exact) / step).square().sum()
            if bool((error / step).square().sum() > widen * WORSE[got.dtype] * rounding + 1):
                bad = value != target.reference.double()
        difference = describe(target.name, got, target.reference, bad)
        return Check(strict=difference is None, paper=difference is None, difference=difference)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict


@dataclass(frozen=True)
class Near:
    """Within `relative` of the precise value, at both gates; zero, infinities and what has no precise value exactly."""

    relative: float

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        if target.precise is None:
            return Exact().check(target, got, arguments)
        error = (got.double() - target.precise).abs()
        bad = ~((error <= widen * self.relative * target.precise.abs()) | same_bits_or_nan(got, target.reference))
        difference = describe(target.name, got, target.reference, bad)
        return Check(strict=difference is None, paper=difference is None, difference=difference)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict


@dataclass(frozen=True)
class Chosen:
    """The comparison that the call's arguments ask for."""

    choose: Callable[[Arguments], Comparison]

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        return self.choose(arguments).check(target, got, arguments, widen)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.choose(arguments).right(target, got, arguments, widen)


@dataclass(frozen=True)
class Whole:
    """Whole numbers that the precise value rounds to, either way near ties."""

    near: float = 1e-3

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        if target.precise is None:
            return Exact().check(target, got, arguments)
        bad = ~((got.double() - target.precise).abs() <= 0.5 + self.near)
        difference = describe(target.name, got, target.reference, bad)
        return Check(strict=difference is None, paper=difference is None, difference=difference)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict


@dataclass(frozen=True)
class First:
    """Only the first rows, as many as `count` says; the others may hold anything."""

    inner: Comparison
    count: Callable[[Arguments], int]

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        rows = self.count(arguments)
        precise = None if target.precise is None else target.precise[:rows]
        part = replace(target, reference=target.reference[:rows], precise=precise)
        return self.inner.check(part, got[:rows], arguments, widen)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict


def step_of(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The distance of neighbouring codes around a value (float64)."""
    if dtype is torch.int8:
        return torch.ones_like(value)
    exponent = torch.where(value == 0, -6.0, torch.frexp(value)[1].double() - 1)
    return torch.exp2(exponent.clamp(min=-6.0) - 3)


def codes(name: str, quotient: torch.Tensor, dtype: torch.dtype) -> Target:
    """The target of a quantised output: the exact quotient (float64), clamped and rounded to nearest even."""
    inside = quotient.clamp(*TOP[dtype])
    # float64 -> e4m3 by way of fp32 may round twice, which the comparison lets through.
    rounded = inside.round().to(dtype) if dtype is torch.int8 else inside.float().to(dtype)
    return Target(name, rounded, quotient)


def value(name: str, precise: torch.Tensor, dtype: torch.dtype = torch.float32) -> Target:
    """The target of a floating-point output: its precise value (float64)."""
    return Target(name, precise.to(dtype), precise)


@dataclass(frozen=True)
class Scratch:
    """Memory that may hold anything after the call."""

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        return Check(strict=True, paper=True)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return True
