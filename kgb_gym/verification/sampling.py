"""The statistics of a timing: paired ratios, the interval of their median, and when to stop.

Pure functions and one loop over whatever gives pairs, so that samples with known answers can test them. Nothing is
assumed of the noise but that pairs are alike and independent; drift that both sides of a pair share cancels.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Pair = tuple[float, float]
"""One measurement of either side, in microseconds: (submission, baseline)."""


LONG_US, FAIR_US = 100.0, 12.0
"""Runs that repeat within 0.4% in 40 pairs, and within 1.7% (A/A of `benchmarks.performance noise`, H200)."""


@dataclass(frozen=True)
class Rule:
    """When a timing has been repeated often enough."""

    half_width: float = 0.015
    """Half of the ratio's 95% interval, as a share of the ratio."""
    least: int = 60
    """Pairs of short runs in any case that `most` allows: with 40, 200 measurements of a kernel of 10 µs against itself were
    off by 2.0% at most (H200)."""
    most: int = 400
    """Pairs at most."""
    batch: int = 20
    """Pairs between two looks at the interval."""

    def wanted(self, pairs: Sequence[Pair]) -> int:
        """Pairs in any case, by how long the runs are: longer ones repeat better, and cost more."""
        least = min(self.least, self.most)
        if len(pairs) < self.batch:
            return least
        short, long = sorted(statistics.median(p[side] for p in pairs) for side in (0, 1))
        if short >= LONG_US:
            return min(least, self.batch)
        return min(least, 2 * self.batch) if short >= FAIR_US and long >= 10 * LONG_US else least


@dataclass(frozen=True)
class Estimate:
    """What a series of pairs says. Times in microseconds."""

    submission_us: float
    """Median."""
    baseline_us: float
    speedup: float
    """Median of the paired ratios baseline / submission."""
    interval: tuple[float, float]
    """95% interval of the speedup."""
    repeats: int


def interval_of_median(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Distribution-free interval of the median by order statistics (binomial), at least `confidence` wide.

    Fewer than six values give the whole range: no interval of theirs is that sure.

    Raises:
        ValueError: there are no values.
    """
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        raise ValueError("no values")
    # The k-th smallest lies above the median with probability P(B < k), B binomial (n, 1/2).
    tail, cumulative, k = (1 - confidence) / 2, 0.0, 0
    if n > 1000:
        k = max(0, math.floor(n / 2 - statistics.NormalDist().inv_cdf(1 - tail) * math.sqrt(n) / 2 - 0.5))
    else:
        while k < n // 2 and (cumulative := cumulative + math.comb(n, k) / 2**n) <= tail:
            k += 1
    low = max(0, k - 1)
    return ordered[low], ordered[n - 1 - low]


def estimate(pairs: Sequence[Pair]) -> Estimate:
    """The medians, and the ratio with its interval.

    Raises:
        ValueError: there are no pairs, or a time is not positive.
    """
    if any(not (s > 0 and b > 0) for s, b in pairs):
        raise ValueError("a measured time is not positive")
    ratios = [b / s for s, b in pairs]
    return Estimate(
        statistics.median(s for s, _ in pairs), statistics.median(b for _, b in pairs), statistics.median(ratios),
        interval_of_median(ratios), len(pairs),
    )  # fmt: skip


def enough(pairs: Sequence[Pair], rule: Rule) -> bool:
    """Whether the interval is as narrow as the rule wants, or there are as many pairs as it allows."""
    if len(pairs) < rule.wanted(pairs):
        return False
    told = estimate(pairs)
    low, high = told.interval
    return len(pairs) >= rule.most or (high - low) / 2 <= rule.half_width * told.speedup


def repeat(
    take: Callable[[int, int], Sequence[Pair]], budget_s: float, rule: Rule,
    now: Callable[[], float] = time.monotonic,
) -> list[Pair]:  # fmt: skip
    """Take batches of pairs until there are enough, or the budget is spent (never fewer than the rule's least).

    Args:
        take: `take(done, count)` measures `count` more pairs after `done`.
        budget_s: seconds.
        rule: when to stop.
        now: a clock, in seconds.
    """
    pairs: list[Pair] = []
    began = now()
    while not enough(pairs, rule):
        pairs += take(len(pairs), min(rule.batch, rule.most - len(pairs)))
        if len(pairs) >= rule.wanted(pairs) and now() - began > budget_s:
            break
    return pairs
