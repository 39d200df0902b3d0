"""A submission's verdict by the real engine, with proof that it left nothing behind."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from kgb_gym.operators import gold_source
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Verdict
from kgb_gym.verification.protocols import Job, Limits

LIMITS = Limits(correctness_s=60, call_s=20, memory_bytes=1 << 30)


def leftovers(engine: LocalEngine) -> list[str]:
    """Processes and folders of an idle engine that belong to no template, no judge, and wait for nothing. A verdict may be
    told a moment before the last of its processes is gone."""
    until = time.monotonic() + 10
    while (found := _left(engine)) and time.monotonic() < until:
        time.sleep(0.01)
    return found


def _left(engine: LocalEngine) -> list[str]:
    found = []
    for template in engine._templates.values():
        for child in psutil.Process(template._process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.ppid() != template._process.pid or child.children():
                    found.append(str(child))
    children = [
        c for t in engine._templates.values() for c in psutil.Process(t._process.pid).children() if c.is_running()
    ]
    waiting = engine.waiting()  # asked last: what works now never waits again
    children = [c for c in children if c.pid not in waiting]
    if len(children) > engine.workers:
        found += [str(c) for c in children]
    found += [str(p) for p in Path(engine._root).glob("job-*")]
    return found


@pytest.fixture
def judge(local_engine: LocalEngine) -> Callable[..., Verdict]:
    """`judge(operator, source, **job)`: the verdict; afterwards nothing of the submission is left."""

    def ask(operator: str, source: str | bytes, **more: object) -> Verdict:
        data = source.encode() if isinstance(source, str) else source
        limits = replace(LIMITS, **more.pop("limits", {}))  # type: ignore[arg-type]
        job = Job(operator, data, **{"suite": "smoke", "limits": limits, **more})  # type: ignore[arg-type]
        verdict = local_engine.submit(job).result(timeout=120)
        assert leftovers(local_engine) == []
        assert Verdict.from_json(verdict.to_json()) == verdict
        return verdict

    return ask


@pytest.fixture
def good(judge: Callable[..., Verdict]) -> Callable[[], None]:
    """Asserts that the engine judges a good submission as it should."""

    def check() -> None:
        verdict = judge("aten/t", gold_source("aten/t"))
        assert (verdict.status, verdict.clean) == ("passed", True), verdict.message

    return check
