"""Fixtures: an engine for arithmetic and plumbing, which judges nothing and gives constructed verdicts.

What is really verified is tested in `test_real_engine.py`, with the real one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import Future

import gymnasium
import pytest

import kgb_gym
from kgb_gym.verdict import CaseResult, Difference, Hack, Stage, Status, Verdict
from kgb_gym.verification.protocols import Job


class FakeEngine:
    """Answers each job with `answer(job)`; keeps the jobs."""

    def __init__(self, answer: Callable[[Job], Verdict] | None = None) -> None:
        self.answer = answer or by_source
        self.jobs: list[Job] = []
        self.closed = False

    def submit(self, job: Job) -> Future[Verdict]:
        self.jobs.append(job)
        future: Future[Verdict] = Future()
        future.set_result(self.answer(job))
        return future

    def close(self) -> None:
        self.closed = True


def case(index: int = 0, *, passed: bool = True, **more: object) -> CaseResult:
    difference = None if passed else Difference("return", 0.5, 0.25, (index,), 2.0, 1.5, 1, 4)
    base = {"origin": "paper", "passed": passed, "passed_paper": passed, "difference": difference}
    return CaseResult(case=f"f[n={index}]", interface="f", params={"n": index}, **{**base, **more})


def verdict(status: Status = Status.PASSED, *, job: Job | None = None, right: int = 4, total: int = 4, **more: object):
    """A constructed verdict: `right` of `total` cases right; a stage that fits the status."""
    stage = {
        Status.PASSED: Stage.GENUINE, Status.MISMATCH: Stage.COMPILED, Status.COMPILE_ERROR: Stage.LOADED,
        Status.SYNTAX_ERROR: Stage.RECEIVED, Status.HACK: Stage.CORRECT, Status.HARNESS_ERROR: Stage.RECEIVED,
    }.get(status, Stage.LOADED)  # fmt: skip
    judged = stage.rank >= Stage.COMPILED.rank
    values = {
        "operator": job.operator if job else "aten/add",
        "source_sha256": hashlib.sha256(job.source).hexdigest() if job else "0" * 64,
        "suite": job.suite if job else "quick",
        "platform": job.platform if job else "cpu",
        "kind": job.kind if job else "verify",
        "seed": job.seed if job else 1,
        "stage": stage,
        "status": status,
        "message": f"it is {status.value}",
        "cases": tuple(case(i, passed=i < right) for i in range(total)) if judged else (),
        "hacks": (Hack("screen", "import", "imports ctypes", 3),) if status is Status.HACK else (),
        "clean": status is Status.PASSED,
        "clean_paper": status is Status.PASSED,
        "durations": {"screen": 0.1},
    }
    return Verdict(**{**values, **more})


def by_source(job: Job) -> Verdict:
    """The verdict that the source names: `passed`, `mismatch 3/4`, `hack`, …; anything else is a syntax error."""
    words = job.source.decode("utf-8", "replace").split()
    try:
        status = Status(words[0])
    except (IndexError, ValueError):
        return verdict(Status.SYNTAX_ERROR, job=job)
    right, _, total = (words[1] if len(words) > 1 and "/" in words[1] else "4/4").partition("/")
    return verdict(status, job=job, right=int(right), total=int(total))


@pytest.fixture(name="case")
def case_fixture():
    return case


@pytest.fixture(name="verdict")
def verdict_fixture():
    return verdict


@pytest.fixture
def fake_engine():
    """The class, for engines with answers of their own."""
    return FakeEngine


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def make(engine):
    """`make(id="kgb/aten-add-v0", **kwargs)`: an environment with the fake engine, closed at the end."""
    made = []

    def build(env_id: str = "kgb/aten-add-v0", **kwargs):
        env = gymnasium.make(env_id, **{"engine": engine, "platform": "cpu", **kwargs})
        made.append(env)
        return env

    yield build
    for env in made:
        env.close()


@pytest.fixture
def submit():
    return kgb_gym.submit


@pytest.fixture
def call():
    return kgb_gym.call
