"""A client: a transport with retries, rate limits, a deadline, and token counts that always say where they come from.

Not covered: streaming. An answer is waited for as a whole, which costs nothing where it is only verified afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kgb_gym.baselines.models.errors import Faulty, ModelUnavailable, OutOfTime
from kgb_gym.baselines.models.limits import RateLimit, Retry
from kgb_gym.baselines.models.protocol import Messages, Raw, Reply, Sampling, Transport
from kgb_gym.envs.tokens import Usage, count, count_cached

TIMEOUT_S = 600.0
"""Seconds that one request may take by default: 16384 tokens at 27 a second."""


class ModelClient:
    """Asks one model through a transport until it answers, or until asking is of no more use."""

    def __init__(
        self,
        model: str,
        transport: Transport,
        *,
        retry: Retry | None = None,
        limit: RateLimit | None = None,
        timeout_s: float = TIMEOUT_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Args:
            model: as the server knows it.
            transport: what sends a request; closed with the client.
            retry: when to ask again.
            limit: requests and tokens per minute.
            timeout_s: seconds that one request may take.
            sleep: waits seconds between tries.

        Raises:
            ValueError: the time-out is not positive.
        """
        if not timeout_s > 0:
            raise ValueError(f"the time-out must be positive, got {timeout_s}")
        self._model = model
        self._transport = transport
        self._retry = retry or Retry()
        self._limit = limit or RateLimit()
        self._timeout_s = timeout_s
        self._sleep = sleep

    @property
    def model(self) -> str:
        return self._model

    def complete(self, messages: Messages, sampling: Sampling, *, deadline: float | None = None) -> Reply:
        """See `Client.complete`."""
        estimate = sum(count_cached(m["content"]) for m in messages)
        failed = 0
        while True:
            left = self._left(deadline, estimate)
            try:
                raw = self._transport.send(messages, sampling, min(self._timeout_s, left))
            except Faulty as error:
                failed += 1
                self._limit.settle(-estimate)
                if error.timed_out and left < self._timeout_s:
                    raise OutOfTime("the episode's wall budget ended while the model was writing") from error
                if failed >= self._retry.tries:
                    raise ModelUnavailable(f"no answer after {_tries(failed)}: {error}") from error
                wait = self._retry.wait_s(failed, error.retry_after_s)
                if deadline is not None and time.monotonic() + wait > deadline:
                    raise ModelUnavailable(f"no answer within the episode's wall budget: {error}") from error
                self._sleep(wait)
            else:
                reply = _reply(raw, messages, failed + 1)
                self._limit.settle(reply.usage.total - estimate)
                return reply

    def close(self) -> None:
        """Close the transport."""
        self._transport.close()

    def _left(self, deadline: float | None, tokens: int) -> float:
        """Seconds until the deadline, once the rate limits allow a request."""
        if deadline is None:
            self._limit.take(tokens)
            return float("inf")
        if deadline <= time.monotonic():
            raise OutOfTime("the episode's wall budget is used up")
        if not self._limit.take(tokens, deadline=deadline):
            raise ModelUnavailable("the rate limit allows no request within the episode's wall budget")
        return max(0.001, deadline - time.monotonic())


def _reply(raw: Raw, messages: Messages, attempts: int) -> Reply:
    usage = raw.usage
    if usage is None:
        prompt = sum(count_cached(m["content"]) for m in messages)
        usage = Usage(prompt, count(raw.reasoning) + count(raw.text))
    return Reply(
        text=raw.text,
        usage=usage,
        usage_source="counted" if raw.usage is None else "reported",
        finish_reason=raw.finish_reason,
        model=raw.model,
        reasoning=raw.reasoning,
        token_ids=raw.token_ids,
        logprobs=raw.logprobs,
        attempts=attempts,
    )


def _tries(count: int) -> str:
    return "one try" if count == 1 else f"{count} tries"
