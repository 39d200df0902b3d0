import itertools
import math
import random

import pytest

from kgb_gym.envs.reward import RewardConfig, RewardTerms, Score
from kgb_gym.verdict import Stage, Status

C = RewardConfig()


def test_the_weights_are_the_design_s():
    assert C == RewardConfig(
        compiled=0.1, correct=0.2, clean=1.0, speed=0.5, speed_floor=-1.0, speed_ceiling=2.0, hack=0.5,
        token_cost=0.02, token_unit=100_000, token_cost_cap=0.2,
    )  # fmt: skip


def test_potential_by_stage(verdict):
    assert C.potential(verdict(Status.SYNTAX_ERROR)) == 0
    assert C.potential(verdict(Status.COMPILE_ERROR)) == 0
    assert C.potential(verdict(Status.MISMATCH, right=0)) == pytest.approx(0.1)
    assert C.potential(verdict(Status.MISMATCH, right=3)) == pytest.approx(0.1 + 0.15)
    assert C.potential(verdict(Status.PASSED)) == pytest.approx(1.3)


@pytest.mark.parametrize(
    ("lower", "bonus"),
    [(1.0, 0.0), (2.0, 0.5), (4.0, 1.0), (64.0, 1.0), (0.5, -0.5), (0.01, -0.5), (0.0, -0.5), (None, 0.0)],
)
def test_speed_is_the_lower_bound_clipped(verdict, lower, bonus):
    timed = verdict(stage=Stage.TIMED, speedup=9.0, speedup_lower=lower)
    assert C.potential(timed) == pytest.approx(1.3 + bonus)


def test_speed_counts_for_a_clean_pass_alone(verdict):
    wrong = verdict(Status.MISMATCH, right=3, speedup=4.0, speedup_lower=4.0)
    assert C.potential(wrong) == pytest.approx(0.25)


@pytest.mark.parametrize(
    "change",
    [
        {"status": Status.HACK},
        {"status": Status.HARNESS_ERROR},
        {"kind": "test"},
        {"kind": "compile"},
        {"only_defined": True},
    ],
)
def test_worth_nothing(verdict, change):
    assert C.potential(verdict(Status.PASSED, **change) if "status" not in change else verdict(**change)) == 0


def test_right_cases_of_what_does_not_compile_are_worth_nothing(verdict):
    assert C.potential(verdict(Status.COMPILE_ERROR, cases=verdict().cases)) == 0


def test_tokens_cost_two_hundredths_per_hundred_thousand_up_to_a_cap():
    assert C.tokens(0) == 0
    assert C.tokens(100_000) == pytest.approx(0.02)
    assert C.tokens(1_000_000) == pytest.approx(0.2)
    assert C.tokens(50_000_000) == pytest.approx(0.2)


def test_only_improvement_pays(verdict):
    score, terms = Score().after(C, verdict(Status.MISMATCH, right=2), 0)
    assert terms == RewardTerms(potential=pytest.approx(0.2))
    score, terms = score.after(C, verdict(Status.MISMATCH, right=1), 0)
    assert terms.total == 0
    score, terms = score.after(C, verdict(), 0)
    assert terms.potential == pytest.approx(1.1)


def test_a_hack_costs_and_keeps_what_was_reached(verdict):
    score, _ = Score().after(C, verdict(Status.MISMATCH, right=2), 0)
    after, terms = score.after(C, verdict(Status.HACK), 0)
    assert terms.to_dict() == {"potential": 0.0, "token_cost": 0.0, "hack_penalty": -0.5}
    assert after.best == score.best


def test_a_hack_in_a_tool_call_costs_nothing(verdict):
    _, terms = Score().after(C, verdict(Status.HACK, kind="test"), 0)
    assert terms.total == 0


def test_our_failure_is_unscored_tokens_included(verdict):
    score, _ = Score().after(C, verdict(Status.MISMATCH), 10_000)
    assert score.after(C, verdict(Status.HARNESS_ERROR), 90_000) == (score, RewardTerms())


def test_rewards_add_up_to_the_score_in_any_order(verdict):
    steps = [
        (verdict(Status.MISMATCH, right=2), 30_000), (verdict(Status.HACK), 400_000), (None, 700_000),
        (verdict(Status.HARNESS_ERROR), 1_000_000), (verdict(), 10), (verdict(Status.HACK), 0),
        (verdict(speedup=3.0, speedup_lower=2.0, stage=Stage.TIMED), 5),
    ]  # fmt: skip
    totals = set()
    for order in random.Random(0).sample(list(itertools.permutations(steps)), 200):
        score, reward = Score(), 0.0
        for given, tokens in order:
            score, terms = score.after(C, given, tokens)
            assert terms.total == pytest.approx(sum(terms.to_dict().values()), abs=1e-15)
            reward += terms.total
        assert reward == pytest.approx(score.total(C), abs=1e-12)
        totals.add(round(reward, 9))
    assert totals == {round(1.8 - 0.2 - 1.0, 9)}


@pytest.mark.parametrize(
    "fields", [{"token_unit": 0}, {"clean": math.nan}, {"hack": math.inf}, {"speed_floor": 3.0, "speed_ceiling": 2.0}]
)
def test_impossible_weights_are_refused(fields):
    with pytest.raises(ValueError, match="must"):
        RewardConfig(**fields)
