"""Inputs and oracles made ahead are those that would be made when they are asked for."""

import threading
import time

import pytest
import torch

from kgb_gym.operators import get
from kgb_gym.operators.compare import same_bits_or_nan
from kgb_gym.platforms import get as get_platform
from kgb_gym.verification import foresight
from kgb_gym.verification.foresight import Foresight
from kgb_gym.verification.one_ahead import one_ahead
from kgb_gym.verification.protocols import Job, Threads
from kgb_gym.verification.session import Session, Trial


def session_of(name, suite="wide"):
    operator = get(name)
    session = Session(Job(name, b"x", suite=suite, seed=4), operator, get_platform("cpu"), None)
    session.trials = [Trial(c, operator.interface(c.interface)) for c in operator.cases(suite)]
    return session


def everything(session, threads):
    ahead = Foresight(session, session.trials, threads)
    try:
        return [ahead.take(trial) for trial in session.trials]
    finally:
        ahead.close()


def targets(want):
    return [*(t for t in want.returns if hasattr(t, "reference")), *want.written.values()]


# Sums and quotients of whole numbers have torch's default dtype, which their oracle sets for a while.
@pytest.mark.parametrize("name", ["aten/div", "aten/mean", "aten/cos", "cublas/Saxpy_v2", "vllm/rms_norm"])
def test_threads_change_nothing(name):
    plain = everything(session_of(name), Threads())
    ahead = everything(session_of(name), Threads(own=1, ahead=3, each=1))
    assert len(plain) == len(ahead) > 5
    for (_, want, blobs), (_, again, others) in zip(plain, ahead, strict=True):
        assert blobs == others and want.raises == again.raises
        assert len(targets(want)) == len(targets(again))
        for one, other in zip(targets(want), targets(again), strict=True):
            assert one.reference.dtype == other.reference.dtype
            assert bool(same_bits_or_nan(one.reference, other.reference).all())
            assert (one.precise is None) == (other.precise is None)
            assert one.precise is None or bool(same_bits_or_nan(one.precise, other.precise).all())
    assert torch.get_default_dtype() is torch.float32


def test_no_thread_works_while_the_default_dtype_is_another_one(monkeypatch):
    seen, real = [], foresight.expected

    def watched(operator, interface, call):
        seen.append((threading.current_thread().name, torch.get_default_dtype()))
        time.sleep(0.002)
        return real(operator, interface, call)

    monkeypatch.setattr(foresight, "expected", watched)
    everything(session_of("aten/div"), Threads(own=1, ahead=3, each=1))
    assert any(name.startswith("kgb-foresight") for name, _ in seen), "no oracle was made ahead"
    assert {dtype for _, dtype in seen} == {torch.float32}
    main = {name for name, _ in seen if not name.startswith("kgb-foresight")}
    assert main, "no case of whole numbers was left to the judge's own thread"


def test_no_more_is_begun_than_may_wait(monkeypatch):
    session, threads = session_of("aten/cos"), Threads(own=1, ahead=2, each=1)
    ahead = Foresight(session, session.trials, threads)
    until = time.monotonic() + 10
    while len(ahead._made) < foresight.EACH * threads.ahead and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    assert len(ahead._made) == foresight.EACH * threads.ahead
    ahead.close()
    assert not any(w.is_alive() for w in ahead._workers)
    monkeypatch.setattr(foresight, "MOST_BYTES", 1)
    ahead = Foresight(session, session.trials, threads)
    time.sleep(0.3)
    assert len(ahead._made) <= threads.ahead
    assert all(ahead.take(trial)[1] is not None for trial in session.trials), "a small limit must not stop it"
    ahead.close()


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_what_is_made_one_ahead_comes_in_order(ahead, count):
    made, seen = [], []
    with one_ahead(ahead, range(count), lambda n: made.append(n) or n * n) as results:
        for result in results:
            seen.append(result)
            time.sleep(0.01)
            assert len(made) <= len(seen) + ahead
    assert seen == [n * n for n in range(count)] and made == list(range(count))


def test_nothing_is_made_for_nobody():
    def make(n):
        if n == 1:
            raise ValueError("no")
        return n

    with one_ahead(True, range(9), make) as results:
        assert next(results) == 0
        with pytest.raises(ValueError, match="no"):
            next(results)
    assert not [t for t in threading.enumerate() if t.name.startswith("kgb-ahead")]


def test_what_fails_ahead_is_raised_where_it_is_taken(monkeypatch):
    session = session_of("aten/cos", "smoke")

    def failing(operator, interface, call):
        raise RuntimeError("the oracle is broken")

    monkeypatch.setattr(foresight, "expected", failing)
    ahead = Foresight(session, session.trials, Threads(own=1, ahead=2, each=1))
    with pytest.raises(RuntimeError, match="the oracle is broken"):
        ahead.take(session.trials[0])
    ahead.close()


@pytest.mark.parametrize("cores", range(1, 65))
def test_shares_of_cores(cores):
    threads = Threads.of(cores)
    assert threads.own >= 1 and threads.each >= 1
    assert threads.own + threads.ahead * threads.each <= cores + 1
    assert (threads.ahead > 0) == (cores >= 4)
