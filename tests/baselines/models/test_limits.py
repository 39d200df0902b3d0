"""Retries and rate limits, on a clock of the test's own."""

import pytest

from kgb_gym.baselines.models import RateLimit, Retry


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


def limit(clock, **limits):
    return RateLimit(**limits, clock=clock, sleep=clock.sleep)


def test_waits_double_up_to_the_longest_and_are_spread():
    retry = Retry(first_s=1, most_s=10)
    for failed, longest in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (99, 10)]:
        waits = {retry.wait_s(failed) for _ in range(50)}
        assert longest / 2 <= min(waits) < max(waits) <= longest
    assert retry.wait_s(1, 33.0) == 33.0
    assert retry.wait_s(1, -3.0) == 0.0


def test_no_limit_never_waits(clock):
    free = limit(clock)
    assert all(free.take(10**9) for _ in range(1000))
    assert clock.now == 100.0


def test_requests_per_minute(clock):
    held = limit(clock, requests_per_minute=60)
    for _ in range(60):
        held.take(0)
    assert clock.now == 100.0, "a minute's worth may go at once"
    for _ in range(60):
        held.take(0)
    assert clock.now == pytest.approx(160.0)


def test_tokens_per_minute_are_charged_as_they_really_were(clock):
    held = limit(clock, tokens_per_minute=6000)
    held.take(1000)
    held.settle(6000)
    held.take(1000)
    assert clock.now == pytest.approx(100.0 + 2000 / 100)
    held.settle(-1000)
    held.take(1000)
    assert clock.now == pytest.approx(120.0), "what was never used is given back"


def test_one_request_larger_than_a_minute_goes_when_the_bucket_is_full(clock):
    held = limit(clock, tokens_per_minute=600)
    assert held.take(100_000)
    assert clock.now == 100.0


def test_a_deadline_is_kept_and_nothing_is_charged(clock):
    held = limit(clock, requests_per_minute=1)
    assert held.take(0)
    assert not held.take(0, deadline=clock.now + 10)
    assert held.take(0, deadline=clock.now + 61)


@pytest.mark.parametrize("wrong", [{"requests_per_minute": 0}, {"tokens_per_minute": -1}])
def test_limits_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="must be positive"):
        RateLimit(**wrong)
    with pytest.raises(ValueError, match="tries"):
        Retry(tries=0)
    with pytest.raises(ValueError, match="negative"):
        Retry(first_s=-1)
