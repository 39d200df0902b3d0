"""The measurements: verification overhead, reset, recording, and the whole demo."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from benchmarks.measure import Result, sample
from kgb_gym.operators import gold_source, names
from kgb_gym.verdict import Status, Verdict
from kgb_gym.verification.protocols import Job

OVERHEAD_MS, RESET_MS, STEPS_PER_S, DEMO_S, DEMO_GIB = 200.0, 5.0, 500.0, 300.0, 4.0
"""The targets, on two cores."""

_OTHERS = ("play", "compile_wait", "time")
"""Phases that are the kernels' own compute, the compiler, and the timing of kernels."""


def verification(repeats: int = 3) -> Iterator[Result]:
    """Overhead of a warm verification of each gold kernel: everything but the kernels' compute and the compiler."""
    from kgb_gym.sandbox import LocalEngine

    worst = 0.0
    with LocalEngine(workers=1, platform="cpu") as engine:
        engine.submit(_job("aten/t", 0)).result()
        for name in names():
            verdicts = [engine.submit(_job(name, seed)).result() for seed in range(repeats)]
            if bad := [v for v in verdicts if v.status is not Status.PASSED]:
                yield Result(f"verify {name}", float("nan"), "ms", "", None, f"{bad[0].status}: {bad[0].message[:80]}")
                continue
            best = min(verdicts, key=_overhead)
            overhead = _overhead(best) * 1e3
            worst = max(worst, overhead)
            phases = ", ".join(f"{k} {v * 1e3:.0f}" for k, v in sorted(best.durations.items()))
            detail = f"{len(best.cases)} cases; {phases}"
            yield Result(f"verify {name}", overhead, "ms", f"≤ {OVERHEAD_MS:.0f}", overhead <= OVERHEAD_MS, detail)
    yield Result("verify, worst operator", worst, "ms", f"≤ {OVERHEAD_MS:.0f}", worst <= OVERHEAD_MS)


def reset() -> Iterator[Result]:
    """`env.reset()` of an environment that was used before, and of a new one."""
    import gymnasium

    import kgb_gym  # noqa: F401  # registers the ids

    env = gymnasium.make("kgb/ms-v0", suite="quick", platform="cpu")
    started = time.perf_counter()
    env.reset(seed=0)
    first = (time.perf_counter() - started) * 1e3
    for seed in range(200):
        env.reset(seed=seed)
    counter = iter(range(1000))
    found = sample(lambda: env.reset(seed=next(counter)), repeats=300)
    env.close()
    value = found.median * 1e3
    yield Result("env.reset", value, "ms", f"≤ {RESET_MS:.0f}", value <= RESET_MS, found.spread)
    yield Result("env.reset, the very first", first, "ms", "", None, "imports declarations and renders the prompt")


def recording(steps: int = 1000) -> Iterator[Result]:
    """Steps a second, each on the disk before the call returns; with one writer and with eight."""
    from kgb_gym.datasets.recorder import Recorder
    from kgb_gym.datasets.rows import step_row

    code = gold_source("aten/softmax")
    yield Result(
        "disk: write and flush 8 KiB", _flushes(), "per s", "", None, "the most that a single writer can reach"
    )
    for writers in (1, 8):
        with tempfile.TemporaryDirectory() as folder, Recorder.open(folder, config={"benchmark": 1}) as recorder:

            def write(episode: int, each: int = steps // writers, recorder: Recorder = recorder) -> None:
                for step in range(each):
                    recorder.step(step_row(episode_id=str(episode), step=step, operator="aten/softmax", code=code))

            started = time.perf_counter()
            with ThreadPoolExecutor(writers) as pool:
                list(pool.map(write, range(writers)))
            rate = steps / (time.perf_counter() - started)
        name = f"recording, {writers} writer{'s' if writers > 1 else ''}"
        yield Result(name, rate, "steps/s", f"≥ {STEPS_PER_S:.0f}", rate >= STEPS_PER_S, f"{steps} steps")


def demo() -> Iterator[Result]:
    """Wall time and memory of the demo's run, in processes of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "kgb_gym", "run", "--method", "scripted", "--operators", ",".join(names())]
        started = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--out", str(Path(folder) / "demo")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        memory = _Memory(process.pid)
        memory.start()
        code = process.wait()
        wall = time.perf_counter() - started
        memory.done.set()
        memory.join()
    detail = f"exit code {code}"
    yield Result("demo, wall time", wall, "s", f"≤ {DEMO_S:.0f}", wall <= DEMO_S, detail)
    gib = memory.peak / 2**30
    yield Result(
        "demo, memory of all processes", gib, "GiB", f"≤ {DEMO_GIB:.0f}", gib <= DEMO_GIB, "proportional set size"
    )


ALL = {"verify": verification, "reset": reset, "record": recording, "demo": demo}


class _Memory(threading.Thread):
    """Samples what a process tree holds; pages that several processes share count once."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._root = psutil.Process(pid)
        self.peak = 0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(1.0):
            total = 0
            try:
                tree = [self._root, *self._root.children(recursive=True)]
            except psutil.Error:
                continue
            for process in tree:
                try:
                    total += process.memory_full_info().pss
                except psutil.Error:
                    continue
            self.peak = max(self.peak, total)


def _flushes(repeats: int = 200) -> float:
    """How many small writes a second the disk puts down one after the other."""
    with tempfile.NamedTemporaryFile() as file:

        def write() -> None:
            os.write(file.fileno(), bytes(8192))
            os.fdatasync(file.fileno())

        return 1 / sample(write, repeats).median


def _job(name: str, seed: int) -> Job:
    return Job(name, gold_source(name).encode(), suite="quick", platform="cpu", seed=seed)


def _overhead(verdict: Verdict) -> float:
    return verdict.durations.get("total", 0.0) - sum(verdict.durations.get(phase, 0.0) for phase in _OTHERS)
