"""Comparisons: whether one output is what the oracle says, at the paper's gate and at the strict one.

`paper`: `atol = 1e-4 × D_reduce` and `rtol` by dtype (Appendix D of the paper). `strict`: the error model
`|got − ref| ≤ slack · u · (log2 D + 4) · S + 1.01 · u_out · |ref|`, where `ref` is computed in double precision, `u` is
the unit roundoff of the arithmetic asked for (fp32 for 16- and 32-bit types), `u_out` that of the output type, `D` the
number of terms summed and `S` the operator's formula on magnitudes. The logarithm covers every blocked or pairwise
order of summation. NaN and infinities are values: their positions count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from kgb_gym.verdict import Difference

RTOL = {torch.float16: 1e-3, torch.bfloat16: 0.016, torch.float32: 1e-5, torch.float64: 1e-5}
UNIT = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-24, torch.float64: 2.0**-53}
REAL_OF = {torch.complex64: torch.float32, torch.complex128: torch.float64}


@dataclass(frozen=True)
class Target:
    """What one output should be."""

    name: str
    """`return`, `return[1]`, or the name of a written argument."""
    reference: torch.Tensor
    """The answer in the output's dtype and geometry."""
    precise: torch.Tensor | None = None
    """The answer in float64 or complex128 before rounding; None: exact comparison with `reference`."""
    touched: torch.Tensor | None = None
    """Bool mask: where False, the element must keep its bits. None: every element may change."""


@dataclass(frozen=True)
class Check:
    """The outcome of one comparison."""

    strict: bool
    paper: bool
    difference: Difference | None = None


Arguments = Mapping[str, Any]
"""The arguments of a call by name, tensors in their original dtype."""


class Comparison(Protocol):
    """How an output is compared with its target."""

    @property
    def exact(self) -> bool:
        """True if values are compared bit for bit."""
        ...

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        """Compare `got` (already of the right shape and dtype, on CPU) with `target`.

        Args:
            target: what is expected.
            got: the output.
            arguments: the call's arguments before the call, for error models that depend on them.
            widen: factor on both gates' tolerances, from the platform.
        """
        ...


@dataclass(frozen=True)
class Exact:
    """Equal values everywhere, NaN where NaN is expected."""

    @property
    def exact(self) -> bool:
        return True

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        bad = ~same_bits_or_nan(got, target.reference)
        difference = describe(target.name, got, target.reference, bad)
        return Check(strict=difference is None, paper=difference is None, difference=difference)


