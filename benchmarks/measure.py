"""What one measurement is, and the machine it was made on."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """One measured quantity beside its target."""

    name: str
    value: float
    unit: str
    target: str
    good: bool | None
    """Whether the target is met; None where there is none."""
    detail: str = ""


@dataclass(frozen=True)
class Sample:
    """Repeated times of one thing, in seconds."""

    times: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def spread(self) -> str:
        """Smallest to largest, in milliseconds."""
        return f"{min(self.times) * 1e3:.2f} to {max(self.times) * 1e3:.2f} ms, n = {len(self.times)}"


def sample(function: Callable[[], object], repeats: int, warmup: int = 1) -> Sample:
    """Time a function several times, the first calls left out."""
    for _ in range(warmup):
        function()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return Sample(tuple(times))


def machine() -> str:
    """Hardware and versions, in one line."""
    from kgb_gym.datasets import runfile

    hardware, versions = runfile.machine(), runfile.versions()
    chosen = " ".join(f"{k} {versions[k]}" for k in ("python", "torch", "triton", "kgb_gym") if k in versions)
    memory = (hardware["memory_bytes"] or 0) / 2**30
    gpus = ", ".join(hardware["gpus"]) or "no GPU"
    return f"{hardware['cpu']}, {hardware['cores']} cores, {memory:.0f} GiB, {gpus}; {chosen}"
