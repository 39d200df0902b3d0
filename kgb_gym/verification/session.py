"""One verification while it runs: the job, its trials, its clock, and the one exception that ends it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kgb_gym.operators import Case, Interface, Operator
from kgb_gym.platforms import Platform
from kgb_gym.verdict import CaseResult, Clocks, Difference, Hack, Profile, Stage, Status, TargetResult, Timing
from kgb_gym.verification import wire
from kgb_gym.verification.protocols import Ended, Job, Process, Spawner, Threads

READY_S, READY_TIMED_S = 60.0, 600.0
"""Wall seconds for a worker to get ready; on a device that is timed it may have to wait for others' timings."""


class Failure(Exception):
    """Ends a verification, or one case of it, as the submission's failure.

    Args:
        status: what it comes to.
        message: for whoever wrote the submission.
        hacks: the evidence, for `Status.HACK`.
        line: line of the submission.
        case: id of the case in which it happened.
        fatal: whether further cases make no sense.
    """

    def __init__(
        self, status: Status, message: str, *, hacks: tuple[Hack, ...] = (), line: int | None = None, case: str = "",
        fatal: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status = status
        self.message = message
        self.hacks = hacks
        self.line = line
        self.case = case
        self.fatal = fatal


@dataclass
class Trial:
    """One case on its way through the roles."""

    case: Case
    interface: Interface
    raw_record: Any = None
    """What the recorder handed over: not yet parsed."""
    input_bytes: list[int] = field(default_factory=list)
    """Sizes of the call's input storages: the same for the values recorded and those played."""
    raised: Failure | None = None
    """The call, or a kernel of it, raised an exception."""
    raised_type: str = ""
    judged: bool = False
    strict: bool = False
    paper: bool = False
    difference: Difference | None = None
    error: str = ""
    """A broken contract, or an exception, in words."""
    launches: int = 0
    compile_error: str = ""
    timing: Timing | None = None
    told: list[str] = field(default_factory=list)
    """Lines for the tools `run` and `profile`."""
    timing_question: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Right at both gates, and everything it launched compiles."""
        return self.judged and self.strict and self.paper and not self.compile_error

    def result(self) -> CaseResult:
        """The case as it stands in the verdict."""
        error = self.error or self.compile_error or (self.raised.message if self.raised and not self.judged else "")
        return CaseResult(
            case=self.case.id, interface=self.case.interface, params=self.case.params, origin=self.case.origin,
            timed=self.case.timed, passed=self.ok, passed_paper=self.judged and self.paper and not self.compile_error,
            skipped=not self.judged and self.raised is None, difference=self.difference, error=error,
            launches=self.launches, timing=self.timing,
        )  # fmt: skip


class NotReady(RuntimeError):
    """A worker failed before it saw anything of the submission: a failure of ours."""


class DeviceLost(RuntimeError):
    """The device failed in a way that no kernel can cause: a failure of ours."""


LOST = (
    "uncorrectable ECC error", "uncorrectable NVLink error", "no CUDA-capable device", "busy or unavailable",
    "system not yet initialized", "driver shutting down", "system driver mismatch", "GPU is lost",
)  # fmt: skip
"""How CUDA names failures of the card or its driver. A kernel's own (illegal address, assert, launch failure) are not
among them: they break the context of the player that ran it, and are the submission's."""


def lost(error: Mapping[str, Any]) -> bool:
    """Whether an exception of a player's, as data, says that the device is gone. Only torch raises this type: what a
    submission can put into words, such as a failed `static_assert`, is none."""
    text = str(error.get("text"))
    return error.get("type") == "AcceleratorError" and any(phrase in text for phrase in LOST)


@dataclass
class Session:
    """One verification."""

    job: Job
    operator: Operator
    platform: Platform
    spawner: Spawner
    threads: Threads = field(default_factory=Threads)
    began: float = field(default_factory=time.monotonic)
    waited: float = 0.0
    """Wall seconds spent on waiting for the device while others had it: no part of the submission's time."""
    stage: Stage = Stage.RECEIVED
    durations: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    layers: list[str] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    targets: tuple[TargetResult, ...] = ()
    baseline: str = "none"
    calibration: Timing | None = None
    profile: Profile | None = None
    told: list[str] = field(default_factory=list)
    """What a script printed."""
    clocks: Clocks | None = None

    @property
    def deadline(self) -> float:
        """`time.monotonic()` value at which correctness must be decided."""
        return self.began + self.waited + self.job.limits.correctness_s

    def uses(self, layer: str) -> bool:
        """Whether a trust layer is on; all are, except to measure the others."""
        return layer not in self.job.without

    @contextlib.contextmanager
    def lease(self, *, exclusive: bool) -> Iterator[None]:
        """The device for the block; waiting for it is no part of the submission's time."""
        with contextlib.ExitStack() as stack:
            began = time.monotonic()
            with self.clock("lease"):
                stack.enter_context(self.spawner.lease(self.platform.name, exclusive=exclusive))
            self.waited += time.monotonic() - began
            yield

    def ran(self, *layers: str) -> None:
        """Note that layers have run to their end."""
        self.layers += [layer for layer in layers if self.uses(layer)]

    @contextlib.contextmanager
    def clock(self, phase: str) -> Iterator[None]:
        """Adds the block's wall seconds to a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.durations[phase] = self.durations.get(phase, 0.0) + time.perf_counter() - start


class Worker:
    """One confined process of a session. It gets ready while the judge does other things.

    One that fails before it has seen anything of the submission is replaced, once.
    """

    def __init__(self, session: Session, role: str) -> None:
        self.role = role
        self._session = session
        self.process = self._spawned()
        self._ready = False

    def ask(self, head: dict[str, Any], blobs: Any = (), *, deadline: float, max_blobs: int = 1 << 40) -> Any:
        """One exchange (see `Process.ask`); the first waits until the worker is ready.

        Raises:
            NotReady: it failed before it saw anything of the submission.
        """
        self.ready()
        return self.process.ask(head, blobs, deadline=deadline, max_blobs=max_blobs)

    def ready(self) -> None:
        """Wait until it can be asked. Not while holding the device: it may need its share of it first.

        Raises:
            NotReady: it failed before it saw anything of the submission.
        """
        if not self._ready:
            with self._session.clock("fork"):
                self._greet()

    def end(self) -> Ended:
        """Kill it with its whole tree; how it ended."""
        return self.process.end()

    def leave(self) -> None:
        """Kill it; nothing more is asked about it."""
        self.process.leave()

    def _spawned(self) -> Process:
        session = self._session
        with session.clock("fork"):
            return session.spawner.spawn(
                self.role, operator=session.operator.id, platform=session.job.platform, limits=session.job.limits
            )

    def _greet(self) -> None:
        seconds = READY_TIMED_S if self._session.platform.timed else READY_S
        for last in (False, True):
            try:
                self.process.ask({"hello": self.role}, deadline=time.monotonic() + seconds)
                break
            except (wire.Closed, wire.Late, wire.WireError) as error:
                ended = self.process.end()
                told = f"({type(error).__name__}, status {ended.status})"
                if last:
                    raise NotReady(f"a {self.role} did not get ready {told}:\n{ended.log[-2000:]}") from error
                self._session.notes.append(f"a {self.role} had to be replaced before it was used {told}")
                self.process = self._spawned()
        self._ready = True
