"""Mutants that no grid can kill, because they compute the same (samplers: up to once in 2**24 elements): each with the
reason in writing.

`benchmarks.mutation` counts them apart, and judges every one of them on further seeds first (see `AGREEMENT_SEEDS`): one
that fails there is no equivalent. They may be at most `MAX_SHARE` of all mutants.
"""

from __future__ import annotations

from benchmarks.equivalents.aten import ATEN
from benchmarks.equivalents.cublas import CUBLAS
from benchmarks.equivalents.declaration import Equivalent
from benchmarks.equivalents.vllm import VLLM
from benchmarks.mutators import Mutant

__all__ = ["AGREEMENT_SEEDS", "EQUIVALENTS", "MAX_SHARE", "Equivalent", "reason"]

AGREEMENT_SEEDS = 4
"""Further seeds of the whole `quick` suite, each with hidden cases of its own, on which an equivalent must pass."""
MAX_SHARE = 0.05
EQUIVALENTS: tuple[Equivalent, ...] = (*ATEN, *CUBLAS, *VLLM)


def reason(operator: str, mutant: Mutant) -> str:
    """Why a mutant is equivalent; empty if it is not listed."""
    for item in EQUIVALENTS:
        same = (item.mutator, item.before, item.after) == (mutant.mutator, mutant.before, mutant.after)
        if same and operator in item.operators and item.text in mutant.text:
            return item.reason
    return ""
