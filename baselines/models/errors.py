"""What can go wrong between us and a model's server.

ModelError
├── Hopeless          no episode can succeed: ends a run
│   ├── ModelRefused      every further request would be refused alike: a wrong key, an unknown model, no credit
│   ├── MissingExtra      the SDK isn't installed
│   └── MissingProgram    the agent's program isn't installed, or can't be fenced in
├── ModelUnavailable  no answer after all tries: 429, 5xx, a hung or broken connection, an answer that is none:
│                     leaves one episode unscored
├── RequestRejected   this one request is refused, as the conversation is too long or was filtered: ends an episode
└── OutOfTime         the episode's wall budget ended while the model was still writing: ends an episode
"""

from __future__ import annotations


class ModelError(RuntimeError):
    """The model gave no answer; the message says why, and what to do."""


class Hopeless(ModelError):
    """No episode can succeed until a person has changed something; the message says what."""


class ModelRefused(Hopeless):
    """Every further request would be refused alike."""


class RequestRejected(ModelError):
    """This request is refused, and would be again."""


class ModelUnavailable(ModelError):
    """There was no answer after all tries. Later there may be one."""


class OutOfTime(ModelError):
    """The deadline passed while the model was writing."""


class MissingExtra(Hopeless):
    """The SDK of this provider isn't installed."""


class MissingProgram(Hopeless):
    """The agent's program isn't installed, or can't be fenced in."""


class Faulty(ModelError):
    """One try failed in a way that another may not. Raised by transports; clients turn it into `ModelUnavailable`."""

    def __init__(self, message: str, *, retry_after_s: float | None = None, timed_out: bool = False) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """What the server asks to wait, in seconds; None if it doesn't say."""
        self.timed_out = timed_out
        """No answer came within the time-out."""
