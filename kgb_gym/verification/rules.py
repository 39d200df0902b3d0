"""What a record may hold: the operator's policy, and where memory that is read comes from."""

from __future__ import annotations

import torch

from kgb_gym.operators.grids import plain_value
from kgb_gym.operators.policy import Policy
from kgb_gym.verification.record import BadRecord, Copy, Draw, Fill, Launch, Record, Step, View, flat

BITS = frozenset({"neg", "_neg_view", "resolve_neg", "conj", "_conj", "conj_physical", "resolve_conj"})
"""Operators that a bit of a view stands for: who may not call them may not copy through the bit either."""


def check_policy(record: Record, policy: Policy) -> None:
    """Whether the record's data movement is what the operator allows.

    Raises:
        BadRecord: a verb, or a lossy conversion, is not allowed.
    """
    draws = 0
    used = {number for number, storage in enumerate(record.storages) if storage.input is not None}
    inputs, moved = set(used), set(used)
    for step in flat(record.steps):
        verb = {Fill: "fill", Draw: "draw"}.get(type(step), "")
        if isinstance(step, Copy):
            verb = _kind_of_copy(step, record, policy, used)
            if policy.inputs_only:
                _check_whole(step, record, moved, placed=verb == "place")
        if verb and verb not in policy.allow:
            raise BadRecord(f"not-allowed-{verb}", f"this operator does not allow a {verb} around its kernels")
        used |= _touched(step)
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
    if policy.inputs_only and any(
        isinstance(v, View) and v.numel and v.storage in moved - inputs for v in record.returns
    ):
        raise BadRecord("copy-returned", "what is returned holds what was copied from an input, not what kernels wrote")


def _kind_of_copy(step: Copy, record: Record, policy: Policy, used: set[int]) -> str:
    """The verb of a copy: `place` unless it fills an allocation that nothing has used, which is a `copy`; where nothing is
    converted and only that is allowed, a `reshape`. A conversion is a `copy` wherever it goes, if copies are forbidden."""
    dst, src = step.dst, step.src
    plain = (dst.dtype, dst.conj, dst.neg) == (src.dtype, src.conj, src.neg)
    if "copy" not in policy.allow and not plain:
        return "copy"
    fresh = dst.storage not in used and _fills(dst, record)
    if dst.numel and not fresh:
        return "place"
    return "reshape" if "reshape" in policy.allow and "copy" not in policy.allow else "copy"


def _check_whole(step: Copy, record: Record, moved: set[int], placed: bool) -> None:
    """Whether a copy is of a whole tensor: an input to fresh memory, or what kernels wrote to the whole of another tensor.

    Args:
        step: the copy.
        record: what it belongs to.
        moved: inputs, and memory to which something of theirs has been copied; the step's target joins.
        placed: it goes to memory that has been used.

    Raises:
        BadRecord: it takes a part or a repetition, or places what no kernel wrote.
    """
    dst, src = step.dst, step.src
    given = {(view.storage, _geometry(view)) for view in record.arguments}
    for view in (src, dst) if placed else (src,):
        if view.numel and (view.storage, _geometry(view)) not in given and not _fills(view, record):
            raise BadRecord(
                "part-copied", "a copy takes a part of a tensor, or repeats it: that is a kernel's business here"
            )
    if src.storage in moved:
        if placed and src.numel:
            raise BadRecord(
                "input-placed", "an input, or its copy, is copied to memory in use: that is a kernel's business"
            )
        moved.add(dst.storage)


def _fills(view: View, record: Record) -> bool:
    """Whether a view is all of an allocation."""
    storage = record.storages[view.storage]
    return storage.input is None and _geometry(view) == (0, ((storage.nbytes, 1),))


def _geometry(view: View) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Which bytes a view takes, whatever the order and the grouping of its dimensions: the first one, and sizes with
    strides from the largest stride to the smallest."""
    width = view.dtype.itemsize
    dims = [(n, s * width) for n, s in zip(view.size, view.stride, strict=True) if n != 1]
    merged: list[tuple[int, int]] = []
    for size, stride in sorted([*dims, (width, 1)], key=lambda d: -d[1]):
        if merged and merged[-1][1] == size * stride and stride:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    return view.offset * width, tuple(m for m in merged if m != (1, 1))


def _touched(step: Step) -> set[int]:
    if isinstance(step, Launch):
        return {v.storage for v in step.views()}
    return {step.dst.storage} if isinstance(step, (Fill, Copy, Draw)) else set()


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
