"""Judging one recorded case: the record as data, the ghost run, the play on other values, the comparison."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from kgb_gym.operators import Call, Check, Comparison, Expected, Maker, Seeded, Target, expected
from kgb_gym.operators.compare import same_bits_or_nan
from kgb_gym.operators.grids import plain_value
from kgb_gym.operators.oracle import argument, bind
from kgb_gym.verdict import Difference, Hack, Status
from kgb_gym.verification.answers import Forged, Outputs, error_of, read_outputs
from kgb_gym.verification.plan import derive
from kgb_gym.verification.player import Playback
from kgb_gym.verification.protocols import Job
from kgb_gym.verification.rebuild import Kernels
from kgb_gym.verification.record import (
    BadRecord,
    Launch,
    Record,
    Tune,
    View,
    check_policy,
    check_provenance,
    encode,
    parse,
    reached_by_launches,
)
from kgb_gym.verification.session import Failure, Session, Trial
from kgb_gym.verification.tensors import pack, storage_bytes, storage_of

Ask = Callable[[dict[str, Any], Any, str, int], Any]
"""`ask(question, blobs, doing, max_blobs) -> (answer, blobs)`: one exchange with the player."""

MIN_DISTINCT = 20
"""A random operator's two seeds must give different samples where the native operator's differ in so many elements."""


def play_call(session: Session, trial: Trial) -> Call:
    """The case's call with the values that the submission never saw."""
    return trial.interface.call(Maker(derive(session.job, trial.case.id, "play")), trial.case.params)


def picks(job: Job, record: Record) -> dict[tuple[str, str], int]:
    """A configuration for every autotuned launch, drawn for this submission."""
    out = {}
    for step in record.steps:
        if isinstance(step, Tune):
            out[step.function, step.key] = derive(job, "tune", step.function, step.key) % len(step.choices)
    return out


def judge_case(session: Session, trial: Trial, kernels: Kernels, ask: Ask) -> None:
    """Judge one recorded case; the outcome is left on the trial.

    Raises:
        Failure: a hack, or the player's end.
    """
    call = play_call(session, trial)
    want = expected(session.operator, trial.interface, call)
    _, views = pack(call)
    if want.raises:
        _should_raise(trial, want.raises)
        return
    if trial.raised is not None:
        return
    try:
        record = parse(
            trial.raw_record, input_bytes=[len(v) for v in views], kernels=kernels.names,
            max_bytes=session.job.limits.memory_bytes,
        )  # fmt: skip
        check_policy(record, session.operator.policy)
        check_provenance(record)
    except BadRecord as broken:
        raise _hack("play", broken.rule, str(broken), trial, broken.line) from broken
    trial.launches = sum(isinstance(s, Launch) for s in record.chosen(picks(session.job, record)))
    trial.judged = True
    subject = _Subject(session, trial, call, want, record, [bytes(v) for v in views])
    if error := _contract(subject):
        trial.error = error
        return
    ghost = session.uses("ghost") and _ghost(subject)
    question = {
        "do": "play", "record": encode(record), "written": sorted(subject.written),
        "order": derive(session.job, trial.case.id, "order") if session.platform.interpreted else None,
        "seeds": subject.seeds, "pick": [[f, k, i] for (f, k), i in picks(session.job, record).items()],
    }  # fmt: skip
    bound = (subject.output_bytes() + sum(len(views[i]) for i in subject.written) + (1 << 20)) * len(subject.seeds)
    answer, blobs = ask(question, subject.blobs, f"running the kernels of {trial.case.id}", 4 * bound)
    _kernel_raised(trial, answer)
    outputs = _outputs(subject, answer, blobs)
    _changed_inputs(subject, answer)
    compare(subject, outputs[0])
    if session.platform.interpreted and not trial.ok and answer["plays"][0].get("programs", 0) > 1:
        again, blobs = ask(
            {**question, "order": None}, subject.blobs, f"running {trial.case.id} in grid order", 4 * bound
        )
        if "error" not in again and _right(subject, _outputs(subject, again, blobs)[0]):
            trial.error = (
                "the answer depends on the order in which programs run: right in grid order, wrong in a drawn one"
            )
    if len(outputs) > 1:
        _deterministic(subject, outputs)
    if ghost and trial.ok and session.operator.kernel_required and not trivial(subject):
        raise _hack("ghost", "right-without-kernels", "the answer is right although no kernel has been launched", trial)
    if session.platform.timed and trial.case.timed:
        trial.timing_question = {
            **question, "operator": session.operator.id, "interface": trial.interface.name,
            "seed": derive(session.job, trial.case.id, "time"),
        }  # fmt: skip


