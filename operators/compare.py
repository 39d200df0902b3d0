"""Comparisons: whether one output is what the oracle says, at the paper's gate and at the strict one.

`paper`: `atol = 1e-4 × D_reduce` and `rtol` by dtype (Appendix D of the paper). `strict`: the error model
`|got − ref| ≤ slack · u · (log2 D + 4) · S + 1.01 · u_out · |ref|`, where `ref` is computed in double precision, `u` is
the unit roundoff of the arithmetic asked for (fp32 for 16- and 32-bit types), `u_out` that of the output type, `D` the
number of terms summed and `S` the operator's formula on magnitudes. The logarithm covers every blocked or pairwise
order of summation. NaN and infinities are values: their positions count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from kgb_gym.verdict import Difference

RTOL = {torch.float16: 1e-3, torch.bfloat16: 0.016, torch.float32: 1e-5, torch.float64: 1e-5}
BLOCK = 1 << 17
"""Elements compared at a time, by one thread."""
PROBES = 1 << 10
"""Elements that are looked at for unwritten memory."""
FAR = 2.0**20
"""Mean magnitude of the terms of a sum beyond which they are not numbers of size one."""
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
    item: int | None = None
    """Its place in a written argument that is a list of tensors: error models then see each list's tensor at this place
    instead of the list."""


@dataclass(frozen=True)
class Check:
    """The outcome of one comparison."""

    strict: bool
    paper: bool
    difference: Difference | None = None


Arguments = Mapping[str, Any]
"""The arguments of a call by name, tensors in their original dtype; where a submission is judged also `outputs`: all
outputs by their targets' names."""


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

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        """Whether `got` passes the strict gate; stops at the first sign that it does not."""
        ...


@dataclass(frozen=True)
class Exact:
    """Equal values everywhere, NaN where NaN is expected."""

    @property
    def exact(self) -> bool:
        return True

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return bool(same_bits_or_nan(got, target.reference).all())

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        bad = ~same_bits_or_nan(got, target.reference)
        difference = describe(target.name, got, target.reference, bad)
        return Check(strict=difference is None, paper=difference is None, difference=difference)


