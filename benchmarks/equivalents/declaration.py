"""What an equivalent is: a mutant that no grid can kill."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Equivalent:
    """One mutant, or the same one in several operators."""

    operators: tuple[str, ...]
    mutator: str
    before: str
    after: str
    reason: str
    text: str = ""
    """A part of the changed line, where the same change elsewhere in the kernel is none of an equivalent."""
