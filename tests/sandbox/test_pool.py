"""Processes forked ahead of need: ready at once, used once, as confined as any, replaced when they die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import torch

from kgb_gym.operators import gold_source
from kgb_gym.sandbox import LocalEngine, pool
from kgb_gym.verdict import Status
from kgb_gym.verification.protocols import Job, Limits

GOOD = Job("aten/t", gold_source("aten/t").encode(), suite="smoke")
ROLES = ("recorder", "player", "compiler")


@pytest.fixture
def engine(local_engine):
    return local_engine


def until(true: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def full(engine) -> set[int]:
    until(lambda: len(engine.waiting()) == len(ROLES))
    return engine.waiting()


def ask(process, head):
    return process.ask(head, deadline=time.monotonic() + 20)[0]


def test_what_waits_serves_one_submission_and_is_replaced(engine):
    before = full(engine)
    name = "cublas/Saxpy_v2"  # it launches something: all three roles are used
    assert engine.submit(Job(name, gold_source(name).encode(), suite="smoke")).result(60).clean
    after = full(engine)
    assert not before & after
    until(lambda: not any(psutil.pid_exists(pid) for pid in before))


@pytest.mark.parametrize("role", ROLES)
def test_it_is_ready_at_once_and_confined(engine, role):
    waits = full(engine)
    with engine.spawner() as spawner:
        began = time.monotonic()
        process = spawner.spawn(role, operator="aten/t", platform="cpu", limits=Limits(memory_bytes=1 << 30))
        assert ask(process, {"hello": role}) == {"ready": True}
        waited = time.monotonic() - began
        assert process.pid in waits
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status
        assert psutil.Process(process.pid).cwd() == process.scratch
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        assert "unlimited" not in next(line for line in limits.split("\n") if line.startswith("Max address space"))
        assert "unlimited" not in next(line for line in limits.split("\n") if line.startswith("Max cpu time"))
        scratch = process.scratch
        process.end()
        assert not Path(scratch).exists()
    assert waited < 5  # how long it takes is measured by benchmarks.performance, not here


def test_a_recorder_from_the_pool_reaches_nothing(engine):
    """What `test_fences` tries in a fresh process, from inside a submission's import."""
    full(engine)
    source = (
        "import torch, triton, triton.language as tl\n"
        "def t(self):\n    return self.t()\n"
        "try:\n    open('/etc/passwd')\nexcept OSError as e:\n    told = type(e).__name__\n"
        "raise ValueError(told)\n"
    )
    without = ("screen", "audit", "state")
    verdict = engine.submit(Job("aten/t", source.encode(), suite="smoke", without=without)).result(60)
    assert verdict.status is Status.RUNTIME_ERROR
    assert "PermissionError" in verdict.message


def test_one_killed_while_it_waits_is_replaced(engine):
    before = full(engine)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    verdict = engine.submit(GOOD).result(60)  # whatever it finds, it is judged
    assert verdict.clean, verdict.message
    until(lambda: len(engine.waiting()) == len(ROLES), 60)
    assert not before & engine.waiting()


def test_one_killed_as_it_is_handed_over_is_replaced_by_another(engine):
    class Killing:
        """A spawner whose first process dies before its first answer."""

        def __init__(self, spawner):
            self.spawner, self.left = spawner, 1

        def spawn(self, role, **more):
            process = self.spawner.spawn(role, **more)
            if self.left:
                self.left -= 1
                os.kill(process.pid, signal.SIGKILL)
            return process

        def __getattr__(self, name):
            return getattr(self.spawner, name)

    from kgb_gym.verification.judge import verify

    with engine.spawner() as spawner:
        verdict = verify(GOOD, Killing(spawner))
    assert verdict.clean
    assert any("had to be replaced" in note for note in verdict.notes)


@pytest.fixture(scope="module")
def renewing() -> Iterator[LocalEngine]:
    """For a GPU that is not there; with templates that age fast."""
    with LocalEngine(workers=1, platform="nvidia", renew_jobs=5) as engine:
        yield engine


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, whose context would be made")
def test_a_device_that_is_gone_is_our_failure_and_harms_nobody(renewing):
    """Without a GPU a CUDA context fails: what happens where a card falls off."""
    lost = Job("aten/t", gold_source("aten/t").encode(), suite="smoke", platform="nvidia")
    verdict = renewing.submit(lost).result(60)
    assert verdict.status is Status.HARNESS_ERROR
    assert not verdict.reward_valid
    assert "did not get ready" in verdict.message
    assert renewing.submit(GOOD).result(60).clean  # on the CPU, by the same engine
    assert len(renewing.waiting()) <= 2  # dying ones are not replaced without a pause


def test_templates_are_renewed_with_work_in_progress(renewing):
    assert renewing.submit(GOOD).result(60).clean
    old = {t._process.pid for t in renewing._templates.values()}
    verdicts = [renewing.submit(GOOD) for _ in range(5)]
    assert all(v.result(60).clean for v in verdicts)
    until(lambda: not old & {t._process.pid for t in renewing._templates.values()}, 60)
    assert renewing.submit(GOOD).result(60).clean
    until(lambda: not any(psutil.pid_exists(pid) for pid in old))


@pytest.mark.parametrize("wrong", [{"renew_jobs": 0}, {"renew_s": 0.0}])
def test_wrong_numbers(wrong):
    with pytest.raises(ValueError, match="positive"):
        LocalEngine(workers=1, platform="cpu", **wrong)


def test_sizes_follow_memory_and_devices():
    gib = 1 << 30
    plenty = pool.sizes(4, interpreted=True, visible=[""], host_free=64 * gib)
    assert [(w.role, w.count) for w in plenty["native"]] == [("recorder", 4), ("compiler", 4)]
    assert [(w.role, w.count) for w in plenty["interpreter"]] == [("player", 4)]
    assert pool.sizes(4, interpreted=True, visible=[""], host_free=gib // 4)["native"] == ()
    some = pool.sizes(6, interpreted=False, visible=["A", "B"], host_free=64 * gib, device_free=140 * gib)
    assert [(w.role, w.visible, w.count) for w in some["native"]] == [
        (r, v, 3) for v in "AB" for r in ("recorder", "player")
    ]
    small = pool.sizes(6, interpreted=False, visible=["A"], host_free=64 * gib, device_free=8 * gib)
    assert {w.count for w in small["native"]} == {1}
    assert pool.parsed(pool.plain(some["native"])) == some["native"]


def test_nothing_untrusted_is_asked_of_a_process_twice(engine):
    with engine.spawner() as spawner:
        process = spawner.spawn("compiler", operator="aten/t", platform="cpu", limits=Limits())
        ask(process, {"hello": "compiler"})
        first = process.pid
        process.end()
        assert not psutil.pid_exists(first)
        again = spawner.spawn("compiler", operator="aten/t", platform="cpu", limits=Limits())
        assert again.pid != first
        again.end()