@dataclass(frozen=True)
class Close:
    """Both floating-point gates; integers and bools are exact."""

    depth: Callable[[Arguments], int] | None = None
    """D: how many terms are summed into one output element; None: 1."""
    scale: Callable[[Arguments], torch.Tensor | float] | None = None
    """S: the formula on magnitudes, float64, broadcastable to the output; None: |reference|."""
    slack: float = 8.0
    """Factor on the accumulation term; 8 covers blocked summation of random terms with a wide margin."""
    unit: torch.dtype | None = None
    """The arithmetic asked for, if it is not fp32 for 16- and 32-bit outputs (and fp64 for 64-bit ones)."""
    own: float = 0.0
    """Roundings to the output's own type that an honest kernel may make on the way, as multiples of u_out·S: of `alpha`
    and of a product, where a kernel computes in the operands' 16-bit type."""
    intermediate: float = 0.0
    """Additional roundings to the output's own type that the definition itself makes, as multiples of u_out·|ref|."""

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        if target.precise is None:
            return Exact().check(target, got, arguments)
        real = REAL_OF.get(got.dtype, got.dtype)
        wide = torch.complex128 if got.dtype.is_complex else torch.float64
        value, reference, precise = got.to(wide), target.reference.to(wide), target.precise.to(wide)
        terms = max(1, self.depth(arguments) if self.depth else 1)
        rtol = max(RTOL.get(real, 0.0), 0.0)
        error = (value - reference).abs()
        paper_bad = ~((error <= widen * (1e-4 * terms + rtol * reference.abs())) | (value == reference))
        unit_out = UNIT[real]
        unit = UNIT[self.unit or (torch.float64 if real is torch.float64 else torch.float32)]
        magnitude = precise.abs()
        scale = self.scale(arguments) if self.scale else magnitude
        scale = torch.as_tensor(scale, dtype=torch.float64).abs()
        bound = self.slack * unit * (math.log2(terms) + 4) * scale
        bound = bound + self.own * unit_out * scale + (1.01 + self.intermediate) * unit_out * magnitude
        bound = bound + torch.finfo(real).smallest_normal * unit_out * 2
        exact_error = (value - precise).abs()
        equal = value == reference
        # Where the exact answer overflows the output type, or may by rounding, the type's infinity is right as well.
        edge = (magnitude * (1 + 2 * unit_out) >= torch.finfo(real).max) & torch.isinf(value.abs())
        edge &= (value.conj() * precise).real > 0 if value.is_complex() else value.sign() == precise.sign()
        # An infinity is a value: a tolerance, infinite itself, may not stand for it.
        finite = torch.isfinite(value.abs())
        paper_bad = torch.where(finite & torch.isfinite(reference.abs()), paper_bad, ~equal)
        strict_bad = ~(equal | edge | (finite & torch.isfinite(magnitude) & (exact_error <= widen * bound)))
        nan = torch.isnan(reference.abs()), torch.isnan(value.abs())
        paper_bad = torch.where(nan[0] | nan[1], nan[0] != nan[1], paper_bad)
        strict_bad = torch.where(nan[0] | nan[1], nan[0] != nan[1], strict_bad)
        if target.touched is not None:
            kept = ~target.touched & ~same_bits_or_nan(got, target.reference)
            paper_bad, strict_bad = paper_bad | kept, strict_bad | kept
        return Check(
            strict=not bool(strict_bad.any()),
            paper=not bool(paper_bad.any()),
            difference=describe(target.name, value, precise, strict_bad | paper_bad, got.dtype),
        )


def same_bits_or_nan(got: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Elementwise: equal, or NaN in both. Types that cannot be compared (fp8) go by their bytes."""
    if got.dtype.itemsize == 1 and got.dtype.is_floating_point:
        return got.view(torch.uint8) == reference.view(torch.uint8)
    equal = got == reference
    if got.dtype.is_floating_point or got.dtype.is_complex:
        equal = equal | (torch.isnan(got) & torch.isnan(reference))
    return equal


def describe(
    name: str, got: torch.Tensor, expected: torch.Tensor, bad: torch.Tensor, dtype: torch.dtype | None = None
) -> Difference | None:
    """The largest deviation among the elements marked `bad`; None if there is none."""
    count = int(bad.sum())
    if not count:
        return None
    wide = torch.complex128 if got.dtype.is_complex else torch.float64
    if got.dtype.itemsize == 1 and got.dtype.is_floating_point:
        got, expected = got.float(), expected.float()
    a, b = got.to(wide), expected.to(wide)
    error = torch.nan_to_num((a - b).abs(), nan=math.inf, posinf=math.inf)
    error = torch.where(bad, error, torch.full_like(error, -1.0))
    flat = int(error.reshape(-1).argmax())
    index = []
    for size in reversed(error.shape):
        index.append(flat % size)
        flat //= size
    where = tuple(reversed(index))
    top = float(error[where])
    base = float(b[where].abs())
    return Difference(
        output=name,
        max_abs=top,
        max_rel=top / base if base and math.isfinite(base) else math.inf,
        index=where,
        expected=_scalar(b[where]),
        got=_scalar(a[where]),
        mismatches=count,
        total=bad.numel(),
        note=str(dtype or got.dtype).removeprefix("torch."),
    )


def _scalar(value: torch.Tensor) -> float | str:
    item = value.item()
    return str(item) if isinstance(item, complex) else float(item)
