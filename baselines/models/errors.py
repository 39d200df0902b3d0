"""What can go wrong between us and a model's server.

    ModelError
    ├── ModelRefused      every further request would be refused alike: a wrong key, an unknown model, no credit
    ├── RequestRejected   this one request is refused: the conversation is too long, or was filtered
    ├── ModelUnavailable  no answer after all tries: 429, 5xx, a hung or broken connection, an answer that is none
    ├── OutOfTime         the episode's wall budget ended while the model was still writing
    └── MissingExtra      the SDK isn't installed

`ModelRefused` and `MissingExtra` end a run, `ModelUnavailable` leaves one episode unscored, the others end an episode
with what it has.
"""

from __future__ import annotations


class ModelError(RuntimeError):
    """The model gave no answer; the message says why, and what to do."""


class ModelRefused(ModelError):
    """Every further request would be refused alike."""


class RequestRejected(ModelError):
    """This request is refused, and would be again."""


class ModelUnavailable(ModelError):
    """There was no answer after all tries. Later there may be one."""


class OutOfTime(ModelError):
    """The deadline passed while the model was writing."""


class MissingExtra(ModelError):
    """The SDK of this provider isn't installed."""


class Faulty(ModelError):
    """One try failed in a way that another may not. Raised by transports; clients turn it into `ModelUnavailable`."""

    def __init__(self, message: str, *, retry_after_s: float | None = None, timed_out: bool = False) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """What the server asks to wait, in seconds; None if it doesn't say."""
        self.timed_out = timed_out
        """No answer came within the time-out."""