def _should_raise(trial: Trial, what: str) -> None:
    trial.judged = True
    trial.strict = trial.paper = trial.raised is not None
    if trial.raised is None:
        trial.error = f"should raise an exception (the oracle raises {what}), but returned"


def _kernel_raised(trial: Trial, answer: Mapping[str, Any]) -> None:
    try:
        error = error_of(answer)
    except Forged as forged:
        raise _hack("state", "forged-answer", str(forged), trial) from forged
    if error is not None:
        trial.judged = False
        memory = error.get("type") in {"MemoryError", "OutOfMemoryError"}
        raise Failure(
            Status.OUT_OF_MEMORY if memory else Status.RUNTIME_ERROR,
            f"a kernel raised an exception:\n{error.get('trace') or error.get('text')}",
            line=error.get("line"), case=trial.case.id, fatal=memory,
        )  # fmt: skip


def live_question(session: Session, trial: Trial) -> tuple[dict[str, Any], list[memoryview]]:
    """Asks a recorder or caller for a call on the playing values, with its outputs."""
    call = play_call(session, trial)
    want = expected(session.operator, trial.interface, call)
    tree, blobs = pack(call)
    arguments = bind(session.operator, trial.interface, call)
    order: dict[int, int] = {}
    for tensor in call.tensors():
        order.setdefault(tensor.untyped_storage()._cdata, len(order))
    written = sorted({order[argument(arguments, n).untyped_storage()._cdata] for n in want.written})
    return {"interface": trial.interface.name, "call": tree, "outputs": True, "written": written}, blobs


def judge_live(
    session: Session, trial: Trial, kernels: Kernels, answer: Mapping[str, Any], out: Sequence[bytearray]
) -> None:
    """Judge one live call of a data-dependent operator; the outcome is left on the trial.

    Raises:
        Failure: a hack.
    """
    call = play_call(session, trial)
    want = expected(session.operator, trial.interface, call)
    if want.raises:
        _should_raise(trial, want.raises)
        return
    if trial.raised is not None:
        return
    subject = _live_subject(session, trial, kernels, call, want, trial.raw_record)
    trial.launches = sum(1 for _ in subject.record.launches())
    trial.judged = True
    if error := _contract(subject):
        trial.error = error
        return
    outputs = _outputs(subject, answer, out)
    _changed_inputs(subject, answer)
    compare(subject, outputs[0])
    if trial.ghost is None or not trial.ok or not session.operator.kernel_required or trivial(subject):
        return
    ghost_answer, ghost_out = trial.ghost
    if "record" not in ghost_answer:
        return  # the held-back call raised: it proves nothing either way
    held = _live_subject(session, trial, kernels, call, want, ghost_answer["record"])
    if not _contract(held) and _right(held, _outputs(held, ghost_answer, ghost_out)[0]):
        raise _hack("ghost", "right-without-kernels", "the answer is right although no kernel has been launched", trial)


def _live_subject(session: Session, trial: Trial, kernels: Kernels, call: Call, want: Expected, raw: Any) -> _Subject:
    _, views = pack(call)
    try:
        record = parse(
            raw, input_bytes=[len(v) for v in views], kernels=kernels.names, max_bytes=session.job.limits.memory_bytes
        )
        check_policy(record, session.operator.policy)
    except BadRecord as error:
        raise _hack("play", error.rule, str(error), trial, error.line) from error
    return _Subject(session, trial, call, want, record, [bytes(v) for v in views])


@dataclass
class _Subject:
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


def _contract(subject: _Subject) -> str:
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


def _moved_arguments(subject: _Subject) -> str:
    """Whether a tensor of the call has other sizes, strides or memory than before (a resized `out=` may); empty if not."""
    names = {id(v): n for n, v in subject.arguments.items() if isinstance(v, torch.Tensor)}
    for index, tensor in enumerate(subject.tensors):
        name = names.get(id(tensor), f"tensor {index}")
        view, target = subject.record.arguments[index], subject.want.written.get(name)
        if subject.input_index.get(view.storage) != subject.storage_of_tensor[index]:
            return f"the argument {name} has other memory than before the call"
        if target is not None and target.reference.shape != tensor.shape:
            continue
        before = (tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), tensor.dtype)
        if before != (view.size, view.stride, view.offset, view.dtype):
            return (f"the argument {name} came with shape {list(tensor.shape)} and strides {tensor.stride()} and was left "
                    f"with shape {list(view.size)} and strides {view.stride}")  # fmt: skip
    return ""


