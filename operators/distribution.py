"""Statistical comparison for random operators: what a right sample may look like, with a bounded false-reject rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from kgb_gym.operators.compare import Arguments, Check, Target
from kgb_gym.verdict import Difference

FALSE_REJECT = 1e-6
"""A case's budget for rejecting a right kernel by chance, split over its tests (DESIGN section 4)."""


@dataclass(frozen=True)
class Test:
    """One statistic under the null hypothesis: its two-sided p-value and what it says."""

    name: str
    p_value: float
    text: str = ""


Sampler = Callable[[Arguments, torch.Tensor], Sequence[Test]]
"""`tests(arguments, sample)`: the p-values of a sample; 0.0 for an impossible value."""


@dataclass(frozen=True)
class Distribution:
    """Judges one sample by statistical tests; determinism under a seed is judged by playing again."""

    tests: Sampler

    @property
    def exact(self) -> bool:
        return False

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        tests = list(self.tests(arguments, got))
        limit = FALSE_REJECT / max(1, len(tests))
        failed = [t for t in tests if not t.p_value >= limit]
        if not failed:
            return Check(strict=True, paper=True)
        worst = min(failed, key=lambda t: t.p_value)
        difference = Difference(
            output=target.name, max_abs=math.inf, max_rel=math.inf, index=(), expected=f"p >= {limit:.1e}",
            got=f"p = {worst.p_value:.1e}", mismatches=len(failed), total=len(tests),
            note=f"{worst.name}: {worst.text}",
        )  # fmt: skip
        return Check(strict=False, paper=False, difference=difference)


def binomial_p(successes: int, n: int, p: float) -> float:
    """Two-sided p-value (at most 1) of `successes` among `n` trials of probability `p`: the exact tail, doubled."""
    if n == 0:
        return 1.0
    if p <= 0 or p >= 1:
        return 1.0 if successes == (n if p >= 1 else 0) else 0.0
    hits, odds = (successes, p / (1 - p)) if successes >= n * p else (n - successes, (1 - p) / p)
    share = odds / (1 + odds)
    first = math.lgamma(n + 1) - math.lgamma(hits + 1) - math.lgamma(n - hits + 1)
    term = total = 1.0
    for k in range(hits, n):  # probabilities of k + 1 over that of `hits`, which fall from here on
        term *= (n - k) / (k + 1) * odds
        total += term
        if term < 1e-17 * total:
            break
    return min(1.0, 2 * total * math.exp(first + hits * math.log(share) + (n - hits) * math.log1p(-share)))
