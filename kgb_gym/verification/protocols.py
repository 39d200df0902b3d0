"""What is asked of a verification, and the seams through which it asks for processes.

Room 1 states these protocols; room 2 (`kgb_gym.sandbox`) implements them. Nothing here starts anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Protocol

from kgb_gym.verdict import Verdict

Kind = Literal["verify", "test", "run", "profile", "compile"]

LAYERS = ("screen", "audit", "state", "ghost", "hidden", "contract", "compile")
"""Trust layers that can be left out to measure the others. Record and play is what is scored, so it always runs."""

MAX_SOURCE_BYTES = 1 << 20
"""Submissions above this are refused unread: no kernel needs a mebibyte of source."""


@dataclass(frozen=True)
class Limits:
    """What one verification may use. Settable; the defaults are the paper's where it names one (Appendix D)."""

    correctness_s: float = 300.0
    """Wall seconds for everything but timing; then the whole process tree is killed."""
    performance_s: float = 600.0
    """Wall seconds for timing."""
    compile_s: float = 120.0
    """Wall seconds for compiling for one further target: each has a process of its own, so that a compiler which hangs
    on one chip costs the others nothing."""
    call_s: float = 60.0
    """Wall seconds for importing the submission, or for recording one case."""
    memory_bytes: int = 4 << 30
    """Resident bytes of one untrusted process beyond what its template already holds."""
    output_bytes: int = 64 << 10
    """What of a submission's stdout and stderr is kept; the rest is counted and dropped."""
    processes: int = 0
    """Child processes a submission may have."""


@dataclass(frozen=True)
class Timer:
    """How device times are taken. Both sides of a ratio are always treated alike."""

    cache: Literal["cold", "warm"] = "cold"
    """`cold`: the L2 cache is flushed before each measurement; `warm`: the same call has just run."""
    method: Literal["auto", "graph", "events"] = "auto"
    """`graph`: replays of a CUDA graph, which leaves the host's launches out; `events`: plain calls; `auto`: a graph
    where both sides can be captured."""
    half_width: float = 0.015
    """Repeat until half of the ratio's 95% interval is this share of the ratio. At 2% one measurement in twenty is off
    by more than that, by what 95% means; at 1.5% one in a hundred."""
    most: int = 400
    """Pairs of measurements at most."""
    case_s: float = 2.0
    """Wall seconds for one case at most."""

    def __post_init__(self) -> None:
        if self.cache not in {"cold", "warm"} or self.method not in {"auto", "graph", "events"}:
            raise ValueError(f"no such timer: cache {self.cache!r}, method {self.method!r}")
        if not (0 < self.half_width < 1 and self.most >= 1 and self.case_s > 0):
            raise ValueError("a timer's half_width, most and case_s must be positive")


