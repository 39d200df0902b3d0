"""Everything learnt about one submission, as one immutable value.

A `Verdict` is the only thing that leaves the sandbox. It is plain data: it serialises to JSON and back without loss,
pickles, and compares by value. It holds no clock value unless an accelerator was timed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any


class Stage(StrEnum):
    """How far a submission got; each stage includes those before it."""

    RECEIVED = "received"
    PARSED = "parsed"
    SCREENED = "screened"
    LOADED = "loaded"
    COMPILED = "compiled"
    CORRECT = "correct"
    GENUINE = "genuine"
    TIMED = "timed"

    @property
    def rank(self) -> int:
        return list(Stage).index(self)


class Status(StrEnum):
    """What became of a submission. `HARNESS_ERROR` is our failure, never the submission's."""

    PASSED = "passed"
    SYNTAX_ERROR = "syntax_error"
    MISSING_INTERFACE = "missing_interface"
    HACK = "hack"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    RECURSION = "recursion"
    MISMATCH = "mismatch"
    TIMEOUT = "timeout"
    CRASH = "crash"
    OUT_OF_MEMORY = "out_of_memory"
    HARNESS_ERROR = "harness_error"


@dataclass(frozen=True)
class Hack:
    """Evidence of one attempt to get round the task."""

    layer: str
    """Which defence fired: screen, audit, ghost, play, hidden, contract, state, profile."""
    rule: str
    """Short identifier of the broken rule, such as `import` or `native-compute`."""
    message: str
    """One sentence saying what was found."""
    line: int | None = None
    """Line of the submission, counted from 1, where it can be told."""


@dataclass(frozen=True)
class Timing:
    """Device time of one case: the submission against the baseline, interleaved (DESIGN section 8). Microseconds."""

    submission_us: float
    baseline_us: float
    speedup: float
    """baseline / submission: the median of the paired ratios."""
    interval: tuple[float, float]
    """95% interval of the speedup."""
    repeats: int
    cache: str = "cold"
    """`cold`: the L2 cache is flushed before each measurement; `warm`: it is not."""
    method: str = "graph"
    """`graph`: CUDA-graph replays between device events; `events`: plain calls between device events."""
    launch_bound: bool = False
    """The baseline takes less than 3 µs: counted, but left out of `S_i`."""
    submission_launch_us: float | None = None
    """Host time to issue the record's launches, device time apart; None where it was not measured."""
    baseline_launch_us: float | None = None
    """Host time to call the baseline once."""


@dataclass(frozen=True)
class Clocks:
    """What a GPU said of itself while it was timed. Smallest, middle and largest reading of a clock."""

    device: str
    """The GPU's UUID."""
    sm_mhz: tuple[int, ...]
    memory_mhz: tuple[int, ...]
    celsius: int
    """The highest temperature."""
    readings: int
    throttled: tuple[str, ...] = ()
    """What made it slower than asked for: power cap, heat."""
    throttled_share: float = 0.0
    """Share of the readings, in [0, 1], in which anything did."""


@dataclass(frozen=True)
class Profile:
    """What ran on the GPU while one case was played (L3 of the paper)."""

    case: str
    method: str
    """`profiler`: `torch.profiler`, with device times; `graph nodes`: names of a CUDA graph's kernels, without."""
    share: float | None
    """Share of the device time in the submission's own kernels, in [0, 1]; None where only names are known."""
    own: tuple[str, ...]
    """Kernels of the submission that ran."""
    other: tuple[str, ...]
    """Everything else that ran: fills and copies around them."""


@dataclass(frozen=True)
class KernelCode:
    """What one function of a submission became on one chip: the largest of its compiled specialisations."""

    function: str
    registers: int | None
    """Vector registers of one lane; None where they can't be told."""
    spill_bytes: int | None
    """What of them one lane keeps in memory instead."""
    shared_bytes: int
    """Shared memory of one program."""
    instructions: Mapping[str, int]
    """Instructions by kind (see `verification.codegen`): PTX for NVIDIA, machine code for AMD."""


