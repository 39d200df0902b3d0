"""Metrics against numbers worked out by hand; the arithmetic stands beside them."""

from __future__ import annotations

import json
import math

import pytest
from tables import Builder, failed, timed
from verdicts import case, verdict

from kgb_gym import metrics
from kgb_gym.metrics import GroupKey, classify
from kgb_gym.report.portability import portability_table
from kgb_gym.verdict import Status, TargetResult


@pytest.fixture
def result():
    b = Builder()
    # aten/add: one clean sample, cases at 1x and 4x: S = sqrt(1 * 4) = 2; launch-bound 50x and our own 90x don't count
    b.episode("aten/add", timed("aten/add", 1.0, 4.0), early_stop=True)
    # aten/mm: fails, then passes at 0.5x: S = 0.5
    b.episode("aten/mm", failed("aten/mm"), early_stop=True, sample=0)
    b.episode("aten/mm", timed("aten/mm", 0.5), early_stop=True, sample=1)
    # aten/sort: a hack, then a mismatch: the hack neither passes nor stops the search
    b.episode("aten/sort", failed("aten/sort", Status.HACK), early_stop=True, sample=0)
    b.episode("aten/sort", failed("aten/sort"), early_stop=True, sample=1)
    # vllm/rms_norm: clean, but timed against the oracle: its 9x is left out
    b.episode("vllm/rms_norm", timed("vllm/rms_norm", 9.0, baseline="oracle (not comparable)"), early_stop=True)
    # cublas/Sgemm_v2: our fault: unscored; and one whose process died
    b.episode("cublas/Sgemm_v2", failed("cublas/Sgemm_v2", Status.HARNESS_ERROR, cases=()), early_stop=True)
    b.episode("aten/cos", failed("aten/cos"), complete=False, outcome="interrupted", early_stop=True)
    # never pooled: another suite; left out: a scripted policy
    b.episode("aten/add", timed("aten/add", 7.0), suite="quick", early_stop=True)
    b.episode("aten/add", timed("aten/add", 7.0), synthetic=True, early_stop=True)
    return metrics.compute(*b.tables())


def test_rates(result):
    paper = result.groups[0]
    assert [g.key for g in result.groups] == [
        GroupKey("pass@2", "M", "paper", "nvidia"),
        GroupKey("pass@2", "M", "quick", "nvidia"),
    ]
    overall, aten, vllm = (paper.summaries[n] for n in ("overall", "aten", "vllm"))
    assert (overall.attempted, overall.passed) == (4, 3)  # add, mm, sort, rms_norm; cublas and cos are unscored
    assert overall.clean_pass_rate == pytest.approx(3 / 4)
    assert aten.clean_pass_rate == pytest.approx(2 / 3)
    assert vllm.clean_pass_rate == 1.0
    assert "cublas" not in paper.summaries
    assert overall.pass_at == {1: pytest.approx(2 / 4), 2: pytest.approx(3 / 4)}  # first samples: add, rms_norm


def test_speedups(result):
    overall = result.groups[0].summaries["overall"]
    assert overall.speedup == pytest.approx(1.0)  # sqrt(2 * 0.5)
    assert overall.median == pytest.approx(1.25)  # (0.5 + 2) / 2
    assert overall.iqm is None  # two operators are fewer than four
    assert (overall.timed, overall.incomparable) == (2, 1)
    # over the four attempted: only add (2x) is above 0.8, 1.0 and 1.5
    assert overall.fast == {0.8: pytest.approx(1 / 4), 1.0: pytest.approx(1 / 4), 1.5: pytest.approx(1 / 4)}


def test_portability_is_the_share_of_clean_kernels_that_compile_for_all_chips():
    def chips(**statuses):
        made = (
            TargetResult(f"cuda:{n[1:]}", s, variants=int(s is Status.PASSED), failed=1) for n, s in statuses.items()
        )
        return {"targets": tuple(made)}

    good, bad = Status.PASSED, Status.COMPILE_ERROR
    b = Builder()
    b.episode("aten/add", timed("aten/add", 1.0, **chips(t80=good, t90=good)))
    b.episode("aten/mm", timed("aten/mm", 1.0, **chips(t80=bad, t90=good)))
    b.episode("aten/cos", timed("aten/cos", 1.0, **chips(t90=good)))  # compiled for one alone: tells nothing
    b.episode("aten/sort", failed("aten/sort", **chips(t80=good, t90=good)))  # not clean
    summary = metrics.compute(*b.tables()).groups[0].summaries["overall"]
    assert summary.compiles == {"cuda:80": pytest.approx(1 / 2), "cuda:90": 1.0}
    assert (summary.compiled, summary.portable) == (2, pytest.approx(1 / 2))
    table = portability_table(metrics.compute(*b.tables()))
    assert table.columns[1:] == ("Kernels", "cuda:80", "cuda:90", "All")
    assert table.rows[0].cells == ("2", "50", "100", "50")


