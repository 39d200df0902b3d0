"""When to ask again after a failure, and how often one may ask at all."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Retry:
    """How often one request is tried, and how long is waited in between."""

    tries: int = 6
    """Requests in all; 1 never asks again."""
    first_s: float = 1.0
    """Seconds before the second try; they double from try to try, with up to half of them drawn off at random."""
    most_s: float = 60.0
    """The longest wait of our own choosing. A longer one that the server asks for is kept to."""

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError(f"tries must be at least 1, got {self.tries}")
        if self.first_s < 0 or self.most_s < 0:
            raise ValueError("waits can't be negative")

    def wait_s(self, failed: int, asked_s: float | None = None) -> float:
        """Seconds before the next try.

        Args:
            failed: tries that have failed, at least 1.
            asked_s: what the server asked for; None if it said nothing.
        """
        if asked_s is not None:
            return max(0.0, asked_s)
        longest = min(self.most_s, self.first_s * 2.0 ** min(failed - 1, 32))
        return longest * (1 - random.random() / 2)


class RateLimit:
    """Holds requests back so that a server's limits per minute are kept. Shared by all threads of a run."""

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Args:
            requests_per_minute: None: no limit.
            tokens_per_minute: prompt and answer together; None: no limit.
            clock: gives seconds.
            sleep: waits seconds.

        Raises:
            ValueError: a limit is not positive.
        """
        for limit in (requests_per_minute, tokens_per_minute):
            if limit is not None and not limit > 0:
                raise ValueError(f"a limit per minute must be positive, got {limit}")
        now = clock()
        self._buckets = [
            _Bucket(limit, limit, now) if limit is not None else None
            for limit in (requests_per_minute, tokens_per_minute)
        ]
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()

    def take(self, tokens: int, *, deadline: float | None = None) -> bool:
        """Wait until one more request with so many tokens may be sent; false if that is after the deadline.

        What the tokens really were is told by `settle`.
        """
        with self._lock:
            now = self._clock()
            amounts = (1.0, float(tokens))
            wait = max((b.wait(n, now) for b, n in zip(self._buckets, amounts, strict=True) if b), default=0.0)
            if deadline is not None and now + wait > deadline:
                return False
            for bucket, amount in zip(self._buckets, amounts, strict=True):
                if bucket is not None:
                    bucket.take(amount, now)
        if wait > 0:
            self._sleep(wait)
        return True

    def settle(self, more_tokens: int) -> None:
        """Charge the tokens of an answer, or give back (negative) those that were never used."""
        with self._lock:
            if (bucket := self._buckets[1]) is not None:
                bucket.take(float(more_tokens), self._clock())


@dataclass
class _Bucket:
    per_minute: float
    level: float
    """What may be taken at once; below zero: promised already."""
    at: float

    def _fill(self, now: float) -> None:
        self.level = min(self.per_minute, self.level + (now - self.at) * self.per_minute / 60)
        self.at = now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until the amount may be taken; one larger than a minute's limit waits for a full bucket."""
        self._fill(now)
        lacking = min(amount, self.per_minute) - self.level
        return max(0.0, lacking) * 60 / self.per_minute

    def take(self, amount: float, now: float) -> None:
        self._fill(now)
        self.level = min(self.per_minute, self.level - amount)
