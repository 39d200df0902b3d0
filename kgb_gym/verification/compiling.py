"""Compiling what was recorded: a process of its own for each chip, one thread that feeds them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kgb_gym.verdict import KernelCode, Status, TargetResult
from kgb_gym.verification import wire
from kgb_gym.verification.compiler import Variant, depth_plan, encode_variant, variant
from kgb_gym.verification.emulate import hangs
from kgb_gym.verification.plan import derive
from kgb_gym.verification.protocols import Ended
from kgb_gym.verification.rebuild import Kernels
from kgb_gym.verification.record import BadRecord, Launch, Record, parse
from kgb_gym.verification.session import Failure, Session, Trial, Worker
from kgb_gym.verification.subject import picks
from kgb_gym.verification.targets import named


class CompileRun:
    """Compiles every launched function of a session, as each case launched it, for each target.

    Args:
        session: with its trials recorded.
        kernels: the rebuilt module.
        targets: names of `targets.TARGETS`.
        spawn: gives a compiler that has not been asked anything.
        limit_s: wall seconds for each target; None: what is left of the session's.
        whole: compile the largest specialisation to machine code too, not the smallest alone.
    """

    def __init__(
        self, session: Session, kernels: Kernels, targets: Sequence[str], spawn: Callable[[], Worker],
        *, limit_s: float | None = None, whole: bool = False,
    ) -> None:  # fmt: skip
        self._session = session
        self._kernels = kernels
        self._limit_s = limit_s
        self._whole = whole
        self._runs = [_Target(name, spawn(), session) for name in targets]
        self._wanted: dict[Variant, list[Trial]] = {}
        self._seconds = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Collect the variants and begin to compile."""
        for trial in self._session.trials:
            for item in self._variants(trial):
                self._wanted.setdefault(item, []).append(trial)
        if self._wanted:
            self._thread.start()

    def finish(self) -> tuple[TargetResult, ...]:
        """Wait for the rest; what came of each target, in order."""
        if self._wanted:
            limit = self._session.deadline - time.monotonic()
            if self._limit_s is not None:
                limit = self._limit_s * len(self._runs)
            with self._session.clock("compile_wait"):
                self._thread.join(max(0.0, limit) + 5)
            self._session.durations["compile"] = self._session.durations.get("compile", 0.0) + self._seconds
        return tuple(run.result() for run in self._runs)

    def mark(self) -> None:
        """Mark the trials whose launches do not compile.

        Raises:
            Failure: a compiler did not end in time, or died.
        """
        for run in self._runs:
            if run.failure is not None:
                raise run.failure
        for run in self._runs:
            for item, (text, _) in run.errors.items():
                for trial in self._wanted[item]:
                    trial.compile_error = "\n".join(filter(None, (trial.compile_error, text)))

    def stop(self) -> None:
        """End the workers. May be called at any time."""
        for run in self._runs:
            run.process.end()
        if self._thread.is_alive():
            self._thread.join(5)

    def _variants(self, trial: Trial) -> list[Variant]:
        record = parsed(trial, self._kernels, self._session)
        if record is None:
            return []
        steps = list(record.launches())
        if self._session.job.kind != "compile":
            steps = [s for s in record.chosen(picks(self._session.job, record)) if isinstance(s, Launch)]
        return [variant(s, self._kernels.constexprs[s.function]) for s in steps]

    def _run(self) -> None:
        head = {"text": self._kernels.text, "names": sorted(self._kernels.names)}
        plan = depth_plan(self._wanted, largest=self._whole)
        for run in self._runs:
            deadline = self._session.deadline if self._limit_s is None else time.monotonic() + self._limit_s
            self._seconds += run.compile(head, plan, deadline)
            run.process.end()


