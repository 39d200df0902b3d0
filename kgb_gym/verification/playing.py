"""Judging one recorded case: the record as data, the ghost run, the play on other values, the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from kgb_gym.operators import Call, Check, Seeded, Target, expected
from kgb_gym.operators.compare import same_bits_or_nan
from kgb_gym.operators.grids import plain_value
from kgb_gym.verdict import Difference, Status
from kgb_gym.verification import telling
from kgb_gym.verification.answers import Forged, Outputs, error_of
from kgb_gym.verification.contract import broken_contract, changed_inputs, stray_writes, written_astray
from kgb_gym.verification.emulate import refused_launch
from kgb_gym.verification.foresight import Foresight
from kgb_gym.verification.plan import derive
from kgb_gym.verification.player import Playback
from kgb_gym.verification.protocols import Threads
from kgb_gym.verification.rebuild import Kernels
from kgb_gym.verification.record import Launch, View, encode
from kgb_gym.verification.rules import reached_by_launches
from kgb_gym.verification.session import DeviceLost, Failure, Session, Trial, lost
from kgb_gym.verification.subject import Subject, hack, outputs_of, picks, play_call, subject_of
from kgb_gym.verification.tensors import pack, poison_byte, storage_bytes, storage_of

Ask = Callable[[dict[str, Any], Any, str, int], Any]
"""`ask(question, blobs, doing, max_blobs) -> (answer, blobs)`: one exchange with the player."""

MIN_DISTINCT = 20
"""A random operator's two seeds must give different samples where the native operator's differ in so many elements."""


@dataclass(frozen=True)
class Prepared:
    """A case made ready to be played. The trial is as it was: another case may be at work, and end the verification."""

    trial: Trial
    raises: str = ""
    """The exception of the oracle, where the call should raise one."""
    subject: Subject | None = None
    """None where there is nothing to play."""
    broken: str = ""
    """A broken contract, in words."""
    ghost: bool = False
    """The answer is right without any launch."""
    launches: int = 0
    question: Mapping[str, Any] = field(default_factory=dict)
    max_blobs: int = 0


def prepare(session: Session, trial: Trial, kernels: Kernels, foresight: Foresight) -> Prepared:
    """Make the inputs, the oracle, the record as data and the ghost run of one recorded case.

    Raises:
        Failure: a hack; or a launch that an emulated platform refuses.
    """
    call, want, blobs = foresight.take(trial)
    if want.raises or trial.raised is not None:
        return Prepared(trial, want.raises or "")
    subject = subject_of(session, trial, kernels, call, want, blobs)
    record = subject.record
    pick = picks(session.job, record)
    chosen = record.chosen(pick)
    launches = [s for s in chosen if isinstance(s, Launch)]
    if session.job.kind in ("run", "profile"):
        trial.told = telling.steps(trial.case.id, chosen)
    for launch in launches:
        if text := refused_launch(launch, session.platform):
            trial.launches = len(launches)
            raise Failure(Status.RUNTIME_ERROR, text, line=launch.line, case=trial.case.id, fatal=False)
    if error := broken_contract(subject):
        return Prepared(trial, subject=subject, broken=error, launches=len(launches))
    with session.clock("ghost"):
        ghost = session.uses("ghost") and _ghost(subject)
    question = {
        "do": "play", "record": encode(record), "written": sorted(subject.written),
        "order": derive(session.job, trial.case.id, "order") if session.platform.interpreted else None,
        "seeds": subject.seeds, "pick": [[f, k, i] for (f, k), i in pick.items()],
    }  # fmt: skip
    bound = (subject.output_bytes() + sum(len(subject.blobs[i]) for i in subject.written) + (1 << 20)) * len(
        subject.seeds
    )
    return Prepared(trial, subject=subject, ghost=ghost, launches=len(launches), question=question, max_blobs=4 * bound)


def judge_case(session: Session, ready: Prepared, played: Callable[[], Any], ask: Ask) -> None:
    """Judge one case; the outcome is left on the trial.

    Args:
        session: the verification.
        ready: the case.
        played: waits for the player's answer to the case's question.
        ask: asks the player something more.

    Raises:
        Failure: a hack, or the player's end.
    """
    trial, subject = ready.trial, ready.subject
    if ready.raises:
        _should_raise(trial, ready.raises)
    if subject is None:
        return
    trial.launches, trial.judged = ready.launches, True
    if ready.broken:
        trial.error = ready.broken
        return
    answer, blobs = played()
    _kernel_raised(trial, answer)
    outputs = outputs_of(subject, answer, blobs)
    changed_inputs(subject, answer)
    compare(subject, outputs[0])
    if session.job.kind == "run":
        trial.told += [telling.output(case[0], case[1]) for case, _ in _pairs(subject, outputs[0]) if case]
    if stray := written_astray(subject, answer):
        trial.strict = trial.paper = False
        trial.error = stray
    if session.platform.interpreted and not trial.ok and answer["plays"][0].get("programs", 0) > 1:
        again, blobs = ask(
            {**ready.question, "order": None}, subject.blobs, f"running {trial.case.id} in grid order", ready.max_blobs
        )
        if "error" not in again and _right(subject, outputs_of(subject, again, blobs)[0]):
            trial.error = (
                "the answer depends on the order in which programs run: right in grid order, wrong in a drawn one"
            )
    if len(outputs) > 1:
        _deterministic(subject, outputs)
    needed = session.operator.kernel_required
    if ready.ghost and trial.ok and needed and not trivial(subject):
        raise hack("ghost", "right-without-kernels", "the answer is right although no kernel has been launched", trial)
    if session.platform.timed and trial.case.timed:
        trial.timing_question = {
            **ready.question, "operator": session.operator.id, "interface": trial.interface.name,
            "seed": derive(session.job, trial.case.id, "time"),
        }  # fmt: skip


def judge_again(
    session: Session, trial: Trial, kernels: Kernels, answer: Mapping[str, Any], blobs: Sequence[bytearray]
) -> None:
    """Judge what a timed loop left behind: after hundreds of runs the answer must still be right.

    Raises:
        Failure: an input was changed, or the answer is none.
    """
    subject = subject_of(session, trial, kernels, *Foresight(session, [], Threads()).take(trial))
    subject.seeds = subject.seeds[:1]
    outputs = outputs_of(subject, answer, blobs)
    changed_inputs(subject, answer)
    compare(subject, outputs[0])
    if not trial.ok and not trial.error:
        trial.error = "right at first, wrong after the timed loop: the kernels count on what an earlier run left"


def judge_refusals(session: Session) -> None:
    """Where nothing is played: the calls that raised an exception are right if the oracle refuses them too."""
    for trial in session.trials:
        if trial.raised is not None:
            want = expected(session.operator, trial.interface, play_call(session, trial))
            if want.raises:
                _should_raise(trial, want.raises)


def _should_raise(trial: Trial, what: str) -> None:
    trial.judged = True
    trial.strict = trial.paper = trial.raised is not None
    if trial.raised is None:
        trial.error = f"should raise an exception (the oracle raises {what}), but returned"


def _kernel_raised(trial: Trial, answer: Mapping[str, Any]) -> None:
    try:
        error = error_of(answer)
    except Forged as forged:
        raise hack("state", "forged-answer", str(forged), trial) from forged
    if error is not None:
        trial.judged = False
        if lost(error):
            raise DeviceLost(f"the device failed while {trial.case.id} was played: {error.get('text')}")
        memory = error.get("type") in {"MemoryError", "OutOfMemoryError"}
        raise Failure(
            Status.OUT_OF_MEMORY if memory else Status.RUNTIME_ERROR,
            f"a kernel raised an exception:\n{error.get('trace') or error.get('text')}",
            line=error.get("line"), case=trial.case.id, fatal=memory,
        )  # fmt: skip


def live_question(session: Session, trial: Trial) -> tuple[dict[str, Any], list[memoryview]]:
    """Asks a recorder or caller for a call on the playing values."""
    tree, blobs = pack(play_call(session, trial))
    order = derive(session.job, trial.case.id, "order")
    return {"interface": trial.interface.name, "call": tree, "order": order}, blobs


def _ghost(subject: Subject) -> bool:
    """Whether the record without its launches already gives the right answer (L2 of the paper).

    It is run here, on the playing values: fills, copies and views are data, and no code of the submission is needed.
    """
    record, session = subject.record, subject.session
    outputs = {v.storage for v in record.returns if isinstance(v, View) and v.numel}
    outputs |= {record.arguments[subject.tensor_index(n)].storage for n in subject.want.written}
    inputs = [storage_of(bytearray(b), resizable=True) for b in subject.blobs]
    playback = Playback(record, inputs, {}, "cpu", subject.seeds[0])
    playback.poison()
    try:
        playback.run(record.chosen(picks(session.job, record)), launches=False)
        returns = tuple(
            playback.tensor(v).resolve_conj().resolve_neg().clone() if isinstance(v, View) else v
            for v in record.returns
        )
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise hack("play", "unplayable", f"the recorded fills and copies cannot be carried out: {error}",
                    subject.trial) from error  # fmt: skip
    storages = {i: bytearray(storage_bytes(inputs[i])) for i in subject.written}
    right = _right(subject, Outputs(returns, storages))
    if not right and outputs - reached_by_launches(record) and session.operator.kernel_required:
        subject.session.notes.append(f"{subject.trial.case.id}: an output is never given to a kernel")
    return right


def _right(subject: Subject, outputs: Outputs) -> bool:
    return all(subject.comparison.right(*case) if case else same for case, same in _pairs(subject, outputs))


def compare(subject: Subject, outputs: Outputs) -> None:
    """Compare every output at both gates and leave the outcome on the trial."""
    trial = subject.trial
    checks = list(_checks(subject, outputs))
    trial.strict = all(c.strict for c in checks)
    trial.paper = all(c.paper for c in checks)
    worst = [c.difference for c in checks if c.difference is not None]
    trial.difference = max(worst, key=lambda d: d.max_abs) if worst else None
    if trial.difference is not None and (holes := _unwritten(subject, outputs)):
        trial.difference = replace(trial.difference, note=f"{trial.difference.note}, {holes} elements never written")
    if subject.session.uses("contract") and (stray := stray_writes(subject, outputs)):
        trial.strict = trial.paper = False
        trial.error = stray


def _unwritten(subject: Subject, outputs: Outputs) -> int:
    """How many elements of the returned tensors still hold the poison that allocations are filled with."""
    count = 0
    for value in outputs.returns:
        if not isinstance(value, torch.Tensor) or value.dtype is torch.bool or not value.numel():
            continue
        width = value.dtype.itemsize
        byte = poison_byte(value.dtype, player=True)
        cells = value.reshape(-1).view(torch.uint8).view(-1, width)
        count += int((cells == byte).all(1).sum())
    return count


def _checks(subject: Subject, outputs: Outputs) -> Iterator[Check]:
    for case, same in _pairs(subject, outputs):
        if case:
            yield subject.comparison.check(*case)
        else:
            different = Difference("return", math.inf, math.inf, (), "another value", "this value", 1, 1)
            yield Check(same, same, None if same else different)


def _pairs(subject: Subject, outputs: Outputs) -> Iterator[tuple[tuple[Target, torch.Tensor, Any, float] | None, bool]]:
    """What is compared: targets with tensors, or (for plain values) whether they are equal.

    The arguments that a comparison is given hold all outputs under `outputs`, by their targets' names: some operators
    promise that two of them fit each other.
    """
    want = subject.want
    pairs = []
    if not subject.trial.interface.returns_written:
        for index, goal in enumerate(want.returns):
            got = outputs.returns[index]
            if not isinstance(goal, Target):
                yield None, got == goal or (isinstance(goal, float) and math.isnan(goal) and math.isnan(got))
            elif index not in want.same_object:
                pairs.append(_pair(subject, goal, got))
    for name, goal in want.written.items():
        view = subject.record.arguments[subject.tensor_index(name)]
        storage = storage_of(outputs.storages[subject.storage_index(name)])
        local = View(0, view.dtype, view.size, view.stride, view.offset, view.conj, view.neg)
        pairs.append(_pair(subject, goal, local.on(storage)))
    arguments = {**subject.arguments, "outputs": {goal.name: got for goal, got, _ in pairs}}
    for goal, got, widen in pairs:
        yield (goal, got, arguments, widen), False


def _pair(subject: Subject, goal: Target, got: torch.Tensor) -> tuple[Target, torch.Tensor, float]:
    widen = subject.session.platform.widen.get(str(plain_value(got.dtype)), 1.0)
    plain = goal.reference.resolve_conj().resolve_neg()
    if plain is not goal.reference:
        goal = replace(goal, reference=plain)
    return goal, got.resolve_conj().resolve_neg(), widen


def trivial(subject: Subject) -> bool:
    """Whether every expected output is an alias, empty, one constant, or (as far as the comparison can tell) an input:
    then the ghost run says nothing."""
    want = subject.want
    fresh = [t for i, t in enumerate(want.returns) if isinstance(t, Target) and i not in want.aliases]
    targets = [*fresh, *want.written.values()]
    right = {t.name: t.reference for t in targets}
    return all(_trivial(t.reference, subject.tensors) or _kept(subject, t, right) for t in targets)


def _kept(subject: Subject, target: Target, right: Mapping[str, torch.Tensor]) -> bool:
    """Whether an input would pass for the target, the other outputs being right: `C + 0.001 * A * B` is C, in fp16."""
    like = [t for t in subject.tensors if t.dtype == target.reference.dtype and t.shape == target.reference.shape]
    for tensor in like:
        goal, got, widen = _pair(subject, target, tensor)
        if subject.comparison.right(goal, got, {**subject.arguments, "outputs": {**right, goal.name: got}}, widen):
            return True
    return False


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


def _deterministic(subject: Subject, outputs: Sequence[Outputs]) -> None:
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


def _native_differs(subject: Subject) -> bool:
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
