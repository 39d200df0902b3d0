"""How sure a group's numbers are, and how two groups compare on the operators that both solved (section 4.4).

A method that fails hard operators is spared their low speedups, so speedups of two methods mean something only on a
matched subset. Intervals are 95% percentile bootstraps over operators, under a fixed seed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from kgb_gym.metrics.result import GroupKey, GroupMetrics, Metrics, OperatorResult
from kgb_gym.metrics.statistics import geomean

RESAMPLES = 2000
Interval = tuple[float, float]


@dataclass(frozen=True)
class Confidence:
    """A group's two main numbers, each with its 95% interval; None: it can't be told."""

    key: GroupKey
    attempted: int
    clean_pass_rate: float | None
    clean_pass_interval: Interval | None
    speedup: float | None
    speedup_interval: Interval | None


@dataclass(frozen=True)
class Matched:
    """Two groups of one suite and platform, on the operators that both solved with a comparable speedup."""

    first: GroupKey
    second: GroupKey
    operators: int
    first_speedup: float
    second_speedup: float
    ratio: float
    """First over second: above 1 the first is faster."""
    interval: Interval


def confidence(group: GroupMetrics) -> Confidence:
    """A group's clean pass rate and speedup with their intervals."""
    clean = [float(o.clean) for o in group.operators]
    speedups = list(_speedups(group.operators).values())
    return Confidence(
        key=group.key,
        attempted=len(clean),
        clean_pass_rate=fmean(clean) if clean else None,
        clean_pass_interval=bootstrap(clean, fmean),
        speedup=geomean(speedups),
        speedup_interval=bootstrap(speedups, _geomean),
    )


def matched(metrics: Metrics) -> tuple[Matched, ...]:
    """Every pair of groups of one suite and platform that solved an operator in common."""
    found = []
    for one, two in itertools.combinations(metrics.groups, 2):
        if (one.key.suite, one.key.platform) != (two.key.suite, two.key.platform):
            continue
        mine, yours = _speedups(one.operators), _speedups(two.operators)
        both = [name for name in mine if name in yours]
        if both:
            ratios = [mine[n] / yours[n] for n in both]
            found.append(
                Matched(
                    one.key,
                    two.key,
                    len(both),
                    _geomean([mine[n] for n in both]),
                    _geomean([yours[n] for n in both]),
                    _geomean(ratios),
                    bootstrap(ratios, _geomean) or (ratios[0], ratios[0]),
                )
            )
    return tuple(found)


def bootstrap(
    values: Sequence[float], statistic: Callable[[Sequence[float]], float], *, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """95% percentile interval of a statistic over resampled values; None for fewer than two."""
    if len(values) < 2:
        return None
    drawn = random.Random(seed)
    found = sorted(statistic(drawn.choices(values, k=len(values))) for _ in range(resamples))
    return found[int(0.025 * resamples)], found[int(0.975 * resamples) - 1]


def _speedups(operators: Sequence[OperatorResult]) -> dict[str, float]:
    return {o.operator: o.speedup for o in operators if o.clean and o.comparable and o.speedup is not None}


def _geomean(values: Sequence[float]) -> float:
    found = geomean(values)
    assert found is not None
    return found