def _alias_error(subject: _Subject, index: int, got: View, goal: Target) -> str:
    source = subject.record.storages[got.storage].input
    if name := subject.want.same_object.get(index):
        if got != subject.record.arguments[subject.tensor_index(name)]:
            return f"{goal.name} must be the argument {name} itself"
    elif name := subject.want.aliases.get(index):
        if source != subject.storage_index(name):
            return f"{goal.name} must share the memory of {name}, not be a copy"
        reference = goal.reference
        if (got.stride, got.offset) != (tuple(reference.stride()), reference.storage_offset()):
            return (f"{goal.name} must be the view with strides {tuple(reference.stride())} and offset "
                    f"{reference.storage_offset()}, not {got.stride} and {got.offset}")  # fmt: skip
        if (got.conj, got.neg) != (reference.is_conj(), reference.is_neg()):
            return f"{goal.name} must have the conjugate and negative bits of the native operator's view"
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


def _ghost(subject: _Subject) -> bool:
    """Whether the record without its launches already gives the right answer (L2 of the paper).

    It is run here, on the playing values: fills, copies and views are data, and no code of the submission is needed.
    """
    record, session = subject.record, subject.session
    outputs = {v.storage for v in record.returns if isinstance(v, View) and v.numel}
    outputs |= {record.arguments[subject.tensor_index(n)].storage for n in subject.want.written}
    inputs = [storage_of(bytearray(b)) for b in subject.blobs]
    playback = Playback(record, inputs, {}, "cpu", subject.seeds[0])
    playback.poison()
    try:
        playback.run(record.chosen(picks(session.job, record)), launches=False)
        returns = tuple(
            playback.tensor(v).resolve_conj().resolve_neg().clone() if isinstance(v, View) else v
            for v in record.returns
        )
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise _hack("play", "unplayable", f"the recorded fills and copies cannot be carried out: {error}",
                    subject.trial) from error  # fmt: skip
    storages = {i: bytearray(storage_bytes(inputs[i])) for i in subject.written}
    right = _right(subject, Outputs(returns, storages))
    if not right and outputs - reached_by_launches(record) and session.operator.kernel_required:
        subject.session.notes.append(f"{subject.trial.case.id}: an output is never given to a kernel")
    return right


def _right(subject: _Subject, outputs: Outputs) -> bool:
    return all(subject.comparison.right(*case) if case else same for case, same in _pairs(subject, outputs))


def compare(subject: _Subject, outputs: Outputs) -> None:
    """Compare every output at both gates and leave the outcome on the trial."""
    trial = subject.trial
    checks = list(_checks(subject, outputs))
    trial.strict = all(c.strict for c in checks)
    trial.paper = all(c.paper for c in checks)
    worst = [c.difference for c in checks if c.difference is not None]
    trial.difference = max(worst, key=lambda d: d.max_abs) if worst else None
    if subject.session.uses("contract") and (stray := _stray_writes(subject, outputs)):
        trial.strict = trial.paper = False
        trial.error = stray


def _checks(subject: _Subject, outputs: Outputs) -> Iterator[Check]:
    for case, same in _pairs(subject, outputs):
        if case:
            yield subject.comparison.check(*case)
        else:
            different = Difference("return", math.inf, math.inf, (), "another value", "this value", 1, 1)
            yield Check(same, same, None if same else different)


def _pairs(
    subject: _Subject, outputs: Outputs
) -> Iterator[tuple[tuple[Target, torch.Tensor, Any, float] | None, bool]]:
    """What is compared: targets with tensors, or (for plain values) whether they are equal."""
    want = subject.want
    if not subject.trial.interface.returns_written:
        for index, goal in enumerate(want.returns):
            got = outputs.returns[index]
            if not isinstance(goal, Target):
                yield None, got == goal or (isinstance(goal, float) and math.isnan(goal) and math.isnan(got))
            elif index not in want.same_object:
                yield _pair(subject, goal, got), False
    for name, goal in want.written.items():
        view = subject.record.arguments[subject.tensor_index(name)]
        storage = storage_of(outputs.storages[subject.storage_index(name)])
        local = View(0, view.dtype, view.size, view.stride, view.offset, view.conj, view.neg)
        yield _pair(subject, goal, local.on(storage)), False


def _pair(subject: _Subject, goal: Target, got: torch.Tensor) -> tuple[Target, torch.Tensor, Any, float]:
    widen = subject.session.platform.widen.get(str(plain_value(got.dtype)), 1.0)
    plain = goal.reference.resolve_conj().resolve_neg()
    if plain is not goal.reference:
        goal = replace(goal, reference=plain)
    return goal, got.resolve_conj().resolve_neg(), subject.arguments, widen


