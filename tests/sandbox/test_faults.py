"""Whatever process is killed at whatever moment: a verdict comes, nothing is left, and the next job is judged."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from kgb_gym.operators import gold_source
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Status, Verdict
from kgb_gym.verification.protocols import Job, Limits

SAXPY = gold_source("cublas/Saxpy_v2")
GOOD = Job("cublas/Saxpy_v2", SAXPY.encode(), suite="smoke")
ENTRY = "def cublasSaxpy_v2(n, alpha, x, incx, y, incy):\n"
BODY = "BLOCK: tl.constexpr):\n"
IN_THE_CALL = SAXPY.replace(ENTRY, ENTRY + "    while True:\n        pass\n")
IN_THE_KERNEL = SAXPY.replace(BODY, BODY + "    while n < 1 << 30:\n        n += 0\n", 1)
IN_COMPILE_TIME = SAXPY.replace(BODY, BODY + "    for i in tl.static_range(3000):\n        n += 0\n", 1)
OURS = {Status.HARNESS_ERROR}
ANY = {Status.HARNESS_ERROR, Status.CRASH}


def job(source: str, seconds: float = 25) -> Job:
    return Job("cublas/Saxpy_v2", source.encode(), suite="smoke", limits=Limits(correctness_s=seconds, call_s=seconds))


def workers(engine: LocalEngine, *, waiting: bool = False) -> list[psutil.Process]:
    """Every process under the templates: the judge, and what serves the running job. What still waits is left out."""
    templates = [psutil.Process(t._process.pid) for t in engine._templates.values() if t.alive()]
    found = [c for template in templates for c in template.children(recursive=True)]
    idle = set() if waiting else engine.waiting()  # asked last: what works now never waits again
    return [c for c in found if c.pid not in idle]


def settled(engine: LocalEngine) -> list[psutil.Process]:
    """The judges, once all that served the last job is gone: a verdict may be told a moment before."""
    until = time.monotonic() + 10
    while True:
        left = workers(engine), list(Path(engine._root).glob("job-*/*"))
        if len(left[0]) == engine.workers and not left[1]:
            return left[0]
        assert time.monotonic() < until, left
        time.sleep(0.01)


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    """An engine of its own, to be harmed."""
    with LocalEngine(workers=1, platform="cpu") as engine:
        assert engine.submit(GOOD).result(120).clean
        yield engine


def scratch_pid(engine: LocalEngine, role: str, *, busy: bool = True) -> int:
    """The process that serves a role of the running job: the one whose folder of work has that role's name.

    A busy one has begun: before that it would be replaced, and the job would go on.
    """
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for process in workers(engine):
            try:
                if f"/{role}-" in process.cwd() and (not busy or sum(process.cpu_times()[:2]) > 0.15):
                    return process.pid
            except psutil.Error:
                continue
        time.sleep(0.01)
    raise AssertionError(f"no {role} was seen among {workers(engine)}")


def harmed(engine: LocalEngine, what: Job, harm: Callable[[], None], allowed: set[Status]) -> Verdict:
    """The verdict of a job during which `harm` is done; then the engine is as good as before."""
    future = engine.submit(what)
    harm()
    began = time.monotonic()
    verdict = future.result(60)
    assert verdict.status in allowed, verdict.message
    assert time.monotonic() - began < 20
    if verdict.status is Status.HARNESS_ERROR:
        assert not verdict.reward_valid
    again = engine.submit(GOOD).result(120)
    assert again.clean, again.message
    settled(engine)
    return verdict


@pytest.mark.parametrize(
    ("role", "source"),
    [("recorder", IN_THE_CALL), ("player", IN_THE_KERNEL), ("player", IN_THE_CALL), ("compiler", IN_COMPILE_TIME)],
    ids=["recorder", "player, at work", "player, waiting", "compiler"],
)
def test_a_killed_worker(engine, role, source):
    waiting = role == "player" and source is IN_THE_CALL

    def harm():
        os.kill(scratch_pid(engine, role, busy=not waiting), signal.SIGKILL)

    verdict = harmed(
        engine, job(source, 5 if waiting else 25), harm, {Status.TIMEOUT} if waiting else ANY | {Status.COMPILE_ERROR}
    )
    assert not verdict.clean


def judge_pid(engine: LocalEngine) -> int:
    (found,) = (p.pid for p in workers(engine) if p.cwd() == "/")
    return found


def test_a_killed_judge_that_works(engine):
    def harm():
        scratch_pid(engine, "recorder")
        os.kill(judge_pid(engine), signal.SIGKILL)

    harmed(engine, job(IN_THE_CALL), harm, OURS)


def test_a_killed_judge_that_waits(engine):
    os.kill(judge_pid(engine), signal.SIGKILL)
    verdict = engine.submit(GOOD).result(60)
    assert verdict.status in OURS or verdict.clean
    assert engine.submit(GOOD).result(60).clean


def test_a_killed_template(engine):
    def harm():
        scratch_pid(engine, "recorder")
        os.kill(engine._templates["native"]._process.pid, signal.SIGKILL)

    harmed(engine, job(IN_THE_CALL), harm, OURS)


def test_a_killed_template_between_jobs(engine):
    os.kill(engine._templates["interpreter"]._process.pid, signal.SIGKILL)
    time.sleep(0.2)
    assert engine.submit(GOOD).result(120).clean


def test_random_kills(engine):
    """Every process of ours that a job uses, at moments that no protocol state was chosen for."""
    for index in range(8):
        future = engine.submit(GOOD)
        time.sleep(0.03 + 0.06 * index)
        victims = workers(engine)
        if victims:
            with contextlib.suppress(psutil.NoSuchProcess):  # it was just about to end
                victims[index % len(victims)].kill()
        verdict = future.result(60)
        psutil.wait_procs(victims[index % len(victims) :][:1] if victims else [], timeout=5)
        assert verdict.clean or verdict.status in ANY | {Status.COMPILE_ERROR}, verdict.message
        assert engine.submit(GOOD).result(120).clean


def test_close_ends_everything_even_during_a_job():
    fds = psutil.Process().num_fds()
    engine = LocalEngine(workers=1, platform="cpu")
    running, queued = engine.submit(job(IN_THE_CALL)), engine.submit(GOOD)
    engine.start()
    scratch_pid(engine, "recorder")
    assert not running.done()
    processes = [psutil.Process(t._process.pid) for t in engine._templates.values()]
    processes += workers(engine, waiting=True)
    began = time.monotonic()
    engine.close()
    engine.close()
    assert time.monotonic() - began < 10
    for future in (running, queued, engine.submit(GOOD)):
        assert future.result(5).status is Status.HARNESS_ERROR
    _, alive = psutil.wait_procs(processes, timeout=5)
    assert alive == []
    assert not Path(engine._root).exists()
    assert psutil.Process().num_fds() <= fds


def test_close_while_it_starts():
    engine = LocalEngine(workers=1, platform="cpu")
    future = engine.submit(GOOD)
    time.sleep(0.3)
    began = time.monotonic()
    engine.close()
    assert future.result(5).status is Status.HARNESS_ERROR
    assert time.monotonic() - began < 10


def test_many_threads_share_an_engine(local_engine):
    verdicts: list[Verdict] = []

    def use(number: int) -> None:
        what = GOOD if number % 2 else job("x =")
        verdicts.append(local_engine.submit(what).result(120))

    threads = [threading.Thread(target=use, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(v.status.value for v in verdicts) == ["passed"] * 3 + ["syntax_error"] * 3


def test_a_killed_owner_leaves_nothing(tmp_path):
    program = (
        "import time\nfrom kgb_gym.sandbox import LocalEngine\nfrom kgb_gym.verification.protocols import Job\n"
        "engine = LocalEngine(workers=1, platform='cpu')\n"
        f"future = engine.submit(Job('cublas/Saxpy_v2', {IN_THE_CALL.encode()!r}, suite='smoke'))\n"
        "engine.start()\nprint('started', flush=True)\nfuture.result()\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert owner.stdout is not None and owner.stdout.readline() == b"started\n"
    until = time.monotonic() + 20
    family: list[psutil.Process] = []
    while len(family) < 4 and time.monotonic() < until:
        time.sleep(0.1)
        family = psutil.Process(owner.pid).children(recursive=True)
    assert len(family) >= 4
    owner.kill()
    owner.wait()
    owner.stdout.close()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    assert list(tmp_path.glob("kgb-gym-*")) == []