@dataclass(frozen=True)
class TargetResult:
    """How what a submission launches compiles for one chip. No such chip is needed for it."""

    target: str
    """`cuda:90`, `hip:gfx942`."""
    status: Status
    """`passed`, `compile_error`, `timeout`, `crash`, `out_of_memory` or `harness_error`."""
    message: str = ""
    """The compiler's own words with the submission's line; empty if it passed."""
    line: int | None = None
    variants: int = 0
    """Specialisations (argument types, constants, options) that compiled."""
    failed: int = 0
    """Those that did not."""
    shared_limit: int = 0
    """Shared memory that one program may use on this chip, in bytes."""
    kernels: tuple[KernelCode, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status is Status.PASSED


@dataclass(frozen=True)
class Difference:
    """The largest deviation of one output from its oracle."""

    output: str
    """`return`, `return[1]`, or the name of the written argument."""
    max_abs: float
    max_rel: float
    index: tuple[int, ...]
    """Index of the largest absolute error."""
    expected: float | int | bool | str
    got: float | int | bool | str
    mismatches: int
    """How many elements lie outside the gate."""
    total: int
    note: str = ""


@dataclass(frozen=True)
class CaseResult:
    """One case: its parameters and what came of it."""

    case: str
    """The case's id, unique within the operator and suite."""
    interface: str
    params: Mapping[str, Any]
    origin: str
    """`paper`, `extra` or `hidden`."""
    timed: bool = False
    passed: bool = False
    """Right at both gates."""
    passed_paper: bool = False
    """Right at the paper's gate (Appendix D)."""
    skipped: bool = False
    """Not judged, because an earlier failure ended the verification."""
    difference: Difference | None = None
    error: str = ""
    """The exception with the submission's own frames only, or why the contract is broken."""
    launches: int = 0
    timing: Timing | None = None


@dataclass(frozen=True)
class Verdict:
    """Everything learnt about one submission (DESIGN section 6)."""

    operator: str
    """`source/name`."""
    source_sha256: str
    suite: str
    platform: str
    stage: Stage
    """The last stage that was passed."""
    status: Status
    kind: str = "verify"
    """`verify` (the whole suite), `test` (chosen cases), `run` (one case), `profile` or `compile`; only `verify` can be a clean pass."""
    message: str = ""
    """What happened, in a few lines meant for whoever wrote the submission."""
    cases: tuple[CaseResult, ...] = ()
    hacks: tuple[Hack, ...] = ()
    clean: bool = False
    """Clean pass: every case correct at both gates, no hack in any layer, every interface defined."""
    clean_paper: bool = False
    """The same with the paper's gate alone."""
    baseline: str = "none"
    """What was timed against: `native`, the library's file, or `oracle (not comparable)`."""
    only_defined: bool = False
    data_dependent: bool = False
    """Its launches depend on values: the record of a call on the very values is judged, and nothing is timed."""
    speedup: float | None = None
    """S_i: the geometric mean over timed paper cases that are not launch-bound; None where nothing was timed."""
    speedup_lower: float | None = None
    """The same mean over the lower ends of the intervals."""
    calibration: Timing | None = None
    """A/A: the baseline against itself on one timed case, with the speedup that it should not have."""
    profile: Profile | None = None
    """What ran on the GPU; None where nothing was profiled."""
    clocks: Clocks | None = None
    """The GPU's clocks while it was timed; None where they can't be read."""
    compiled_for: tuple[str, ...] = ()
    """Targets for which every launched function compiled."""
    targets: tuple[TargetResult, ...] = ()
    """What came of each target that was compiled for; those of `kind="verify"` change no status but the platform's."""
    layers: tuple[str, ...] = ()
    """The trust layers that ran to their end."""
    notes: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    """What `run` and `profile` tell: launches, and for `run` outputs. Shown, and never scored."""
    seed: int = 0
    durations: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Wall seconds by phase. For the record only: never part of an observation or a comparison."""

    @property
    def reward_valid(self) -> bool:
        """False when the harness failed: the step is unscored."""
        return self.status is not Status.HARNESS_ERROR

    @property
    def fraction_correct(self) -> float:
        """Share of the cases right at both gates, in [0, 1]; 0 without cases."""
        return sum(c.passed for c in self.cases) / len(self.cases) if self.cases else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able data. Non-finite floats become the strings `nan`, `inf`, `-inf`."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), allow_nan=False, sort_keys=True)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """Inverse of `to_dict`.

        Raises:
            ValueError: a field is unknown or missing.
        """
        names = {f.name for f in fields(cls)}
        if unknown := set(data) - names:
            raise ValueError(f"unknown verdict fields: {', '.join(sorted(unknown))}")
        values = dict(data)
        try:
            values["stage"], values["status"] = Stage(data["stage"]), Status(data["status"])
            values["cases"] = tuple(_case(c) for c in data.get("cases", ()))
            values["calibration"] = _timing(data.get("calibration"))
            values["profile"] = _profile(data.get("profile"))
            values["clocks"] = _clocks(data.get("clocks"))
            values["hacks"] = tuple(Hack(**h) for h in data.get("hacks", ()))
            values["targets"] = tuple(_target(t) for t in data.get("targets") or ())
            for name in ("compiled_for", "layers", "notes", "report"):
                values[name] = tuple(data.get(name, ()))
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a verdict: {error}") from error

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        return cls.from_dict(json.loads(text))


def _case(data: Mapping[str, Any]) -> CaseResult:
    values = dict(data)
    if values.get("difference") is not None:
        difference = dict(values["difference"])
        difference["index"] = tuple(difference["index"])
        for name in ("max_abs", "max_rel"):
            difference[name] = float(difference[name])
        values["difference"] = Difference(**difference)
    values["timing"] = _timing(values.get("timing"))
    return CaseResult(**values)


def _target(data: Mapping[str, Any]) -> TargetResult:
    kernels = tuple(KernelCode(**k) for k in data.get("kernels", ()))
    return TargetResult(**{**data, "status": Status(data["status"]), "kernels": kernels})


def _timing(data: Mapping[str, Any] | None) -> Timing | None:
    return None if data is None else Timing(**{**data, "interval": tuple(data["interval"])})


def _profile(data: Mapping[str, Any] | None) -> Profile | None:
    return None if data is None else Profile(**{**data, "own": tuple(data["own"]), "other": tuple(data["other"])})


def _clocks(data: Mapping[str, Any] | None) -> Clocks | None:
    if data is None:
        return None
    lists = {name: tuple(data[name]) for name in ("sm_mhz", "memory_mhz", "throttled")}
    return Clocks(**{**data, **lists})


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, StrEnum):
        return value.value
    return value
