"""What a model client is: messages and sampling settings in, one reply out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from kgb_gym.envs.tokens import Usage

Messages = Sequence[Mapping[str, str]]
"""Turns of a conversation, each with `role` (`system`, `user`, `assistant`) and `content`."""


@dataclass(frozen=True)
class Sampling:
    """How the model is asked to write. None leaves a setting to the server."""

    temperature: float | None = 0.0
    """The paper's: 0 for Pass@1, 0.8 above."""
    top_p: float | None = None
    max_tokens: int = 16384
    """Tokens of one answer, the paper's limit."""
    seed: int | None = None
    """Some servers repeat an answer under the same seed."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request's body, such as `{"top_k": 20}` or `{"reasoning_effort": "high"}`."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {self.max_tokens}")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature must lie between 0 and 2, got {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must lie above 0 and be at most 1, got {self.top_p}")

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data, `extra` included."""
        return asdict(self)


@dataclass(frozen=True)
class Reply:
    """What the model answered."""

    text: str
    """The answer, without reasoning that the server gives apart."""
    usage: Usage
    usage_source: Literal["reported", "counted"]
    """`reported` by the server, or `counted` here because it reported nothing."""
    finish_reason: str | None = None
    """Why the model stopped, as its provider says it."""
    model: str | None = None
    """The model as the server names it."""
    reasoning: str = ""
    """Reasoning that the server gives apart from the answer."""
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    """Natural-log probabilities of the answer's tokens, where they were asked for."""
    attempts: int = 1
    """Requests that it took."""

    @property
    def completion(self) -> str:
        """All that the model wrote, reasoning first."""
        return f"<think>\n{self.reasoning}\n</think>\n{self.text}" if self.reasoning else self.text


@dataclass(frozen=True)
class Raw:
    """What a transport read from one response; counts that the server didn't report are None."""

    text: str
    finish_reason: str | None
    model: str | None
    usage: Usage | None
    reasoning: str = ""
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class Transport(Protocol):
    """One request on the wire. Safe to share between threads."""

    def send(self, messages: Messages, sampling: Sampling, timeout_s: float) -> Raw:
        """Ask once, and wait at most `timeout_s` seconds for the whole answer.

        Raises:
            Faulty: this try failed; another may not.
            ModelRefused: every further request would be refused alike.
            RequestRejected: this request is refused, and would be again.
        """
        ...

    def close(self) -> None:
        """Close its connections. May be called twice."""
        ...


class Client(Protocol):
    """A model that answers. Safe to share between threads."""

    @property
    def model(self) -> str:
        """The model as it is asked for."""
        ...

    def complete(self, messages: Messages, sampling: Sampling, *, deadline: float | None = None) -> Reply:
        """The model's answer to a conversation.

        Args:
            messages: the conversation.
            sampling: how to write.
            deadline: `time.monotonic()` value after which no answer is of use.

        Raises:
            ModelError: there is none; which kind says what to do about it.
        """
        ...

    def close(self) -> None:
        """Close its connections. May be called twice."""
        ...
