"""Mutants that no grid can kill, because they compute the same: each with the reason in writing.

`benchmarks.mutation` counts them apart, and judges every one of them on further seeds first (see `AGREEMENT_SEEDS`): one
that fails there is no equivalent. They may be at most `MAX_SHARE` of all mutants.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.mutators import Mutant

AGREEMENT_SEEDS = 4
"""Further seeds of the whole `quick` suite, each with hidden cases of its own, on which an equivalent must pass."""
MAX_SHARE = 0.05


@dataclass(frozen=True)
class Equivalent:
    """One mutant, or the same one in several operators."""

    operators: tuple[str, ...]
    mutator: str
    before: str
    after: str
    reason: str


EQUIVALENTS: tuple[Equivalent, ...] = ()


def reason(operator: str, mutant: Mutant) -> str:
    """Why a mutant is equivalent; empty if it is not listed."""
    for item in EQUIVALENTS:
        same = (item.mutator, item.before, item.after) == (mutant.mutator, mutant.before, mutant.after)
        if same and operator in item.operators:
            return item.reason
    return ""