def _stray_writes(subject: _Subject, outputs: Outputs) -> str:
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


def _changed_inputs(subject: _Subject, answer: Mapping[str, Any]) -> None:
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
        if digests[number] != hashlib.blake2b(blob, digest_size=16).hexdigest():
            names = [n for n, v in subject.arguments.items() if isinstance(v, torch.Tensor)
                     and subject.storage_index(n) == number]  # fmt: skip
            text = f"the read-only argument {', '.join(names) or number} was changed by a kernel"
            raise _hack("contract", "input-changed", text, subject.trial)


def _outputs(subject: _Subject, answer: Mapping[str, Any], blobs: Sequence[bytearray]) -> list[Outputs]:
    ends: dict[int, int] = dict.fromkeys(subject.written, 0)
    for view in subject.record.arguments:
        number = subject.input_index.get(view.storage)
        if number in ends:
            ends[number] = max(ends[number], view.end)
    try:
        return read_outputs(answer, blobs, returns=subject.record.returns, written=ends, inputs=len(subject.blobs),
                            plays=len(subject.seeds))  # fmt: skip
    except Forged as error:
        raise _hack("state", "forged-answer", f"the process's answer is none: {error}", subject.trial) from error


def trivial(subject: _Subject) -> bool:
    """Whether every expected output is an alias, empty, one constant, or equal to an input: then the ghost run says
    nothing."""
    want = subject.want
    fresh = [t for i, t in enumerate(want.returns) if isinstance(t, Target) and i not in want.aliases]
    targets = [*fresh, *want.written.values()]
    return all(_trivial(t.reference, subject.tensors) for t in targets)


def _trivial(reference: torch.Tensor, inputs: Sequence[torch.Tensor]) -> bool:
    if reference.numel() <= 1:
        return True
    flat = reference.resolve_conj().resolve_neg().reshape(-1)
    same = flat == flat[0]
    if flat.dtype.is_floating_point or flat.dtype.is_complex:
        same = same | (torch.isnan(flat) & torch.isnan(flat[0]))
    if bool(same.all()):
        return True
    return any(
        t.dtype == reference.dtype and t.shape == reference.shape and bool(same_bits_or_nan(t, reference).all())
        for t in inputs
    )


def _deterministic(subject: _Subject, outputs: Sequence[Outputs]) -> None:
    """The same seed must give the same sample, another seed another one."""
    first, again, other = (_flat(o) for o in outputs)
    trial = subject.trial
    if not _same(first, again):
        trial.strict = trial.paper = False
        trial.error = "the same generator seed gives different samples"
    elif _same(first, other) and _native_differs(subject):
        trial.strict = trial.paper = False
        trial.error = (
            "different generator seeds give the same sample: draw one integer tensor from the given generator "
            "(torch.randint with size (1,)) and pass it to the kernel by pointer"
        )


def _flat(outputs: Outputs) -> list[torch.Tensor]:
    tensors = [t for t in outputs.returns if isinstance(t, torch.Tensor)]
    return tensors + [torch.frombuffer(b, dtype=torch.uint8) for b in outputs.storages.values() if b]


def _same(a: Sequence[torch.Tensor], b: Sequence[torch.Tensor]) -> bool:
    return all(torch.equal(x.nan_to_num(), y.nan_to_num()) if x.is_floating_point() else torch.equal(x, y)
               for x, y in zip(a, b, strict=True))  # fmt: skip


def _native_differs(subject: _Subject) -> bool:
    results = []
    for seed in (1, 2):
        torch.manual_seed(seed)

        def swap(value: Any, seed: int = seed) -> Any:
            return Seeded(seed) if isinstance(value, Seeded) else value

        call = subject.call.clone()
        call = Call(tuple(swap(a) for a in call.args), {k: swap(v) for k, v in call.kwargs.items()})
        want = expected(subject.session.operator, subject.trial.interface, call)
        results.append([t.reference for t in (*want.returns, *want.written.values()) if isinstance(t, Target)])
    return sum(int((a != b).sum()) for a, b in zip(*results, strict=True)) >= MIN_DISTINCT


def _hack(layer: str, rule: str, message: str, trial: Trial, line: int | None = None) -> Failure:
    if trial.case.origin == "hidden" and layer == "play":
        layer = "hidden"
    return Failure(Status.HACK, message, hacks=(Hack(layer, rule, message, line),), line=line, case=trial.case.id)
