"""One row of the performance table: a quantity, what it is compared with in the same run, and the target."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measured quantity."""

    what: str
    value: float
    unit: str
    against: str = ""
    """What it is compared with, measured in the same run."""
    other: float | None = None
    """The same quantity there."""
    target: float | None = None
    """Of the ratio where something is compared and `of_ratio` is set, else of the value."""
    at_most: bool = True
    """Whether the target is an upper bound."""
    of_ratio: bool = False
    detail: str = ""

    @property
    def ratio(self) -> float | None:
        """value / other; None where nothing is compared."""
        return self.value / self.other if self.other else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        judged = self.ratio if self.of_ratio else self.value
        if self.target is None or judged is None:
            return None
        return judged <= self.target if self.at_most else judged >= self.target


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which such a share of the values lies, between neighbours."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=1000, method="inclusive")[min(998, max(0, round(share * 1000) - 1))]


def spread(values: Sequence[float], unit: str, scale: float = 1.0) -> str:
    """Percentiles in words."""
    p50, p90, p99 = (percentile(values, s) * scale for s in (0.5, 0.9, 0.99))
    return f"p50 {p50:.3g}, p90 {p90:.3g}, p99 {p99:.3g}, max {max(values) * scale:.3g} {unit}, n = {len(values)}"
