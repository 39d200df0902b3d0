"""The statistics of timings, on samples whose answers are known."""

from __future__ import annotations

import random
import statistics

import pytest

from kgb_gym.verification.sampling import Estimate, Rule, enough, estimate, interval_of_median, repeat


def noisy(rng, us, spread=0.03, spike=0.05):
    """A time with noise as GPUs have it: skewed, with rare long ones."""
    time = us * (1 + abs(rng.gauss(0, spread)))
    return time * rng.uniform(2, 10) if rng.random() < spike else time


def test_the_interval_is_no_wider_than_it_must_be():
    # Exact order statistics for 95%: the 6th and the 15th of 20 (coverage 95.9%), the 40th and the 61st of 100.
    assert interval_of_median(range(1, 21)) == (6, 15)
    assert interval_of_median(range(1, 101)) == (40, 61)
    assert interval_of_median([3.0, 1.0, 2.0]) == (1.0, 3.0)
    wide = interval_of_median([float(i) for i in range(1, 1002)])
    assert 460 <= wide[0] <= 471 and 531 <= wide[1] <= 542
    with pytest.raises(ValueError, match="no values"):
        interval_of_median([])


def test_drift_and_spikes_that_both_sides_share_cancel():
    rng = random.Random(1)
    pairs = []
    for i in range(200):
        drift = 1 + i / 100  # the clocks fall to a third
        pairs.append((noisy(rng, 10 * drift), noisy(rng, 15 * drift)))
    told = estimate(pairs)
    assert told.speedup == pytest.approx(1.5, rel=0.02)
    assert told.interval[0] <= 1.5 <= told.interval[1]
    naive = statistics.mean(b for _, b in pairs[:100]) / statistics.mean(s for s, _ in pairs[100:])
    assert abs(naive - 1.5) > 0.4  # one side after the other would say something else


def test_a_side_against_itself_is_one():
    rng, deviations = random.Random(2), []
    for _ in range(200):
        pairs = repeat(lambda _, n: [(noisy(rng, 8), noisy(rng, 8)) for _ in range(n)], 1e9, Rule())
        deviations.append(abs(estimate(pairs).speedup - 1))
    assert statistics.median(deviations) < 0.006
    assert max(deviations) < 0.02  # 200 measurements, none off by more than 2%


@pytest.mark.parametrize(("spread", "least", "most"), [(0.0, 60, 60), (0.1, 60, 380), (0.9, 400, 400)])
def test_repeats_adapt_to_the_noise(spread, least, most):
    rng = random.Random(3)
    pairs = repeat(lambda _, n: [(noisy(rng, 5, spread, 0), noisy(rng, 5, spread, 0)) for _ in range(n)], 1e9, Rule())
    assert least <= len(pairs) <= most
    low, high = estimate(pairs).interval
    assert len(pairs) == 400 or (high - low) / 2 <= 0.0151 * 1.1


def test_a_budget_ends_it_but_never_before_the_least():
    clock = iter(range(1000))
    rng = random.Random(4)
    pairs = repeat(
        lambda _, n: [(noisy(rng, 5, 0.9), noisy(rng, 5, 0.9)) for _ in range(n)],
        2.5,
        Rule(least=40),
        lambda: next(clock),
    )
    assert 40 <= len(pairs) <= 80
    assert not enough(pairs[:39], Rule(least=40))
    asked = []
    repeat(lambda done, n: asked.append((done, n)) or [(1.0, 3.0), (1.0, 1.0)] * (n // 2), 1e9, Rule(most=50))
    assert asked == [(0, 20), (20, 20), (40, 10)]


@pytest.mark.parametrize("bad", [(0.0, 1.0), (1.0, -1.0), (float("nan"), 1.0)])
def test_times_that_are_none(bad):
    with pytest.raises(ValueError, match="not positive"):
        estimate([(1.0, 1.0), bad])


def test_an_estimate_is_plain_data():
    assert estimate([(2.0, 4.0)] * 3) == Estimate(2.0, 4.0, 2.0, (2.0, 2.0), 3)


@pytest.mark.parametrize(
    ("pair", "count"),
    [((10.0, 10.0), 60), ((99.0, 5000.0), 40), ((5.0, 5000.0), 60), ((20.0, 900.0), 60), ((100.0, 100.0), 20)],
)
def test_long_runs_are_repeated_less_often(pair, count):
    assert len(repeat(lambda _, n: [pair] * n, 1e9, Rule())) == count
    assert len(repeat(lambda _, n: [pair] * n, 1e9, Rule(most=10))) == 10
