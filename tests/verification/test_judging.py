"""Gold passes everywhere; each way to be wrong has its own status; what Triton offers is judged as it should be."""

from __future__ import annotations

import pytest

from kgb_gym.envs.reward import RewardConfig
from kgb_gym.operators import get, gold_source, names
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Stage, Status
from kgb_gym.verification.protocols import Job, Limits

LIMITS = Limits(correctness_s=120, call_s=30)

COS = gold_source("aten/cos")
SAXPY = gold_source("cublas/Saxpy_v2")
ADD = gold_source("aten/add_")
T = gold_source("aten/t")


QUICK_SHARE = names()[::12]
"""Golds that are judged on `quick` here; all of them are by `python -m benchmarks.sweep`."""


@pytest.fixture(scope="module")
def golds(request):
    """Verdicts to come of every gold that the selected tests ask for, judged two at a time."""
    asked = {(i.callspec.params["name"], i.originalname) for i in request.session.items if hasattr(i, "callspec")
             and i.originalname in {"test_gold_passes", "test_gold_passes_on_quick"}}  # fmt: skip
    with LocalEngine(workers=2, platform="cpu") as engine:
        yield {
            (name, suite): engine.submit(Job(name, gold_source(name).encode(), suite=suite, limits=LIMITS, seed=11))
            for test, suite in (("test_gold_passes", "smoke"), ("test_gold_passes_on_quick", "quick"))
            for name in names() if (name, test) in asked
        }  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_gold_passes(golds, name):
    verdict = golds[name, "smoke"].result()
    assert (verdict.status, verdict.clean, verdict.clean_paper) == (Status.PASSED, True, True), verdict.message
    assert verdict.stage is Stage.GENUINE
    assert all(c.passed and c.passed_paper and not c.skipped for c in verdict.cases)
    hidden = [c for c in verdict.cases if c.origin == "hidden"]
    assert sorted(c.interface for c in hidden) == sorted(i.name for i in get(name).interfaces)
    assert len(verdict.cases) == len(get(name).cases("smoke")) + len(hidden)
    assert verdict.speedup is None
    assert {"screen", "ghost", "play", "hidden", "contract"} <= set(verdict.layers)


@pytest.mark.parametrize("name", QUICK_SHARE)
def test_gold_passes_on_quick(golds, name):
    verdict = golds[name, "quick"].result()
    assert verdict.clean, verdict.message


def replaced(source, *pairs):
    for old, new in pairs:
        assert old in source
        source = source.replace(old, new)
    return source


