"""Making cases ready ahead changes how long a verification takes, and nothing else."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from kgb_gym.operators import gold_source
from kgb_gym.verdict import Status
from kgb_gym.verification import pipeline
from kgb_gym.verification.playing import Prepared, _kernel_raised
from kgb_gym.verification.session import DeviceLost, Failure

GOLD = gold_source("aten/softmax")
SUBMISSIONS = {
    "right": (GOLD, "passed"),
    "wrong": (GOLD.replace("tl.sum(e, axis=1)", "tl.max(e, axis=1)"), "mismatch"),
    "raises": (GOLD.replace("tl.sum(e, axis=1)", "tl.sum(e, axis=7)"), None),  # a compile error where all is compiled
}


@pytest.mark.parametrize("name", SUBMISSIONS)
@pytest.mark.parametrize("fail_fast", [False, True])
def test_verdicts_are_the_same(judge, name, fail_fast):
    source, status = SUBMISSIONS[name]
    assert name == "right" or source != GOLD
    ahead, plain = (
        judge("aten/softmax", source, seed=3, fail_fast=fail_fast, kind="test", pipelined=on) for on in (True, False)
    )
    assert status is None or ahead.status == status, ahead.message
    assert ahead == plain
    assert ahead.clean is False  # a test never is


class Log:
    """A verification of three cases, with the steps in the order in which they happen."""

    def __init__(self, monkeypatch, *, prepared=None, judged=None, pipelined=True, fail_fast=False):
        self.events, self.player = [], threading.get_ident()
        names = ("a", "b", "c")
        trials = [SimpleNamespace(case=SimpleNamespace(id=n), ok=True, raised=None) for n in names]
        self.session = SimpleNamespace(
            trials=trials, job=SimpleNamespace(pipelined=pipelined, fail_fast=fail_fast), durations={"judge": 0.0},
            clock=lambda _: threading.Lock(),
        )  # fmt: skip

        def prepare(session, trial, kernels, foresight):
            self.events.append(f"prepare {trial.case.id}")
            if prepared and trial.case.id in prepared:
                raise prepared[trial.case.id]
            return Prepared(trial, subject=SimpleNamespace(blobs=[]), question={"case": trial.case.id}, max_blobs=1)

        def judge_case(session, ready, played, ask):
            assert played() == ({"case": ready.trial.case.id}, [])
            self.events.append(f"judge {ready.trial.case.id}")
            if judged and ready.trial.case.id in judged:
                ready.trial.ok = False
                raise judged[ready.trial.case.id]

        monkeypatch.setattr(pipeline, "prepare", prepare)
        monkeypatch.setattr(pipeline, "judge_case", judge_case)

    def ask(self, question, blobs, doing, max_blobs):
        self.events.append(f"play {question['case']}")
        return question, []

    def carry_out(self):
        pipeline.play_cases(self.session, None, None, self.ask, lambda: self.events.append("end"))
        return self.events


def test_the_next_case_is_ready_before_the_last_one_is_judged(monkeypatch):
    events = Log(monkeypatch).carry_out()
    at = {event: i for i, event in enumerate(events)}
    assert at["prepare b"] < at["judge a"] < at["judge b"] < at["judge c"]
    assert at["prepare c"] < at["judge b"]
    assert "end" not in events and len(events) == 9


def test_one_after_the_other_where_it_is_asked_for(monkeypatch):
    events = Log(monkeypatch, pipelined=False).carry_out()
    assert events == [f"{what} {n}" for n in "abc" for what in ("prepare", "play", "judge")]


def test_what_is_wrong_with_a_later_case_waits_its_turn(monkeypatch):
    hack = Failure(Status.HACK, "found in b", case="b")
    log = Log(monkeypatch, prepared={"b": hack})
    with pytest.raises(Failure, match="found in b"):
        log.carry_out()
    assert "judge a" in log.events and "judge b" not in log.events and log.events[-1] == "end"
    first = Failure(Status.TIMEOUT, "a took too long", case="a")
    log = Log(monkeypatch, prepared={"b": hack}, judged={"a": first})
    with pytest.raises(Failure, match="a took too long"):
        log.carry_out()


def test_a_case_that_raises_does_not_end_the_others(monkeypatch):
    raised = Failure(Status.RUNTIME_ERROR, "x", case="b", fatal=False)
    log = Log(monkeypatch, judged={"b": raised})
    assert [e for e in log.carry_out() if e.startswith("judge")] == ["judge a", "judge b", "judge c"]
    assert log.session.trials[1].raised is raised
    log = Log(monkeypatch, judged={"b": raised}, fail_fast=True)
    events = log.carry_out()
    assert "judge c" not in events and events[-1] in {"end", "play c"} and "end" in events


@pytest.mark.parametrize(
    ("kind", "text", "ours"),
    [
        ("AcceleratorError", "CUDA error: uncorrectable ECC error encountered", True),
        ("AcceleratorError", "CUDA error: CUDA-capable device(s) is/are busy or unavailable", True),
        ("AcceleratorError", "CUDA error: an illegal memory access was encountered", False),
        ("AcceleratorError", "CUDA error: unspecified launch failure", False),
        ("CompilationError", "CUDA error: no CUDA-capable device is detected", False),
    ],
)
def test_whose_failure_a_cuda_error_is(kind, text, ours):
    trial = SimpleNamespace(case=SimpleNamespace(id="a"), judged=True)
    answer = {"error": {"type": kind, "text": text, "trace": text, "line": None}}
    with pytest.raises(DeviceLost if ours else Failure) as raised:
        _kernel_raised(trial, answer)
    assert trial.judged is False
    assert ours or raised.value.status is Status.RUNTIME_ERROR
