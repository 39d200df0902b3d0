"""Compiling what was recorded while the player runs: one worker, one thread that feeds it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from kgb_gym.verdict import Status
from kgb_gym.verification import wire
from kgb_gym.verification.compiler import Variant, depth_plan, encode_variant, variant
from kgb_gym.verification.protocols import Ended
from kgb_gym.verification.rebuild import Kernels
from kgb_gym.verification.record import BadRecord, Launch, Record, parse
from kgb_gym.verification.session import Failure, Session, Trial, Worker
from kgb_gym.verification.subject import picks


class CompileRun:
    """Compiles every launched function of a session, as each case launched it, for each target.

    Args:
        session: with its trials recorded.
        kernels: the rebuilt module.
        targets: names from `compiler.TARGETS`.
        worker: a compiler, not yet asked anything.
    """

    def __init__(self, session: Session, kernels: Kernels, targets: Sequence[str], worker: Worker) -> None:
        self._session = session
        self._kernels = kernels
        self._targets = tuple(targets)
        self._wanted: dict[Variant, list[Trial]] = {}
        self._errors: dict[Variant, list[str]] = {}
        self._failure: Failure | None = None
        self._seconds = 0.0
        self._process = worker
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Collect the variants and begin to compile."""
        for trial in self._session.trials:
            for item in self._variants(trial):
                self._wanted.setdefault(item, []).append(trial)
        if not self._wanted:
            return
        self._thread.start()

    def finish(self) -> None:
        """Wait for the rest and mark the trials whose launches do not compile.

        Raises:
            Failure: the compiler did not end in time, or died.
        """
        if not self._wanted:
            return
        with self._session.clock("compile_wait"):
            self._thread.join(max(0.0, self._session.deadline - time.monotonic()) + 5)
        self._session.durations["compile"] = self._seconds
        if self._failure is not None:
            raise self._failure
        for item, texts in self._errors.items():
            for trial in self._wanted[item]:
                trial.compile_error = "\n".join(texts)

    def stop(self) -> None:
        """End the worker. May be called at any time."""
        self._process.end()
        if self._thread.is_alive():
            self._thread.join(5)

    def _variants(self, trial: Trial) -> list[Variant]:
        record = _parsed(trial, self._kernels, self._session)
        if record is None:
            return []
        steps = list(record.launches())
        if self._session.job.kind != "compile":
            steps = [s for s in record.chosen(picks(self._session.job, record)) if isinstance(s, Launch)]
        return [variant(s, self._kernels.constexprs[s.function]) for s in steps]

    def _run(self) -> None:
        deadline = self._session.deadline
        head = {"text": self._kernels.text, "names": sorted(self._kernels.names)}
        try:
            answer, _ = self._process.ask(head, deadline=deadline)
            if error := answer.get("error"):
                self._failure = Failure(Status.COMPILE_ERROR, str(error.get("trace")), line=error.get("line"))
                return
            for item, whole in depth_plan(self._wanted).items():
                for target in self._targets:
                    answer, _ = self._process.ask(encode_variant(item, target, whole), deadline=deadline)
                    self._seconds += float(answer["seconds"])
                    if not answer["ok"]:
                        text = f"{item.function} for {target}: {answer['text']}"
                        self._errors.setdefault(item, []).append(text)
        except wire.Late:
            self._process.end()
            self._failure = Failure(Status.TIMEOUT, "compiling the kernels did not end in time")
        except (wire.Closed, wire.WireError):
            self._failure = _compiler_died(self._process.end())
        except Exception as error:  # noqa: BLE001 (a failure of ours must not look like a compiled kernel)
            self._failure = Failure(Status.HARNESS_ERROR, f"the compile worker failed: {type(error).__name__}: {error}")


def _compiler_died(ended: Ended) -> Failure:
    if ended.out_of_memory:
        return Failure(Status.OUT_OF_MEMORY, "compiling the kernels used more memory than allowed")
    return Failure(
        Status.COMPILE_ERROR, f"the compiler ended with status {ended.status} on these kernels: {ended.log[-800:]}"
    )


def _parsed(trial: Trial, kernels: Kernels, session: Session) -> Record | None:
    if trial.raw_record is None:
        return None
    try:
        return parse(
            trial.raw_record, input_bytes=trial.input_bytes, kernels=kernels.names,
            max_bytes=session.job.limits.memory_bytes,
        )  # fmt: skip
    except BadRecord:
        return None
