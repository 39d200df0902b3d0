"""What a record may hold: the operator's policy, and where memory that is read comes from."""

from __future__ import annotations

import torch

from kgb_gym.operators.grids import plain_value
from kgb_gym.operators.policy import Policy
from kgb_gym.verification.record import BadRecord, Copy, Draw, Fill, Launch, Record, flat

BITS = frozenset({"neg", "_neg_view", "resolve_neg", "conj", "_conj", "conj_physical", "resolve_conj"})
"""Operators that a bit of a view stands for: who may not call them may not copy through the bit either."""


def check_policy(record: Record, policy: Policy) -> None:
    """Whether the record's data movement is what the operator allows.

    Raises:
        BadRecord: a verb, or a lossy conversion, is not allowed.
    """
    draws = 0
    for step in flat(record.steps):
        verb = {Fill: "fill", Copy: "copy", Draw: "draw"}.get(type(step))
        if verb is not None and verb not in policy.allow:
            raise BadRecord(f"not-allowed-{verb}", f"this operator does not allow a {verb} around its kernels")
        draws += isinstance(step, Draw)
        if draws > 1:
            raise BadRecord("draw", "more than one random number is drawn in a call: draw one seed, toss in a kernel")
        bits = isinstance(step, Copy) and (step.src.conj, step.src.neg) != (step.dst.conj, step.dst.neg)
        if bits and policy.deny_ops & BITS:
            raise BadRecord("bits", "a copy through a conjugate or negative bit computes: do it inside a kernel")
        if isinstance(step, Copy) and not policy.lossy_copy and is_lossy(step.src.dtype, step.dst.dtype):
            raise BadRecord(
                "lossy-conversion",
                f"a conversion from {plain_value(step.src.dtype)} to {plain_value(step.dst.dtype)} computes: "
                "do it inside a kernel",
            )


def is_lossy(src: torch.dtype, dst: torch.dtype) -> bool:
    """Whether converting computes something: to bool, floating point to integer or to eight bits, complex to real."""
    if src == dst:
        return False
    if dst is torch.bool:
        return True
    if src.is_complex and not dst.is_complex:
        return True
    if dst.is_floating_point and dst.itemsize == 1:
        return True
    return src.is_floating_point and not (dst.is_floating_point or dst.is_complex)


def reached_by_launches(record: Record) -> set[int]:
    """Storages that a launch was given, or that were copied from such a storage."""
    reached: set[int] = set()
    for step in flat(record.steps):
        if isinstance(step, Launch):
            reached.update(v.storage for v in step.views())
        elif isinstance(step, Copy) and step.src.storage in reached:
            reached.add(step.dst.storage)
    return reached


def check_provenance(record: Record) -> None:
    """Whether everything that is read has been written before: an input, a fill, a copy, a draw or a launch.

    Raises:
        BadRecord: a copy reads memory that nothing wrote.
    """
    known = {i for i, s in enumerate(record.storages) if s.input is not None}
    for step in flat(record.steps):
        if isinstance(step, Copy):
            if step.src.storage not in known and step.src.numel:
                raise BadRecord("uninitialised", "a copy reads memory that nothing has written")
            known.add(step.dst.storage)
        elif isinstance(step, (Fill, Draw)):
            known.add(step.dst.storage)
        elif isinstance(step, Launch):
            known.update(v.storage for v in step.views())
