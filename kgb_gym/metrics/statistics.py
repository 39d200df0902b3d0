"""The formulas of Appendix G and of Pass@k, over plain numbers. None stands for "cannot be told", never zero."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median as _median

THRESHOLDS = (0.8, 1.0, 1.5)
"""The speedups p for which the paper prints fast_p."""


def geomean(values: Iterable[float]) -> float | None:
    """Geometric mean of positive numbers; None of none (equations 1 and 2)."""
    logs = [math.log(v) for v in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def median(values: Sequence[float]) -> float | None:
    """The middle value, or the mean of the two middle ones; None of none."""
    return float(_median(values)) if values else None


def iqm(values: Sequence[float]) -> float | None:
    """Interquartile mean: the mean of S_(⌊M/4⌋+1) … S_(⌊3M/4⌋) of the sorted values; None for fewer than four.

    Appendix G prints the sum from i = Q1 to Q3 (both ends included, so Q3 - Q1 + 1 terms) divided by |Q3 - Q1|: it
    divides by the wrong count, and starts one term too early. This is the interquartile mean that its text describes.
    """
    count = len(values)
    if count < 4:
        return None
    middle = sorted(values)[count // 4 : 3 * count // 4]
    return math.fsum(middle) / len(middle)


def fast(speedups: Iterable[float], p: float, attempted: int) -> float | None:
    """fast_p: the share of all attempted operators that are clean with a speedup above p."""
    return sum(s > p for s in speedups) / attempted if attempted else None


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate of Pass@k from n independent samples, c of them right: 1 - C(n-c, k) / C(n, k).

    Raises:
        ValueError: fewer than k samples, or c outside 0…n.
    """
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError(f"Pass@{k} cannot be estimated from {c} of {n} samples")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def any_of_first(passed: Sequence[bool], k: int) -> bool | None:
    """Appendix E: whether one of the first k samples passed; None if none did and fewer than k were drawn."""
    if any(passed[:k]):
        return True
    return False if len(passed) >= k else None