def test_costs(result):
    overall = result.groups[0].summaries["overall"]
    assert overall.tokens == 600  # six scored episodes of one step of 100 tokens
    assert overall.tokens_per_success == pytest.approx(200.0)  # 600 / 3
    assert overall.wall_s == pytest.approx(12.0)  # 6 * 2 s


def test_hacks_and_unscored(result):
    paper = result.groups[0]
    assert paper.hacks == {"aten": 1}
    assert {(u.operator, u.reason) for u in paper.unscored} == {
        ("cublas/Sgemm_v2", "harness_error"),
        ("aten/cos", "interrupted"),
    }
    assert result.synthetic_left_out == 1
    assert any("synthetic" in n for n in result.notes)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["groups"][0]["key"]["suite"] == "paper"


def test_incomparable_and_synthetic_on_request():
    b = Builder()
    b.episode("aten/add", timed("aten/add", 3.0, baseline="oracle (not comparable)"), synthetic=True)
    assert metrics.compute(*b.tables()).groups == ()
    (group,) = metrics.compute(*b.tables(), include_synthetic=True).groups
    assert group.summaries["overall"].speedup is None
    assert group.summaries["overall"].fast[1.0] is None
    (group,) = metrics.compute(*b.tables(), include_synthetic=True, include_incomparable=True).groups
    assert group.summaries["overall"].speedup == pytest.approx(3.0)


def test_all_samples_drawn_are_estimated_without_bias():
    b = Builder()
    for sample, passed in enumerate((False, True, False, True)):
        b.episode("aten/add", timed("aten/add", 1.0) if passed else failed("aten/add"), sample=sample, early_stop=False)
    at = metrics.compute(*b.tables()).groups[0].summaries["overall"].pass_at
    # n = 4, c = 2: 1 - C(2,1)/C(4,1) = 1/2; 1 - C(2,2)/C(4,2) = 5/6; k = 3, 4: 1
    assert at == {1: pytest.approx(1 / 2), 2: pytest.approx(5 / 6), 3: 1.0, 4: 1.0}


def test_an_unfinished_search_tells_nothing():
    b = Builder()
    b.episode("aten/add", timed("aten/add", 1.0), early_stop=True)
    b.episode("aten/mm", failed("aten/mm"), early_stop=True)
    b.episode("aten/cos", failed("aten/cos"), early_stop=True, sample=0)
    b.episode("aten/cos", failed("aten/cos"), early_stop=True, sample=1)
    at = metrics.compute(*b.tables()).groups[0].summaries["overall"].pass_at
    assert at == {1: pytest.approx(1 / 3), 2: None}  # aten/mm has one sample only and no pass


def test_no_speedup_on_cpu_is_none_not_zero():
    b = Builder()
    b.episode("aten/add", verdict("aten/add"), platform="cpu")
    summary = metrics.compute(*b.tables()).groups[0].summaries["overall"]
    assert (summary.speedup, summary.median, summary.iqm, summary.fast[1.0]) == (None, None, None, None)


def test_empty_tables():
    result = metrics.compute(*Builder().tables())
    assert result.groups == ()
    assert result.to_dict()["notes"] == []


