"""What a model is told of failing cases, and of the chips that its kernels were compiled for: once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgb_gym.envs.observation import compiled, describe, differences
from kgb_gym.verdict import CaseResult, Difference, KernelCode, Stage, Status, TargetResult, Verdict

OK = TargetResult("cuda:90", Status.PASSED, variants=2, shared_limit=232448,
                  kernels=(KernelCode("k", 32, 0, 512, {"load": 1}), KernelCode("j", None, None, 0, {})))  # fmt: skip
BAD = TargetResult("hip:gfx942", Status.COMPILE_ERROR, "line 7: x\nno such instruction", 7, failed=2)


def verdict(kind: str, status: Status, *targets: TargetResult, message: str = "") -> Verdict:
    return Verdict("aten/cos", "0", "quick", "cpu", Stage.COMPILED, status, kind=kind, message=message, targets=targets)


def test_a_compilation_is_told_chip_by_chip():
    text = compiled(verdict("compile", Status.COMPILE_ERROR, OK, BAD))
    assert text.splitlines()[0] == (
        "- cuda:90: ok. k 32 registers, 0 bytes spilled, shared 512/232448; j ? registers, 0 bytes spilled, shared 0/232448"
    )
    assert "- hip:gfx942: compile_error. line 7: x\nno such instruction" in text


def test_what_the_message_says_is_not_said_twice():
    told = describe(verdict("compile", Status.COMPILE_ERROR, BAD, message=f"k: {BAD.message}"), "Tool `compile`")
    assert told.count("no such instruction") == 1 and "hip:gfx942: compile_error." in told


def test_a_right_submission_is_told_only_where_it_does_not_compile():
    assert compiled(verdict("verify", Status.PASSED, OK)) == ""
    assert compiled(verdict("verify", Status.COMPILE_ERROR, BAD)) == ""
    assert "hip:gfx942: compile_error" in compiled(verdict("verify", Status.PASSED, OK, BAD))


def failing(case: str, error: str = "", difference: Difference | None = None) -> CaseResult:
    return CaseResult(case, "cos", {}, "paper", False, False, False, difference=difference, error=error)


def test_the_failing_cases_of_the_message_are_told_below_it():
    wrong = Difference("return", 1.5, 0.5, (3,), "1.0", "2.5", 4, 9)
    cases = (failing("cos[a]", "calling cos raised an exception:\nno"), failing("cos[b]", difference=wrong))
    message = f"1 of 2 cases are wrong. 1 raise an exception.\ncos[b]: {wrong.expected} is not {wrong.got}"
    some = replace(verdict("verify", Status.MISMATCH, message=message), cases=cases)
    assert describe(some, "Submission 1").splitlines()[:4] == [
        "Submission 1: mismatch, reached `compiled`.", "1 of 2 cases are wrong. 1 raise an exception.",
        "Cases: 0 of 2 right.", "- cos[a]: calling cos raised an exception:",
    ]  # fmt: skip
    assert describe(some, "x").count("cos[b]") == 1
    raised = replace(some, status=Status.RUNTIME_ERROR, message="1 of 2 cases raise. cos[a]: calling cos raised\nno")
    assert describe(raised, "x").splitlines()[1] == "1 of 2 cases raise."


@pytest.mark.parametrize("message", ["", "something else", "cos[z]: of a case that is not described"])
def test_a_message_without_cases_stays_whole(message):
    some = replace(verdict("verify", Status.MISMATCH, message=message), cases=(failing("cos[a]", "no"),))
    assert message in describe(some, "x")


def test_an_exception_that_many_cases_raise_is_told_once():
    cases = tuple(failing(f"cos[{n}]", "no" if n else "yes") for n in range(4))
    told = differences(replace(verdict("verify", Status.RUNTIME_ERROR), cases=cases))
    assert told.splitlines() == ["- cos[0]: yes", "- cos[1]: no", "- cos[2]: the same", "- cos[3]: the same"]
