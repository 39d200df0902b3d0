"""Frozen train, validation and test splits of the operators.

Operators of one family stay together, so that nothing learnt on `train` is the answer of `test`. A family's split is
a hash of its name: adding operators never moves others.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Literal, get_args

from kgb_gym import operators

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

VERSION = "kgb-splits-v1"
"""Part of the hash. Another version is another split, said in the changelog."""

_TRAIN, _VALIDATION = 0.7, 0.85


def family(operator: operators.Operator) -> str:
    """The family that an operator is split by: the declared one, or its own name."""
    return operator.family or operator.name


def split_of(family_name: str) -> Split:
    """The split of a family: about 70% train, 15% validation, 15% test."""
    digest = hashlib.sha256(f"{VERSION}/{family_name}".encode()).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    return "train" if share < _TRAIN else "validation" if share < _VALIDATION else "test"


@cache
def members(split: Split) -> tuple[str, ...]:
    """Ids of the operators in one split, in catalogue order. Imports every declaration the first time.

    Raises:
        ValueError: there is no such split.
    """
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}: use one of {', '.join(SPLITS)}")
    return tuple(n for n in operators.names() if split_of(family(operators.get(n))) == split)