@dataclass(frozen=True)
class Job:
    """One question to the judge."""

    operator: str
    """`source/name`."""
    source: bytes
    """The submission as received."""
    suite: str = "quick"
    platform: str = "cpu"
    kind: Kind = "verify"
    """`verify`: the whole suite, complete. `test`: chosen cases, untimed, never a clean pass. `run`: one case, with what
    it launched and gave, timed where that can be. `profile`: chosen cases, with launches, code and times. `compile`: compile every
    launched function for `targets`."""
    seed: int = 0
    """Everything random derives from this and the source: values, hidden cases, configuration choices. It never
    reaches a submission."""
    only_defined: bool = False
    """Judge only the interfaces that the file defines; never a clean pass of the operator."""
    cases: tuple[str, ...] = ()
    """Ids or globs of cases, of the suite or of `smoke`; empty: the suite `smoke` for `test`, `run` and `profile`, else the
    whole suite. A `verify` of chosen cases is timed; its verdict is that of a `test`, never a clean
    pass."""
    script: str | None = None
    """For `run`: a script of the model's own, run beside the submission in place of a case (see `scripting`)."""
    targets: tuple[str, ...] = ()
    """Chips to compile for (see `targets`). For `compile` none means the platform's own; for `verify` a submission that
    is right is compiled for them too, which tells how portable it is and changes nothing else."""
    fail_fast: bool = False
    """End at the first case that is wrong or raises; the others are skipped, and nothing more is compiled."""
    timing: bool = True
    """Whether to time on an accelerator."""
    without: tuple[str, ...] = ()
    """Names from `LAYERS` to leave out, to measure what the others catch. Never a clean pass."""
    limits: Limits = field(default_factory=Limits)
    timer: Timer = field(default_factory=Timer)
    pipelined: bool = True
    """Make a case ready while an earlier one is played. Off, to measure what that gains."""

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.without) - set(LAYERS)):
            raise ValueError(f"no such layer: {', '.join(unknown)}; use {', '.join(LAYERS)}")

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data; the source as latin-1 text."""
        data = asdict(self)
        data["source"] = self.source.decode("latin-1")
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Job:
        """Inverse of `to_dict`."""
        values = {f.name: data[f.name] for f in fields(cls)}
        values["source"] = str(data["source"]).encode("latin-1")
        values["limits"], values["timer"] = Limits(**data["limits"]), Timer(**data["timer"])
        for name in ("cases", "targets", "without"):
            values[name] = tuple(data[name])
        return cls(**values)


@dataclass(frozen=True)
class Threads:
    """How many threads of one judge compute."""

    own: int = 1
    """Of one operation of the judge itself."""
    ahead: int = 0
    """That make later cases ready (see `foresight`)."""
    each: int = 1
    """Of one operation of those."""

    @classmethod
    def of(cls, cores: int) -> Threads:
        """A share for each from so many cores."""
        ahead = min(4, cores // 4)
        return cls(max(1, min(8, cores // 2 if ahead else cores)), ahead, max(1, cores // 2 // max(1, ahead)))


class Engine(Protocol):
    """Takes jobs and gives verdicts; the only way to have something verified."""

    def submit(self, job: Job) -> Future[Verdict]:
        """Start a verification. The future always gives a verdict; a failure of ours has status `harness_error`."""
        ...

    def close(self) -> None:
        """End every process. Pending futures get a `harness_error` verdict. May be called twice."""
        ...


@dataclass(frozen=True)
class Ended:
    """How an untrusted process ended."""

    status: int | None
    """Exit status, or minus the signal's number; None: still unknown."""
    out_of_memory: bool = False
    """It was killed for its memory."""
    log: str = ""
    """The beginning of what it printed."""
    dropped: int = 0
    """Bytes printed beyond what was kept."""


class Process(Protocol):
    """One single-use confined process that answers messages (`kgb_gym.verification.wire`)."""

    def ask(self, head: dict[str, Any], blobs: Any = (), *, deadline: float, max_blobs: int = 1 << 40) -> Any:
        """Send a question and wait for the answer.

        Args:
            head: JSON-able question.
            blobs: buffers sent after it.
            deadline: `time.monotonic()` value.
            max_blobs: bytes that the answer may carry.

        Raises:
            wire.Closed: it ended before answering.
            wire.Late: the deadline passed.
            wire.WireError: the answer is not one.
        """
        ...

    def end(self) -> Ended:
        """Kill it with its whole tree, and say how it ended. May be called twice."""
        ...

    def leave(self) -> None:
        """Kill it with its whole tree, which may go on after this returns: until `Spawner.settle`."""
        ...


class Spawner(Protocol):
    """Starts confined processes from a warm template."""

    def spawn(self, role: str, *, operator: str, platform: str, limits: Limits) -> Process:
        """Start one process of a role (`recorder`, `caller`, `player`, `compiler`) for one operator.

        Raises:
            OSError: the template cannot fork.
        """
        ...

    def settle(self) -> None:
        """Wait until every process that was started has ended."""
        ...

    @property
    def visible(self) -> str:
        """UUID of the GPU that processes get; empty: not known."""
        ...

    def lease(self, platform: str, *, exclusive: bool) -> AbstractContextManager[None]:
        """The device, shared for correctness work or alone for timing; waits until it can be had."""
        ...
