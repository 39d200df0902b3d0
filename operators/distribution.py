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


def normal_p(z: float) -> float:
    """Two-sided p-value of a standard normal statistic."""
    return math.erfc(abs(z) / math.sqrt(2))


def binomial_p(successes: int, n: int, p: float) -> float:
    """Two-sided p-value (at most 1) of `successes` among `n` trials of probability `p`, by the exact tail doubled.

    Exact below 2,000 trials or 20 expected of either kind, the normal approximation with a continuity correction above.
    """
    if n == 0:
        return 1.0
    if p <= 0 or p >= 1:
        return 1.0 if successes == (n if p >= 1 else 0) else 0.0
    mean = n * p
    if n >= 2000 and mean >= 20 and n - mean >= 20:
        z = max(0.0, abs(successes - mean) - 0.5) / math.sqrt(mean * (1 - p))
        return normal_p(z)
    tail = range(successes, n + 1) if successes >= mean else range(successes + 1)
    log = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)
        for k in tail
    ]
    top = max(log)
    return min(1.0, 2 * math.exp(top) * sum(math.exp(v - top) for v in log))
