"""Why a gold kernel does not pass on an emulated platform, and why it was left as it is.

Golds are written for NVIDIA. Each was made portable where that costs nothing there: values are converted before they are
stored, blocks are compared rather than given to `tl.maximum`, bfloat16 is computed with in fp32. What is left would cost
speed or accuracy; the refusals themselves come from `docs/data/emulation.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Obstacle:
    """One kind of refusal."""

    pattern: str
    """What an emulated backend says, as a regular expression that is searched for."""
    what: str
    """What the gold does."""
    why: str
    """Why it goes on doing so."""

    def meets(self, message: str) -> bool:
        """Whether a refusal is of this kind."""
        return re.search(self.pattern, message) is not None


OBSTACLES = (
    Obstacle(
        "unsupported stride layout", "reads or writes a strided tensor where it lies",
        "a dense copy first would move all memory once more; `contiguous`, `copy_` and their kin are that copy",
    ),
    Obstacle(
        "the compiler hung", "nothing: the emulated compiler hangs on one kernel in thirty, by chance",
        "sent again with another seed it may pass; the table has one try",
    ),
    Obstacle(
        r"tt\.scan", "numbers places by `tl.cumsum`, or is a running sum",
        "without a scan a block of n takes n² comparisons or a pass for every doubling",
    ),
    Obstacle(
        r"tt\.atomic", "adds into places that may be met more than once",
        "without atomics places would have to be sorted first, or each walk all indices",
    ),
    Obstacle(
        r"tt\.precise_divf", "divides by `tl.div_rn`",
        "`/` on NVIDIA is not rounded correctly, and a floored quotient beside a whole number would be another one",
    ),
    Obstacle(
        r"math\.rsqrt", "takes `tl.rsqrt`", "`1 / tl.sqrt` is two approximations, less accurate and slower than the one",
    ),
    Obstacle(
        r"block of \d+ elements exceeds|shared memory", "works on large tiles",
        "tile sizes are what makes products and sorts fast on NVIDIA",
    ),
    Obstacle(
        "bf16 = tt.dot", "multiplies bfloat16 matrices as they are",
        "converted to fp32 they would miss the tensor cores",
    ),
)  # fmt: skip
"""In order: the first that meets a message counts."""


def sorted_out(rows: Mapping[str, Mapping[str, Any]]) -> dict[Obstacle | str, dict[str, list[str]]]:
    """Operators whose gold is not clean, by obstacle and platform; a message that no obstacle meets stands for itself.

    Args:
        rows: of `docs/data/emulation.json`, by operator.
    """
    found: dict[Obstacle | str, dict[str, list[str]]] = {}
    for name, row in rows.items():
        for platform, each in row["platforms"].items():
            if each["clean"]:
                continue
            said = str(each["message"])
            kind = next((o for o in OBSTACLES if o.meets(said)), said)
            found.setdefault(kind, {}).setdefault(platform, []).append(name)
    order = [*(o for o in OBSTACLES if o in found), *(k for k in found if isinstance(k, str))]
    return {kind: found[kind] for kind in order}
