"""A verdict as a person sees it."""

import io

from rich.console import Console

from kgb_gym.cli.render import HINTS, print_verdict
from kgb_gym.verdict import CaseResult, Difference, Hack, Stage, Status, Verdict


def shown(**fields):
    values = {"operator": "aten/cos", "source_sha256": "0", "suite": "quick", "platform": "cpu"} | fields
    out = io.StringIO()
    print_verdict(Verdict(**values), Console(file=out, width=200, color_system=None, highlight=False), 1.23)
    return out.getvalue()


def case(number, **fields):
    return CaseResult(case=f"cos[n={number}]", interface="cos", params={}, origin="paper", **fields)


def test_a_clean_pass_is_one_line():
    text = shown(stage=Stage.GENUINE, status=Status.PASSED, clean=True, cases=(case(1, passed=True),))
    assert text == "✓ clean pass  aten/cos  quick on cpu · reached genuine · 1 of 1 cases right · 1.2 s\n"


def test_the_largest_error_and_where_it_stands():
    found = Difference("return", 0.5, float("inf"), (3, 7), 1.0, 0.5, 12, 64, "float32")
    text = shown(stage=Stage.COMPILED, status=Status.MISMATCH, cases=(case(1, difference=found), case(2, passed=True)))
    assert "1 of 2 cases right" in text
    assert "return: expected 1, got 0.5 at (3, 7); 12 of 64 wrong, largest error 0.5 absolute, inf relative" in text


def test_numbers_that_differ_are_shown_so():
    found = Difference("return", 2e-7, 5e-8, (2,), 3.787550001, 3.787550201, 1, 4, "float64")
    text = shown(stage=Stage.COMPILED, status=Status.MISMATCH, cases=(case(1, difference=found),))
    assert "expected 3.787550001, got 3.787550201 at (2)" in text


def test_cases_that_fail_alike_are_told_of_once():
    cases = (*(case(n, error="E: alike") for n in range(30)), *(case(n, error=f"E: {n}") for n in range(30, 40)))
    text = shown(stage=Stage.LOADED, status=Status.RUNTIME_ERROR, cases=cases)
    assert "cos[n=0] and 29 more alike" in text
    assert text.count("E: alike") == 1
    assert "… and 5 more failing cases" in text


def test_the_evidence_of_a_hack_stands_alone():
    hack = Hack("screen", "native-compute", "torch.cos [computes]", 5)
    text = shown(stage=Stage.PARSED, status=Status.HACK, hacks=(hack,), cases=(case(1, skipped=True),), message="other")
    assert "hack line 5: torch.cos [computes] (screen/native-compute)" in text
    assert "other" not in text


def test_what_a_submission_says_is_no_markup():
    assert "[red]x[/] [/nonsense]" in shown(stage=Stage.LOADED, status=Status.CRASH, message="[red]x[/] [/nonsense]")


def test_every_failure_has_a_hint():
    assert set(HINTS) == set(Status) - {Status.PASSED}
