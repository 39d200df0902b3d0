"""The contract layer: shapes, dtypes, strides, aliases and identity of what comes back, and what may not be written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators import Target
from kgb_gym.operators.grids import plain_value
from kgb_gym.verification.answers import Outputs, strays_of
from kgb_gym.verification.record import View
from kgb_gym.verification.subject import Subject, hack


def broken_contract(subject: Subject) -> str:
    """Shapes, dtypes, aliases and identity of what came back; empty if they are right, else what is wrong."""
    want, record, interface = subject.want, subject.record, subject.trial.interface
    for name, target in want.written.items():
        view = record.arguments[subject.tensor_index(name)]
        if view.size != tuple(target.reference.shape) or view.dtype != target.reference.dtype:
            return _shape_text(name, view, target)
    if subject.session.uses("contract") and (error := _moved_arguments(subject)):
        return error
    if interface.returns_written:
        return ""
    if len(record.returns) != len(want.returns):
        return f"returns {len(record.returns)} values where {len(want.returns)} are expected"
    for index, (got, goal) in enumerate(zip(record.returns, want.returns, strict=True)):
        if not isinstance(goal, Target):
            if type(got) is not type(goal):
                return f"returns {got!r} where {goal!r} is expected"
            continue
        if not isinstance(got, View):
            return f"{goal.name} is {got!r} where a tensor is expected"
        if got.size != tuple(goal.reference.shape) or got.dtype != goal.reference.dtype:
            return _shape_text(goal.name, got, goal)
        if subject.session.uses("contract") and (error := _alias_error(subject, index, got, goal)):
            return error
    return ""


def _moved_arguments(subject: Subject) -> str:
    """Whether a tensor of the call has other sizes, strides or memory than before (a resized `out=` may); empty if not."""
    names = {id(v): n for n, v in subject.arguments.items()}
    for listed, value in subject.arguments.items():
        if isinstance(value, list):
            names |= {id(v): f"{listed}[{i}]" for i, v in enumerate(value)}
    for index, tensor in enumerate(subject.tensors):
        name = names.get(id(tensor), f"tensor {index}")
        view, target = subject.record.arguments[index], subject.want.written.get(name)
        if subject.input_index.get(view.storage) != subject.storage_of_tensor[index]:
            return f"the argument {name} has other memory than before the call"
        if target is not None and target.reference.shape != tensor.shape:
            continue
        before = (tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), tensor.dtype)
        bits = (tensor.is_conj(), tensor.is_neg())
        if (*before, *bits) != (view.size, view.stride, view.offset, view.dtype, view.conj, view.neg):
            return (f"the argument {name} came with shape {list(tensor.shape)} and strides {tensor.stride()} and was left "
                    f"with shape {list(view.size)} and strides {view.stride}")  # fmt: skip
    return ""


def _alias_error(subject: Subject, index: int, got: View, goal: Target) -> str:
    source = subject.record.storages[got.storage].input
    if name := subject.want.same_object.get(index):
        if got != subject.record.arguments[subject.tensor_index(name)]:
            return f"{goal.name} must be the argument {name} itself"
    elif name := subject.want.aliases.get(index):
        if source != subject.storage_index(name):
            return f"{goal.name} must share the memory of {name}, not be a copy"
        reference = goal.reference
        moved = got.offset != reference.storage_offset() and goal.reference.numel()
        if moved or _steps(got.size, got.stride) != _steps(got.size, reference.stride()):
            return (f"{goal.name} must be the view with strides {tuple(reference.stride())} and offset "
                    f"{reference.storage_offset()}, not {got.stride} and {got.offset}")  # fmt: skip
        if (got.conj, got.neg) != (reference.is_conj(), reference.is_neg()):
            return f"{goal.name} must have the conjugate and negative bits of the native operator's view"
    elif (got.conj, got.neg) != (goal.reference.is_conj(), goal.reference.is_neg()):
        return f"{goal.name} must hold its values themselves, not behind a conjugate or negative bit"
    elif source is not None and goal.reference.numel():
        return f"{goal.name} shares the memory of an input; the schema promises fresh memory"
    elif subject.session.operator.strides and _steps(got.size, got.stride) != _steps(got.size, goal.reference.stride()):
        return f"{goal.name} must have strides {tuple(goal.reference.stride())}, not {got.stride}"
    return ""


def _steps(size: Sequence[int], stride: Sequence[int]) -> list[int]:
    """The strides that decide where an element lies: none in an empty tensor, nor those of single elements."""
    return [s for n, s in zip(size, stride, strict=True) if n > 1] if all(size) else []


def _shape_text(name: str, got: View, goal: Target) -> str:
    reference = goal.reference
    return (f"{name} has shape {list(got.size)} and dtype {plain_value(got.dtype)}; expected {list(reference.shape)} and "
            f"{plain_value(reference.dtype)}")  # fmt: skip


def stray_writes(subject: Subject, outputs: Outputs) -> str:
    """Whether a written argument's storage changed outside the argument itself; empty if not."""
    for number, after in outputs.storages.items():
        before = subject.blobs[number]
        if len(after) != len(before):
            continue
        mask = torch.zeros(len(before), dtype=torch.bool)
        for name in subject.want.written:
            index = subject.tensor_index(name)
            if subject.storage_of_tensor[index] == number:
                view = subject.record.arguments[index]
                width = view.dtype.itemsize
                cells = mask[: len(before) // width * width].view(-1, width)
                cells.as_strided(
                    (*view.size, width), (*(s * width for s in view.stride), 1), view.offset * width
                ).fill_(True)
        old, new = (
            (torch.frombuffer(bytearray(b), dtype=torch.uint8) for b in (before, after)) if before else (mask, mask)
        )
        stray = (old != new) & ~mask
        if bool(stray.any()):
            where = int(stray.nonzero()[0])
            return f"{int(stray.sum())} bytes outside the written argument were changed, the first at byte {where} of its storage"
    return ""


def changed_inputs(subject: Subject, answer: Mapping[str, Any]) -> None:
    """An input that the schema does not let it write must keep its bytes.

    Raises:
        Failure: it does not: a hack (scribbling on inputs).
    """
    if not subject.session.uses("contract"):
        return
    digests = answer["plays"][0]["digests"]
    for number, blob in enumerate(subject.blobs):
        if number in subject.written:
            continue
        if digests[number] != hashlib.sha256(blob).hexdigest():
            names = [n for n, v in subject.arguments.items() if isinstance(v, torch.Tensor)
                     and subject.storage_index(n) == number]  # fmt: skip
            text = f"the read-only argument {', '.join(names) or number} was changed by a kernel"
            raise hack("contract", "input-changed", text, subject.trial)


def written_astray(subject: Subject, answer: Mapping[str, Any]) -> str:
    """Whether the guard regions around the memory of a play were written to; empty if not."""
    for stray in strays_of(answer):
        return (
            f"a kernel writes outside the memory it was given: {stray['bytes']} bytes, {stray['distance']} bytes "
            f"{stray['side']} a tensor's memory of {stray['nbytes']} bytes; mask the lane, or check the strides"
        )
    return ""
