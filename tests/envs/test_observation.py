"""What a model is told of the chips that its kernels were compiled for."""

from __future__ import annotations

from kgb_gym.envs.observation import compiled, describe
from kgb_gym.verdict import KernelCode, Stage, Status, TargetResult, Verdict

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