class _Target:
    """One chip: its compiler, and what came of it so far."""

    def __init__(self, name: str, process: Worker, session: Session) -> None:
        self._session = session
        self._emulated = session.platform.name if session.platform.emulation is not None else ""
        self.name = name
        self.process = process
        self.errors: dict[Variant, tuple[str, int | None]] = {}
        """What the compiler says of each variant that it refuses, and the line of the submission."""
        self.failure: Failure | None = None
        self._done = 0
        self._code: dict[str, KernelCode] = {}

    def compile(self, head: Mapping[str, Any], plan: Mapping[Variant, bool], deadline: float) -> float:
        """Compile all variants; the compiler's own seconds."""
        seconds = 0.0
        doing = "compiling the kernels"
        try:
            answer, _ = self.process.ask(dict(head), deadline=deadline)
            if error := answer.get("error"):
                self.failure = Failure(Status.COMPILE_ERROR, str(error.get("trace")), line=error.get("line"))
                return seconds
            for item, whole in plan.items():
                doing = f"compiling {item.function} for {self.name}"
                if self._hangs(item.function):
                    self.failure = Failure(
                        Status.TIMEOUT,
                        f"{doing} did not end: the compiler hung, as that of {self._emulated} does now and then (emulated); "
                        "send a changed kernel again",
                    )
                    return seconds
                question = encode_variant(item, self.name, whole, self._emulated)
                answer, _ = self.process.ask(question, deadline=deadline)
                seconds += float(answer["seconds"])
                if answer["ok"]:
                    self._done += 1
                    self._note(item.function, answer.get("code"))
                elif answer.get("late"):
                    self.failure = Failure(Status.TIMEOUT, f"{doing}: {answer['text']}", line=answer.get("line"))
                    return seconds
                else:
                    self.errors[item] = (f"{item.function} for {self.name}: {answer['text']}", answer.get("line"))
        except wire.Late:
            self.process.end()
            self.failure = Failure(Status.TIMEOUT, f"{doing} did not end in time")
        except (wire.Closed, wire.WireError):
            self.failure = _compiler_died(self.process.end(), doing)
        except Exception as error:  # noqa: BLE001 (a failure of ours must not look like a compiled kernel)
            self.failure = Failure(Status.HARNESS_ERROR, f"the compile worker failed: {type(error).__name__}: {error}")
        return seconds

    def _hangs(self, function: str) -> bool:
        emulation = self._session.platform.emulation
        return emulation is not None and hangs(emulation.hang_share, derive(self._session.job, "hang", function))

    def result(self) -> TargetResult:
        status, message, line = Status.PASSED, "", None
        if self.failure is not None:
            status, message, line = self.failure.status, self.failure.message, self.failure.line
        elif self.errors:
            message, line = next(iter(self.errors.values()))
            status = Status.COMPILE_ERROR
        return TargetResult(
            self.name, status, message, line, self._done, len(self.errors), named(self.name).shared_bytes,
            tuple(self._code[name] for name in sorted(self._code)),
        )  # fmt: skip

    def _note(self, function: str, code: Mapping[str, Any] | None) -> None:
        if code is None:
            return
        new = KernelCode(function, **code)
        old = self._code.get(function)
        if old is not None:
            most = max((old, new), key=lambda c: sum(c.instructions.values()))
            new = KernelCode(
                function, _larger(old.registers, new.registers), _larger(old.spill_bytes, new.spill_bytes),
                max(old.shared_bytes, new.shared_bytes), most.instructions,
            )  # fmt: skip
        self._code[function] = new


def _larger(one: int | None, two: int | None) -> int | None:
    return max((v for v in (one, two) if v is not None), default=None)


def _compiler_died(ended: Ended, doing: str) -> Failure:
    if ended.out_of_memory:
        return Failure(Status.OUT_OF_MEMORY, f"{doing} used more memory than allowed")
    return Failure(Status.COMPILE_ERROR, f"{doing}: the compiler ended with status {ended.status}: {ended.log[-800:]}")


def parsed(trial: Trial, kernels: Kernels, session: Session) -> Record | None:
    """What was recorded of a case, checked as data; None where it is malformed or absent."""
    if trial.raw_record is None:
        return None
    try:
        return parse(
            trial.raw_record, input_bytes=trial.input_bytes, kernels=kernels.names,
            max_bytes=session.job.limits.memory_bytes,
        )  # fmt: skip
    except BadRecord:
        return None
