"""What a run may use in all, and what it has used: tokens, money, time. Safe to share between threads."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Prices:
    """What a model costs, in US dollars per million tokens."""

    prompt: float
    completion: float
    cached: float | None = None
    """Prompt tokens served from the provider's cache; None: as much as others."""

    def __post_init__(self) -> None:
        if min(self.prompt, self.completion, self.cached or 0.0) < 0:
            raise ValueError("a price can't be negative")

    def cost(self, prompt: int, completion: int, cached: int = 0) -> float:
        """US dollars; cached tokens are part of the prompt."""
        cheap = self.prompt if self.cached is None else self.cached
        return ((prompt - cached) * self.prompt + cached * cheap + completion * self.completion) / 1e6


def read_prices(path: Path, model: str) -> Prices:
    """A model's prices from a JSON file: `{"MODEL": {"prompt": 3, "completion": 15, "cached": 0.3}}`.

    Raises:
        ValueError: the file can't be read, or doesn't name the model.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        row = table[model]
        return Prices(**{k: float(v) for k, v in row.items()})
    except KeyError:
        raise ValueError(f"{path} has no prices for {model!r}; it names {', '.join(sorted(table)) or 'none'}") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no table of prices, such as {_EXAMPLE}: {error}") from error


_EXAMPLE = '{"MODEL": {"prompt": 3, "completion": 15}} in US dollars per million tokens'


@dataclass(frozen=True)
class Caps:
    """Limits of a whole run; None: no limit. No part of its configuration: with a larger one it goes on."""

    tokens: int | None = None
    usd: float | None = None
    """US dollars; needs prices."""
    seconds: float | None = None
    """Wall seconds of one call."""

    def __post_init__(self) -> None:
        for name in ("tokens", "usd", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"a run's limit of {name} must be positive, got {value}")


class Account:
    """Adds up what a run uses."""

    def __init__(self, caps: Caps | None = None, prices: Prices | None = None) -> None:
        """
        Raises:
            ValueError: money is limited, and there are no prices.
        """
        self._caps = caps or Caps()
        self._prices = prices
        if self._caps.usd is not None and prices is None:
            raise ValueError("a limit in US dollars needs prices: give a price table that names the model")
        self._lock = threading.Lock()
        self._tokens, self._usd = 0, 0.0
        self._started = time.monotonic()

    def begin(self, episodes: Iterable[Mapping[str, Any]]) -> None:
        """Start the clock, and count what earlier calls used: rows of the run's episodes."""
        self._started = time.monotonic()
        for row in episodes:
            counts = {k: row[k] or 0 for k in ("prompt_tokens", "completion_tokens", "cached_tokens")}
            self.add(row["total_tokens"] or 0, counts)

    def add(self, tokens: int, usage: Mapping[str, int]) -> None:
        """Count one step: the tokens charged, and the usage that prices apply to."""
        cost = 0.0
        if self._prices is not None:
            cost = self._prices.cost(usage["prompt_tokens"], usage["completion_tokens"], usage["cached_tokens"])
        with self._lock:
            self._tokens, self._usd = self._tokens + tokens, self._usd + cost

    @property
    def tokens(self) -> int:
        """Tokens charged so far."""
        return self._tokens

    @property
    def usd(self) -> float | None:
        """US dollars so far; None without prices."""
        return None if self._prices is None else self._usd

    def over(self) -> str:
        """Which limit is used up, in one sentence; empty if none is."""
        caps = self._caps
        if caps.tokens is not None and self._tokens >= caps.tokens:
            return f"the run's {caps.tokens:,} tokens are used up"
        if caps.usd is not None and self._usd >= caps.usd:
            return f"the run's {caps.usd:.2f} US dollars are used up"
        if caps.seconds is not None and time.monotonic() - self._started >= caps.seconds:
            return f"the run's {caps.seconds / 3600:.2f} hours are used up"
        return ""