WRONG = {
    "recursion": ("aten/cos", replaced(COS, ("    out = torch.empty_like(self, dtype", "    return torch.cos(self)\n    out = torch.empty_like(self, dtype")),
                  Status.RECURSION, "calls the operator that it replaces"),
    "dtype": ("aten/cos", replaced(COS, ("out = torch.empty_like(self, dtype=torch.result_type(self, 1.0))", "out = torch.empty_like(self, dtype=torch.float64)")),
              Status.MISMATCH, "dtype float64"),
    "shape": ("aten/cos", replaced(COS, ("    return out\n\n\ndef cos_out", "    return out.unsqueeze(0)\n\n\ndef cos_out")), Status.MISMATCH, "has shape [1, "),
    "nothing returned": ("aten/cos", replaced(COS, ("    return out\n\n\ndef cos_out", "\n\ndef cos_out")), Status.MISMATCH, "returns 0 values where 1"),
    "two returned": ("aten/cos", replaced(COS, ("    return out\n\n\ndef cos_out", "    return out, out\n\n\ndef cos_out")), Status.RUNTIME_ERROR, "Unable to cast"),
    "a number returned": ("aten/cos", replaced(COS, ("    return out\n\n\ndef cos_out", "    return 3\n\n\ndef cos_out")), Status.RUNTIME_ERROR, "Unable to cast 3 to Tensor"),
    "out is not written": ("aten/cos", replaced(COS, ("        launch(laid_out_like(self, out), out)\n    else", "        pass\n    else")), Status.MISMATCH, "expected"),
    "another out returned": ("aten/cos", COS.rstrip() + ".clone()\n", Status.MISMATCH, "must be the argument out itself"),
    "a copy for a view": ("aten/t", replaced(T, ("self.transpose(0, 1)", "self.transpose(0, 1).contiguous()")), Status.MISMATCH, "must share the memory"),
    "wrong strides": ("aten/t", replaced(T, ("self.transpose(0, 1)", "self.reshape(self.shape[1], self.shape[0])")), Status.MISMATCH, "strides"),
    "an input as answer": ("aten/cos", replaced(COS, ("def cos(self):\n", "def cos(self):\n    launch(self, self)\n    return self\n")), Status.MISMATCH, "fresh memory"),
    "a changed input": ("aten/cos", replaced(COS, ("def cos(self):\n    out", "def cos(self):\n    launch(self, self)\n    out")), Status.HACK, "read-only argument self was changed"),
    "no kernel": ("aten/cos", replaced(COS, ("    launch(laid_out_like(self, out), out)\n    return", "    return")), Status.MISMATCH, "expected"),
    "native compute": ("aten/cos", replaced(COS, ("def cos(self):\n", "def cos(self):\n    self = self + 0\n")), Status.HACK, "computes outside your kernels"),
    "python in a kernel": ("cublas/Saxpy_v2", replaced(SAXPY, ("    mask = index < n\n", "    mask = index < n\n    while True:\n        break\n")), Status.COMPILE_ERROR, "break"),
    "one interface missing": ("aten/cos", COS.split("def cos_out")[0], Status.MISSING_INTERFACE, "cos_out"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_each_way_to_be_wrong(judge, name):
    operator, source, status, words = WRONG[name]
    verdict = judge(operator, source)
    assert verdict.status is status, verdict.message
    assert words in verdict.message, verdict.message
    assert not verdict.clean and not verdict.clean_paper
    if status is Status.HACK:
        assert verdict.hacks and all(h.layer and h.rule and h.message for h in verdict.hacks)


def test_a_compile_error_points_into_the_submission(judge):
    source = WRONG["python in a kernel"][1]
    line = source.split("\n").index("        break") + 1
    verdict = judge("cublas/Saxpy_v2", source)
    assert f"line {line}: break" in verdict.message
    assert verdict.stage is Stage.LOADED


def test_an_unknown_operator_is_our_failure(judge, good):
    verdict = judge("aten/nothing", COS)
    assert verdict.status is Status.HARNESS_ERROR and not verdict.reward_valid
    good()


def test_only_defined(judge):
    verdict = judge("aten/cos", COS.split("def cos_out")[0], only_defined=True)
    assert (verdict.status, verdict.clean, verdict.only_defined) == (Status.PASSED, False, True), verdict.message
    assert {c.interface for c in verdict.cases} == {"cos"}


def test_chosen_cases(judge):
    ids = [c.id for c in get("aten/cos").cases("quick")]
    verdict = judge("aten/cos", COS, kind="test", suite="quick", cases=(ids[3], "cos.out"))
    assert (verdict.status, verdict.clean, verdict.stage) == (Status.PASSED, False, Stage.CORRECT), verdict.message
    assert {c.case for c in verdict.cases if c.interface == "cos"} == {ids[3]}
    assert {c.case for c in verdict.cases if c.interface == "cos.out"} >= {i for i in ids if i.startswith("cos.out[")}


def test_integers_by_way_of_half_precision_are_wrong(judge):
    narrow = "    if x.dtype == tl.int64 or x.dtype == tl.int32:\n        x = x.to(tl.float16).to(x.dtype)\n"
    gold = gold_source("aten/clone")
    source = gold.replace("    if NEGATE:", narrow + "    if NEGATE:", 1)
    assert source != gold
    verdict = judge("aten/clone", source, suite="quick")
    assert verdict.status is Status.MISMATCH
    assert {c.params["dtype"] for c in verdict.cases if not c.passed} <= {"int32", "int64"}


def test_a_verification_of_chosen_cases_is_no_clean_pass(judge):
    ids = [c.id for c in get("aten/cos").cases("quick")]
    verdict = judge("aten/cos", COS, suite="quick", cases=(ids[3],))
    assert (verdict.status, verdict.clean, verdict.clean_paper) == (Status.PASSED, False, False), verdict.message
    assert verdict.kind == "test" and RewardConfig().potential(verdict) == 0
    assert {c.case for c in verdict.cases if c.origin != "hidden"} == {ids[3]}
    assert sum(c.origin == "hidden" for c in verdict.cases) == len(get("aten/cos").interfaces)


def test_a_test_without_cases_takes_the_smoke_suite(judge):
    verdict = judge("aten/cos", COS, kind="test", suite="quick")
    assert {c.case for c in verdict.cases} == {c.id for c in get("aten/cos").cases("smoke")}


def test_compile_for_every_target(judge):
    targets = ("cuda:80", "cuda:90", "cuda:100", "hip:gfx942")
    verdict = judge("cublas/Saxpy_v2", SAXPY, kind="compile", targets=targets)
    assert (verdict.status, verdict.stage, verdict.compiled_for) == (Status.PASSED, Stage.COMPILED, targets), (
        verdict.message
    )
    broken = judge("cublas/Saxpy_v2", WRONG["python in a kernel"][1], kind="compile", targets=targets)
    assert broken.status is Status.COMPILE_ERROR
    assert all(t in broken.message for t in targets)


def test_the_same_job_gives_the_same_verdict(judge):
    for source in (SAXPY, replaced(SAXPY, ("alpha * x_value + y_value", "alpha * x_value"))):
        first, again, other = (judge("cublas/Saxpy_v2", source, seed=seed) for seed in (3, 3, 4))
        assert first == again
        assert [c.case for c in first.cases] != [c.case for c in other.cases] or first.cases != other.cases


TUNED = replaced(
    SAXPY,
    ("@triton.jit", "@triton.autotune([triton.Config({'BLOCK': 128}), triton.Config({'BLOCK': 512})], key=['n'])\n@triton.jit"),
    ("[(triton.cdiv(n, block),)]", "[lambda meta: (triton.cdiv(n, meta['BLOCK']),)]"),
    (", BLOCK=block, num_warps=4", ""),
)  # fmt: skip


def test_an_autotuned_kernel(judge):
    assert judge("cublas/Saxpy_v2", TUNED).clean
    clash = judge("cublas/Saxpy_v2", replaced(TUNED, ("incx, incy)\n    return", "incx, incy, BLOCK=64)\n    return")))
    assert clash.status is Status.RUNTIME_ERROR
    assert "BLOCK" in clash.message and "leave it out of the call" in clash.message


def test_every_configuration_is_tried_by_some_seed(judge):
    """One of two configurations is wrong: over a few seeds both verdicts occur."""
    source = replaced(
        TUNED,
        ("    tl.store(y_at, alpha", "    if BLOCK == 512:\n        alpha = alpha + 1.0\n    tl.store(y_at, alpha"),
    )
    seen = {judge("cublas/Saxpy_v2", source, seed=seed).status for seed in range(6)}
    assert seen <= {Status.PASSED, Status.MISMATCH} and Status.MISMATCH in seen


def test_heuristics_and_helpers(judge):
    source = replaced(
        SAXPY,
        ("@triton.jit", "@triton.jit\ndef scaled(x, alpha):\n    return alpha * x\n\n\n@triton.heuristics({'BLOCK': lambda args: 64 if args['n'] < 50 else 256})\n@triton.jit"),
        ("alpha * x_value", "scaled(x_value, alpha)"),
        ("[(triton.cdiv(n, block),)]", "[lambda meta: (triton.cdiv(n, meta['BLOCK']),)]"),
        (", BLOCK=block, num_warps=4", ""),
    )  # fmt: skip
    verdict = judge("cublas/Saxpy_v2", source)
    assert verdict.clean, verdict.message
