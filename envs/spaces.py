"""Spaces for text and counts: Gymnasium's own `Text` checks every character, and samples up to its full length.

Samples are short, so that a random agent (and `check_env`) gets quick answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Space

_ALPHABET = "".join(map(chr, range(32, 127))) + "\n\té中Δ🙂"
_LONGEST_SAMPLE = 24
_LARGEST_SAMPLE = 99


class UnicodeText(Space[str]):
    """Any Python `str` of at most `max_length` characters, the empty one included.

    `contains` takes constant time. Samples have at most 24 characters.
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        """
        Args:
            max_length: largest length in characters (code points), at least 0.
            seed: seed of the sampler.

        Raises:
            ValueError: `max_length` is negative.
        """
        if max_length < 0:
            raise ValueError(f"max_length must be at least 0, got {max_length}")
        self.max_length = int(max_length)
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """A random text of at most 24 characters; masks are not supported."""
        _refuse(mask, probability)
        length = int(self.np_random.integers(0, min(self.max_length, _LONGEST_SAMPLE) + 1))
        return "".join(_ALPHABET[i] for i in self.np_random.integers(0, len(_ALPHABET), size=length))

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        return [str(s) for s in sample_n]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and type(other) is type(self) and other.max_length == self.max_length

    __hash__ = None  # type: ignore[assignment]  # mutable (its sampler), as every Gymnasium space


class JsonText(UnicodeText):
    """Text that should hold a JSON object. Its samples do; `contains` stays constant-time and looks at length alone."""

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """The empty object."""
        _refuse(mask, probability)
        return "{}"


class Count(Space[int]):
    """Whole numbers from 0 to `largest`. Samples are at most 99."""

    def __init__(self, largest: int, *, seed: int | np.random.Generator | None = None) -> None:
        """
        Args:
            largest: the largest number, at least 0.
            seed: seed of the sampler.

        Raises:
            ValueError: `largest` is negative.
        """
        if largest < 0:
            raise ValueError(f"largest must be at least 0, got {largest}")
        self.largest = int(largest)
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> int:
        """A random number of at most 99; masks are not supported."""
        _refuse(mask, probability)
        return int(self.np_random.integers(0, min(self.largest, _LARGEST_SAMPLE) + 1))

    def contains(self, x: Any) -> bool:
        return isinstance(x, (int, np.integer)) and not isinstance(x, bool) and 0 <= int(x) <= self.largest

    def to_jsonable(self, sample_n: Iterable[int]) -> list[int]:
        return [int(s) for s in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[int]:
        return [int(s) for s in sample_n]

    def __repr__(self) -> str:
        return f"Count({self.largest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Count) and other.largest == self.largest

    __hash__ = None  # type: ignore[assignment]  # mutable (its sampler), as every Gymnasium space


def _refuse(mask: Any | None, probability: Any | None) -> None:
    if mask is not None or probability is not None:
        raise ValueError("masks and probabilities are not supported by this space: pass None")
