"""Division and its kin: true, truncated and floored quotients."""

from __future__ import annotations

from typing import Any

import torch

from kgb_gym.operators.aten.families.common import FLUSHED, magnitude
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.grids import Params

KINDS: Params = {"kind": "eighths", "other_kind": "divisors"}
"""Operands whose quotient is a whole number or far from one: rounding it must not depend on its last bit."""

FLOOR_NOTES = (
    "A floored quotient is that of the exact one: 1 over float32(0.1) is 9.",
    "Floored, x / 0 is as without rounding, and an infinity over a number is NaN.",
    "Floored, a finite number over an infinity is -1 where signs differ, else 0.",
    "Integers are never divided by zero.",
)


def magnitudes(arguments: Arguments) -> torch.Tensor:
    """|self / other|."""
    return magnitude(arguments["self"]) / magnitude(arguments["other"]) + FLUSHED


COMPARE = Close(scale=magnitudes, slack=4.0, own=1.0)
"""One rounding more to the operands' type is tolerated: of a number."""


def with_mode(mode: str) -> dict[str, Any]:
    """Parameters of a case with a rounding mode."""
    return {"mode": mode, **(KINDS if mode != "none" else {})}
