"""Wrong answers that every grid must catch: a check of the problems themselves, not of any submission.

Four canaries stand in for a kernel: `zeros`; `first_input`, the first tensor of the call cast to each output; `scaled`,
0.9 × the answer; and `neighbour`, the answer of the same parameters under another seed. Each must fail at least one case
of every output dtype that the interface's grid has, unless the operator exempts it. Only values are compared here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from kgb_gym.operators.compare import Comparison, Target
from kgb_gym.operators.declaration import Case, Interface, Operator
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.oracle import Expected, bind, expected

CANARIES = ("zeros", "first_input", "scaled", "neighbour")


@dataclass(frozen=True)
class Survivor:
    """A canary that passed every case of one interface and output dtype."""

    interface: str
    canary: str
    dtype: str
    cases: int
    exempt: str = ""
    """The reason given by an `Exemption`; empty: the grid is too weak."""


def outputs(
    name: str, answer: Expected, first: torch.Tensor | None, neighbour: Expected
) -> Iterator[tuple[Target, torch.Tensor]]:
    """What one canary puts in the place of each output of a call.

    Args:
        name: one of `CANARIES`.
        answer: what the call should give.
        first: the first tensor of the call before it; None: the call has none, and zeros stand in.
        neighbour: what the call of another seed should give.

    Raises:
        ValueError: the canary is unknown.
    """
    for target, other in zip(targets(answer), targets(neighbour), strict=False):
        reference = target.reference
        if name == "zeros":
            yield target, torch.zeros_like(reference)
        elif name == "first_input":
            yield target, _cast(first, reference) if first is not None else torch.zeros_like(reference)
        elif name == "scaled":
            yield target, _scaled(target)
        elif name == "neighbour":
            yield target, other.reference
        else:
            raise ValueError(f"unknown canary {name!r}: use one of {', '.join(CANARIES)}")


def targets(answer: Expected) -> tuple[Target, ...]:
    """Every output once: the written arguments, and what is returned beside them."""
    fresh = (t for i, t in enumerate(answer.returns) if isinstance(t, Target) and i not in answer.same_object)
    return (*answer.written.values(), *fresh)


def survivors(operator: Operator, suite: str, seed: int = 0) -> tuple[Survivor, ...]:
    """Every canary that some interface and output dtype of a suite lets live, exempted ones with their reason."""
    found = []
    for interface in operator.interfaces:
        cases: dict[str, int] = {}
        failed: set[tuple[str, str]] = set()
        for case in interface.cases(suite):
            for dtype, caught in _play(operator, interface, case, seed).items():
                cases[dtype] = cases.get(dtype, 0) + 1
                failed |= {(name, dtype) for name in caught}
        found += [
            Survivor(interface.name, name, dtype, count, _exemption(operator, interface.name, name))
            for dtype, count in cases.items()
            for name in CANARIES
            if (name, dtype) not in failed
        ]
    return tuple(found)


def _play(operator: Operator, interface: Interface, case: Case, seed: int) -> Mapping[str, set[str]]:
    """Which canaries one case catches, by dtype of the output; empty outputs and calls that must raise catch nothing."""
    call = interface.call(Maker(seed), case.params)
    answer = expected(operator, interface, call)
    if answer.raises:
        return {}
    neighbour = expected(operator, interface, interface.call(Maker(seed + 1), case.params))
    arguments = bind(operator, interface, call)
    first = next(iter(call.tensors()), None)
    judge: Comparison = interface.compare or operator.compare
    caught: dict[str, set[str]] = {}
    for target in targets(answer):
        if target.reference.numel():
            caught.setdefault(str(target.reference.dtype).removeprefix("torch."), set())
    for name in CANARIES:
        for target, got in outputs(name, answer, first, neighbour):
            if not target.reference.numel():
                continue
            fails = got.shape != target.reference.shape
            if not fails:
                check = judge.check(target, got, arguments)
                fails = not (check.strict and check.paper)
            if fails:
                caught[str(target.reference.dtype).removeprefix("torch.")].add(name)
    return caught


def _cast(tensor: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """The tensor's values, repeated or cut to the reference's shape, in its dtype."""
    flat = tensor.detach().resolve_conj().resolve_neg().reshape(-1)
    if not flat.numel():
        return torch.zeros_like(reference)
    if flat.is_complex() and not reference.is_complex():
        flat = torch.view_as_real(flat).select(-1, 0)
    repeats = -(-reference.numel() // flat.numel())
    return flat.repeat(repeats)[: reference.numel()].reshape(reference.shape).to(reference.dtype)


def _scaled(target: Target) -> torch.Tensor:
    """0.9 × the answer where the answer may change; integers and bools towards zero."""
    reference = target.reference
    wide = torch.complex128 if reference.is_complex() else torch.float64
    scaled = reference.to(wide) * 0.9
    if not (reference.is_complex() or reference.is_floating_point()):
        scaled = scaled.to(torch.int64)
    scaled = scaled.to(reference.dtype)
    return scaled if target.touched is None else torch.where(target.touched, scaled, reference)


def _exemption(operator: Operator, interface: str, canary: str) -> str:
    return next(
        (e.reason for e in operator.exemptions if e.canary == canary and e.interface in ("", interface)),
        "",
    )
