"""How much code stays from one round to the next (Table 18): local patching or a new start."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Sequence
from statistics import fmean


def code_similarity(before: str, after: str) -> float:
    """Line-level `difflib.SequenceMatcher` ratio of two sources, in [0, 1]."""
    return difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False).ratio()


def round_similarity(sources: Sequence[str]) -> float | None:
    """Mean similarity over the transitions of one operator's rounds, i to i+1; None for fewer than two rounds."""
    ratios = [code_similarity(a, b) for a, b in itertools.pairwise(sources)]
    return fmean(ratios) if ratios else None


def mean_similarity(each: Iterable[float | None]) -> float | None:
    """Mean over operators; those without a similarity are left out. None if none is left."""
    known = [s for s in each if s is not None]
    return fmean(known) if known else None
