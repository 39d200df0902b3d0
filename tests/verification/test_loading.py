"""When a player gets its kernels and what it compiles ahead; with real workers only a GPU shows it (see `test_on_gpu`)."""

import contextlib
from types import SimpleNamespace

import pytest

from kgb_gym.verdict import Status
from kgb_gym.verification import loading
from kgb_gym.verification.loading import Loading
from kgb_gym.verification.session import Failure

KERNELS = SimpleNamespace(text="", names=frozenset({"k"}))


@pytest.fixture
def asked(monkeypatch):
    """What workers are asked; a failure put into `answers` is raised at its turn."""
    log, answers = [], []

    def exchange(session, worker, head, blobs=(), *, seconds, doing, max_blobs=0):
        log.append((doing, head))
        answer = answers.pop(0) if answers else {}
        if isinstance(answer, Failure):
            raise answer
        return answer, []

    monkeypatch.setattr(loading, "exchange", exchange)
    monkeypatch.setattr(loading, "parsed", lambda trial, kernels, session: trial.number)
    monkeypatch.setattr(loading, "encode", lambda record: record)
    return SimpleNamespace(log=log, answers=answers, doings=lambda: [d for d, _ in log])


def session(*, interpreted=False, pipelined=True, count=7):
    return SimpleNamespace(
        platform=SimpleNamespace(interpreted=interpreted, device="cuda"),
        job=SimpleNamespace(pipelined=pipelined, limits=SimpleNamespace(call_s=1.0, correctness_s=1.0)),
        trials=[SimpleNamespace(number=n, input_bytes=[]) for n in range(count)],
        clock=lambda phase: contextlib.nullcontext(),
    )


def run(given):
    player = object()
    made = Loading(given, player, KERNELS)
    for trial in given.trials:
        made.recorded(trial)
    made.load(player)
    made.compile(player, given.trials)


def test_compiling_begins_when_some_cases_are_recorded(asked):
    run(session())
    assert asked.doings() == ["loading the kernels"] + ["compiling ahead"] * 3
    assert [[r[0] for r in question["records"]] for _, question in asked.log[1:]] == [[0], [1, 2], list(range(7))]


@pytest.mark.parametrize("more", [{"interpreted": True}, {"pipelined": False}])
def test_nothing_is_compiled_ahead_where_that_gains_nothing(asked, more):
    run(session(**more))
    assert asked.doings() == ["loading the kernels"]


def test_one_case_is_compiled_when_it_is_recorded(asked):
    run(session(count=1))
    assert asked.doings() == ["loading the kernels", "compiling ahead"]


def test_what_fails_early_is_told_when_recording_is_done(asked):
    given = session()
    asked.answers += [Failure(Status.CRASH, "the player is gone")]
    made = Loading(given, object(), KERNELS)
    for trial in given.trials:
        made.recorded(trial)
    with pytest.raises(Failure, match="the player is gone"):
        made.load(object())
    assert asked.doings() == ["loading the kernels"]


def test_kernels_that_cannot_be_loaded_are_a_compile_error(asked):
    asked.answers.append({"error": {"type": "NameError", "text": "x", "trace": "NameError: x", "line": 3}})
    with pytest.raises(Failure, match="cannot be loaded on their own:\nNameError: x") as caught:
        Loading(session(), object(), KERNELS).load(object())
    assert caught.value.status is Status.COMPILE_ERROR