def test_formulas():
    assert metrics.geomean([2.0, 8.0]) == pytest.approx(4.0)
    assert metrics.geomean([]) is None
    assert metrics.median([3.0, 1.0, 2.0]) == 2.0
    assert metrics.iqm([1.0, 2.0, 3.0]) is None
    assert metrics.iqm([1.0, 2.0, 4.0, 100.0]) == pytest.approx(3.0)  # M = 4: S_2, S_3
    # M = 7: floor(7/4)+1 = 2 … floor(21/4) = 5: (2 + 3 + 4 + 5) / 4 = 3.5
    assert metrics.iqm([7.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == pytest.approx(3.5)
    assert metrics.pass_at_k(5, 0, 3) == 0.0
    assert metrics.pass_at_k(5, 3, 3) == 1.0  # C(2, 3) = 0
    with pytest.raises(ValueError, match="Pass@6"):
        metrics.pass_at_k(5, 1, 6)
    assert metrics.fast([], 1.0, 0) is None


def test_code_similarity():
    # three lines each, two of them kept: 2 * 2 / 6
    assert metrics.code_similarity("a\nb\nc", "a\nb\nd") == pytest.approx(2 / 3)
    assert metrics.round_similarity(["a"]) is None
    assert metrics.round_similarity(["a\nb\nc", "a\nb\nd", "x\ny\nz"]) == pytest.approx((2 / 3 + 0) / 2)


def test_similarity_is_taken_within_episodes_of_several_rounds():
    b = Builder()
    bad = failed("aten/add")
    b.episode("aten/add", bad, bad, codes=("a\nb", "a\nb"), sample=0)
    b.episode("aten/add", bad, bad, codes=("x\ny", "x\nz"), sample=1)
    # 1.0 in the first, 2 * 1 / 4 in the second; the step from the first episode to the second is no round
    assert metrics.compute(*b.tables()).groups[0].similarity == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("operator", "status", "message", "pattern"),
    [
        ("aten/add", Status.RECURSION, "", "recursion"),
        ("aten/add", Status.MISSING_INTERFACE, "defines no add_out", "missing_overloads"),
        ("aten/pow", Status.COMPILE_ERROR, "module 'triton.language' has no attribute 'pow'", "hallucinated_api"),
        ("aten/mm", Status.RUNTIME_ERROR, "Conflicting meta-parameters: BLOCK_SIZE.", "block_size_conflict"),
        ("aten/mm", Status.COMPILE_ERROR, "unsupported AST node type: Break", "unsupported_syntax"),
        ("aten/fmax", Status.COMPILE_ERROR, "PassManager::run failed", "llvm_ir"),
        ("aten/arange", Status.RUNTIME_ERROR, "memory size too large to fit in 32 bit", "address_32bit"),
        ("aten/copy_", Status.MISMATCH, "wrong for non-contiguous inputs", "non_contiguous"),
        ("aten/poisson", Status.MISMATCH, "mean differs", "stochastic"),
        ("aten/sort", Status.MISMATCH, "12 of 1024 differ", "hard_algorithm"),
        ("aten/cos", Status.MISMATCH, "12 of 1024 differ", "mismatch"),
        ("aten/cos", Status.TIMEOUT, "", "timeout"),
        ("aten/cos", Status.HARNESS_ERROR, "", None),
        ("aten/cos", Status.PASSED, "", None),
    ],
)
def test_failure_patterns(operator, status, message, pattern):
    assert classify({"operator": operator, "status": status.value, "message": message, "cases": []}) == pattern


def test_only_strided_cases_failing_is_non_contiguous():
    cases = [
        {"case": "a", "passed": True, "skipped": False, "error": "", "params": '{"stride": null}'},
        {"case": "b", "passed": False, "skipped": False, "error": "", "params": '{"stride": [1, 7]}'},
    ]
    assert classify({"operator": "aten/cos", "status": "mismatch", "message": "", "cases": cases}) == "non_contiguous"


def test_case_without_timing_has_no_speedup():
    assert metrics.operator_speedup([{"origin": "paper", "timed": True, "timing": None}]) is None
    assert math.isclose(timed("aten/add", 2.0).cases[0].timing.speedup, 2.0)
    assert case().timing is None


@pytest.mark.parametrize(
    ("step", "pattern"),
    [
        ({"action": "tool", "tool": "unknown", "finish_reason": "length"}, "truncated_answer"),
        ({"action": "tool", "tool": "unknown", "finish_reason": "max_tokens"}, "truncated_answer"),
        ({"action": "tool", "tool": "unknown", "finish_reason": "stop"}, "unreadable_answer"),
        ({"action": "tool", "tool": "test", "finish_reason": "length", "status": "mismatch"}, None),
        ({"action": "submit", "tool": None, "finish_reason": "length", "status": "syntax_error"}, "syntax_error"),
    ],
)
def test_answers_that_hold_no_submission(step, pattern):
    assert classify({"operator": "aten/add", "message": "", **step}) == pattern


def test_bootstrap_intervals():
    from statistics import fmean

    values = [0.0] * 40 + [1.0] * 60
    low, high = metrics.bootstrap(values, fmean)
    # a share of 0.6 over 100 has a standard error of sqrt(0.6 * 0.4 / 100) = 0.049
    assert low == pytest.approx(0.6 - 1.96 * 0.049, abs=0.02)
    assert high == pytest.approx(0.6 + 1.96 * 0.049, abs=0.02)
    assert metrics.bootstrap(values, fmean) == (low, high), "the seed is fixed"
    assert metrics.bootstrap([1.0], fmean) is None