@dataclass(frozen=True)
class Unspecified:
    """Any values: only the geometry is promised, and that is the contract's to check."""

    @property
    def exact(self) -> bool:
        return True

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return True

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        return Check(strict=True, paper=True)


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
        return self._walk(target, got, arguments, widen, brief=False)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        if target.precise is None:
            return Exact().right(target, got, arguments)
        if target.reference.shape == got.shape and _other_nans(got, target.reference):
            return False  # unwritten (poisoned) memory: the error model need not be evaluated for it
        return self._walk(target, got, arguments, widen, brief=True).strict

    def _walk(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float, *, brief: bool) -> Check:
        """Compare block by block in the order of memory, which keeps temporaries in cache; a block that is plainly right
        costs little, and S is worked out when a block first needs it."""
        assert target.precise is not None
        if target.item is not None:
            arguments = {n: v[target.item] if isinstance(v, list) else v for n, v in arguments.items()}
        gate = self._gate(got.dtype, arguments, widen)
        order = _memory_order(target.reference)

        def flat(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.permute(order).reshape(-1)

        scale: torch.Tensor | None = None
        own_scale = self.scale
        parts = [flat(t) for t in (got, target.reference, target.precise)]
        kept = None
        if target.touched is not None:
            kept = flat(~target.touched & ~same_bytes(got, target.reference))
        strict, paper, worst, count = True, True, (-1.0, 0), 0
        step = BLOCK * torch.get_num_threads()
        for start in range(0, got.numel(), step):
            value, reference, precise = (p[start : start + step] for p in parts)
            here = kept[start : start + step] if kept is not None else None
            intact = here is None or not bool(here.any())
            if intact and gate.plainly_right(value, reference, precise, 0.0 if own_scale else None):
                continue
            local = None
            if own_scale is not None:
                if scale is None:
                    scale = torch.as_tensor(own_scale(arguments), dtype=torch.float64)
                    scale = scale.reshape(()) if scale.numel() == 1 else flat(scale.broadcast_to(got.shape))
                local = scale[start : start + step] if scale.dim() else scale
                if intact and gate.plainly_right(value, reference, precise, local):
                    continue
            strict_bad, paper_bad, error = gate.masks(value, reference, precise, local)
            if here is not None:
                strict_bad, paper_bad = strict_bad | here, paper_bad | here
            strict, paper = strict and not bool(strict_bad.any()), paper and not bool(paper_bad.any())
            if brief and not strict:
                return Check(False, False)
            bad = strict_bad | paper_bad
            count += int(bad.sum())
            error = torch.where(bad, torch.nan_to_num(error, nan=math.inf, posinf=math.inf), -1.0)
            top = int(error.argmax())
            worst = max(worst, (float(error[top]), -(start + top)))
        if not count:
            return Check(strict, paper)
        index = _unravel(-worst[1], [got.shape[d] for d in order])
        place = tuple(index[order.index(d)] for d in range(got.dim()))
        return Check(strict, paper, _difference(target, got, worst[0], place, count))

    def _gate(self, dtype: torch.dtype, arguments: Arguments, widen: float) -> _Gate:
        real = REAL_OF.get(dtype, dtype)
        terms = max(1, self.depth(arguments) if self.depth else 1)
        unit = UNIT[self.unit or (torch.float64 if real is torch.float64 else torch.float32)]
        return _Gate(
            real=real,
            absolute=widen * 1e-4 * terms,
            terms=terms,
            relative=widen * RTOL.get(real, 0.0),
            by_scale=widen * (self.slack * unit * (math.log2(terms) + 4) + self.own * UNIT[real]),
            by_value=widen * (1.01 + self.intermediate) * UNIT[real],
            floor=widen * torch.finfo(real).smallest_normal * UNIT[real] * 2,
        )


@dataclass(frozen=True)
class _Gate:
    """Both gates with their numbers filled in, for blocks of flat tensors."""

    real: torch.dtype
    absolute: float
    terms: int
    """How many terms S, where there is one, is the sum of."""
    relative: float
    by_scale: float
    by_value: float
    floor: float

    def plainly_right(
        self, value: torch.Tensor, reference: torch.Tensor, precise: torch.Tensor, scale: torch.Tensor | float | None
    ) -> bool:
        """Whether everything is finite and inside both gates; a scale of 0 asks for less than any other allows."""
        wide = torch.complex128 if value.is_complex() else torch.float64
        got, exact = value.to(wide), precise.to(wide)
        bound = exact.abs()
        bound.mul_(self.by_value + (self.by_scale if scale is None else 0.0)).add_(self.floor)
        if isinstance(scale, torch.Tensor):
            bound.add_(scale, alpha=self.by_scale)
        if not math.isfinite(float(bound.amax())) or not _within(got, exact, bound):
            return False
        expected = reference.to(wide)
        return _within(got, expected, expected.abs().mul_(self.relative).add_(self._absolute(scale)))

    def _absolute(self, scale: torch.Tensor | float | None) -> torch.Tensor | float:
        """The paper's absolute tolerance, which is meant for numbers of size one: where the mean term of a sum is larger
        than `FAR`, it counts in units of that term."""
        if not isinstance(scale, torch.Tensor):
            return self.absolute
        mean = scale.abs() / self.terms
        return self.absolute * torch.where(mean > FAR, mean, 1.0)

    def masks(
        self, value: torch.Tensor, reference: torch.Tensor, precise: torch.Tensor, scale: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Which elements lie outside the strict and the paper's gate, and the absolute errors."""
        wide = torch.complex128 if value.is_complex() else torch.float64
        value, reference, precise = value.to(wide), reference.to(wide), precise.to(wide)
        magnitude = precise.abs()
        bound = (magnitude if scale is None else scale.abs()) * self.by_scale + magnitude * self.by_value + self.floor
        exact_error = (value - precise).abs()
        paper_bad = ~((value - reference).abs() <= reference.abs() * self.relative + self._absolute(scale))
        equal = value == reference
        # Where the exact answer overflows the output type, or may by rounding, the type's infinity is right as well.
        edge = (magnitude * (1 + 2 * UNIT[self.real]) >= torch.finfo(self.real).max) & torch.isinf(value.abs())
        edge &= (value.conj() * precise).real > 0 if value.is_complex() else value.sign() == precise.sign()
        # An infinity is a value: a tolerance, infinite itself, may not stand for it.
        finite = torch.isfinite(value.abs())
        paper_bad = torch.where(finite & torch.isfinite(reference.abs()), paper_bad & ~equal, ~equal)
        strict_bad = ~(equal | edge | (finite & torch.isfinite(magnitude) & (exact_error <= bound)))
        nan = torch.isnan(reference.abs()), torch.isnan(value.abs())
        paper_bad = torch.where(nan[0] | nan[1], nan[0] != nan[1], paper_bad)
        strict_bad = torch.where(nan[0] | nan[1], nan[0] != nan[1], strict_bad)
        return strict_bad, paper_bad, exact_error


def _other_nans(got: torch.Tensor, reference: torch.Tensor) -> bool:
    """Whether one of at most `PROBES` elements, evenly apart, is NaN in one of the two alone."""
    if not got.numel():
        return False
    step = -(-got.numel() // PROBES)
    places = torch.unravel_index(torch.arange(0, got.numel(), step), got.shape) if got.dim() else ()
    return bool((torch.isnan(got[places]) != torch.isnan(reference[places])).any())


def _within(got: torch.Tensor, goal: torch.Tensor, bound: torch.Tensor) -> bool:
    """Whether |got - goal| <= bound everywhere; a NaN is not."""
    off = got - goal
    off = off.abs() if off.is_complex() else off.abs_()
    return bool(off.sub_(bound).amax() <= 0)


def _memory_order(tensor: torch.Tensor) -> list[int]:
    """The dimensions from the widest stride to the narrowest: flattened in this order, dense tensors are not copied."""
    strides = tensor.stride()
    return sorted(range(tensor.dim()), key=lambda d: -strides[d])


def _difference(target: Target, got: torch.Tensor, top: float, index: tuple[int, ...], count: int) -> Difference:
    assert target.precise is not None
    expected = target.precise[index]
    base = float(expected.abs())
    return Difference(
        output=target.name,
        max_abs=top,
        max_rel=top / base if base and math.isfinite(base) else math.inf,
        index=index,
        expected=_scalar(expected),
        got=_scalar(got[index]),
        mismatches=count,
        total=got.numel(),
        note=str(got.dtype).removeprefix("torch."),
    )


def _unravel(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
    index = []
    for size in reversed(tuple(shape)):
        index.append(flat % size)
        flat //= size
    return tuple(reversed(index))


def same_bits_or_nan(got: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Elementwise: equal, or NaN in both. Types that cannot be compared (fp8) go by their bytes."""
    if got.dtype.itemsize == 1 and got.dtype.is_floating_point:
        return got.view(torch.uint8) == reference.view(torch.uint8)
    equal = got == reference
    if got.dtype.is_floating_point or got.dtype.is_complex:
        equal = equal | (torch.isnan(got) & torch.isnan(reference))
    return equal


def same_bytes(got: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Elementwise: bit for bit, so that a negative zero is no zero."""
    left, right = (t.contiguous().unsqueeze(-1).view(torch.uint8) for t in (got, reference))
    return (left == right).all(-1)


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
    where = _unravel(flat, error.shape)
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
