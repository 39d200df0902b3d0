"""One case while it is judged: its call on the playing values, what that should give, and the record as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kgb_gym.operators import Call, Comparison, Expected, Interface, Maker, Operator
from kgb_gym.operators.oracle import argument, bind
from kgb_gym.verdict import Hack, Status
from kgb_gym.verification.answers import Forged, Outputs, read_outputs
from kgb_gym.verification.plan import derive
from kgb_gym.verification.protocols import Job
from kgb_gym.verification.rebuild import Kernels
from kgb_gym.verification.record import BadRecord, Record, Tune, View, parse
from kgb_gym.verification.rules import check_policy, check_provenance
from kgb_gym.verification.session import Failure, Session, Trial


def play_call(session: Session, trial: Trial) -> Call:
    """The case's call with the values that the submission never saw."""
    return trial.interface.call(Maker(derive(session.job, trial.case.id, "play")), trial.case.params)


def readable(operator: Operator, interface: Interface, call: Call) -> list[int]:
    """Which tensors of a call, in order, are numbers that a submission may read on the host."""
    arguments = bind(operator, interface, call)
    may = [id(arguments[name]) for name in interface.reads if isinstance(arguments.get(name), torch.Tensor)]
    return [index for index, tensor in enumerate(call.tensors()) if id(tensor) in may]


def picks(job: Job, record: Record) -> dict[tuple[str, str], int]:
    """A configuration for every autotuned launch, drawn for this submission."""
    out = {}
    for step in record.steps:
        if isinstance(step, Tune):
            out[step.function, step.key] = derive(job, "tune", step.function, step.key) % len(step.choices)
    return out


@dataclass
class Subject:
    """Everything about one case that the checks share."""

    session: Session
    trial: Trial
    call: Call
    want: Expected
    record: Record
    blobs: list[bytes]

    def __post_init__(self) -> None:
        self.arguments = bind(self.session.operator, self.trial.interface, self.call)
        tensors = self.call.tensors()
        order: dict[int, int] = {}
        for tensor in tensors:
            order.setdefault(tensor.untyped_storage()._cdata, len(order))
        self.tensors = tensors
        self.storage_of_tensor = [order[t.untyped_storage()._cdata] for t in tensors]
        self.input_index = {  # record storage number -> input storage number
            number: s.input for number, s in enumerate(self.record.storages) if s.input is not None
        }
        self.written = {self.storage_index(name) for name in self.want.written}
        first = derive(self.session.job, self.trial.case.id, "draw") % 2**31
        # Determinism under a seed takes two more plays: on every hidden case and on a third of the others.
        again = (
            self.session.operator.random
            and not self.session.operator.data_dependent
            and (self.trial.case.origin == "hidden" or first % 3 == 0)
        )
        other = derive(self.session.job, self.trial.case.id, "draw again") % 2**31
        self.seeds = [first, first, other] if again else [first]

    @property
    def comparison(self) -> Comparison:
        return self.trial.interface.compare or self.session.operator.compare

    def tensor_index(self, name: str) -> int:
        value = argument(self.arguments, name)
        return next(i for i, t in enumerate(self.tensors) if t is value)

    def storage_index(self, name: str) -> int:
        return self.storage_of_tensor[self.tensor_index(name)]

    def output_bytes(self) -> int:
        return sum(v.numel * v.dtype.itemsize for v in self.record.returns if isinstance(v, View))


def subject_of(
    session: Session, trial: Trial, kernels: Kernels, call: Call, want: Expected, blobs: list[bytes]
) -> Subject:
    """Everything about one case, its record checked as data.

    Args:
        session: the verification.
        trial: the case, recorded.
        kernels: the submission's jitted functions.
        call: the case's call on the playing values.
        want: what that should give.
        blobs: the bytes of the call's storages.

    Raises:
        Failure: the record is malformed or holds what the operator does not allow: a hack.
    """
    try:
        record = parse(
            trial.raw_record, input_bytes=[len(b) for b in blobs], kernels=kernels.names,
            max_bytes=session.job.limits.memory_bytes,
        )  # fmt: skip
        check_policy(record, session.operator.policy)
        check_provenance(record)
    except BadRecord as broken:
        raise hack("play", broken.rule, str(broken), trial, broken.line) from broken
    return Subject(session, trial, call, want, record, blobs)


def outputs_of(subject: Subject, answer: Mapping[str, Any], blobs: Sequence[bytearray]) -> list[Outputs]:
    ends: dict[int, int] = dict.fromkeys(subject.written, 0)
    for view in subject.record.arguments:
        number = subject.input_index.get(view.storage)
        if number in ends:
            ends[number] = max(ends[number], view.end)
    try:
        return read_outputs(answer, blobs, returns=subject.record.returns, written=ends, inputs=len(subject.blobs),
                            plays=len(subject.seeds))  # fmt: skip
    except Forged as error:
        raise hack("state", "forged-answer", f"the process's answer is none: {error}", subject.trial) from error


def hack(layer: str, rule: str, message: str, trial: Trial, line: int | None = None) -> Failure:
    if trial.case.origin == "hidden" and layer == "play":
        layer = "hidden"
    return Failure(Status.HACK, message, hacks=(Hack(layer, rule, message, line),), line=line, case=trial.case.id)
