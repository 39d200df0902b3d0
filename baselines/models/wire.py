"""What both transports share: reading bodies that may hold anything, and telling failures apart."""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from kgb_gym.baselines.models.errors import Faulty, ModelError, ModelRefused, RequestRejected
from kgb_gym.envs.tokens import MAX_REPORTED, Usage

T = TypeVar("T", int, float)

RETRYABLE = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which another try may succeed."""
REFUSED = frozenset({401, 402, 403, 404})
"""Statuses that mean the same for every request."""
LONGEST = 64 << 20
"""Bytes of an answer's body."""
MAX_SAID = 500
"""Characters of a server's own words that are kept in a message."""


def checked_key(key: str | None, *, needed: bool, provider: str) -> str:
    """The key, or what stands for one where the server needs none.

    Raises:
        ModelRefused: it is needed and missing, or no header can carry it.
    """
    if key:
        if not key.isascii() or not key.isprintable() or key != key.strip():
            raise ModelRefused("the API key holds blanks or characters that no header can carry: was it copied whole?")
        return key
    if needed:
        raise ModelRefused(f"{provider} needs a key: set the environment variable that --api-key-env names")
    return "none"


def whole(chunks: Iterable[bytes], began: float, timeout_s: float) -> bytes:
    """A response body in one piece, given up once the request has taken `timeout_s` in all.

    The SDKs' own time-out is for one read: a server that sends a byte now and then would keep a request for ever.

    Args:
        chunks: the body as it arrives.
        began: `time.monotonic()` when the request was sent.
        timeout_s: seconds for the whole answer.

    Raises:
        Faulty: it takes longer, or the body is larger than `LONGEST`.
    """
    parts, size = [], 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if time.monotonic() - began > timeout_s:
            raise Faulty("the server took too long to answer", timed_out=True)
        if size > LONGEST:
            raise Faulty(f"the server's answer is longer than {LONGEST >> 20} MiB")
    return b"".join(parts)


def json_of(content: bytes) -> Any:
    """A response body as JSON; bytes that are no UTF-8 become replacement characters.

    Raises:
        Faulty: it is no JSON.
    """
    try:
        return json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Faulty(f"the server's answer is no JSON: {content[:80]!r}") from error


def text(value: Any) -> str:
    """Text of a message: a string, or a list of parts with `text`."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(text(part.get("text")) for part in value if isinstance(part, dict))
    return ""


def number(value: Any) -> int:
    """A count; 0 for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return 0
    return min(MAX_REPORTED, max(0, int(value)))


def numbers(values: Any, kind: Callable[[Any], T]) -> tuple[T, ...] | None:
    """A list of numbers; None if it is none."""
    if not isinstance(values, list) or not values:
        return None
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return None
    return tuple(kind(v) for v in values)


def usage(prompt: Any, completion: Any, cached: Any) -> Usage:
    """Counts as the server reports them; cached tokens are part of the prompt."""
    whole = number(prompt)
    return Usage(whole, number(completion), min(whole, number(cached)))


def understood(error: Exception, sdk: Any, model: str) -> ModelError:
    """An SDK's exception as one of ours.

    Args:
        error: what the SDK raised.
        sdk: its module; both SDKs name their exceptions alike.
        model: the model that was asked for.
    """
    if isinstance(error, sdk.APITimeoutError):
        return Faulty("the server took too long to answer", timed_out=True)
    if isinstance(error, sdk.APIStatusError):
        return _status(error, model)
    if isinstance(error, sdk.APIConnectionError):
        return Faulty(f"the connection failed: {_reason(error)}")
    if isinstance(error, sdk.APIError):
        return Faulty(f"the server's answer can't be read: {_short(str(error))}")
    if type(error).__module__.partition(".")[0] in {"httpx", "httpx2", "httpcore", "httpcore2"}:
        return Faulty(f"the connection broke: {_reason(error)}", timed_out="Timeout" in type(error).__name__)
    return ModelRefused(f"the request can't be sent: {type(error).__name__}: {_short(str(error))}")


def retry_after_s(headers: Any) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        if not (given := headers.get("retry-after")):
            return None
        try:
            return max(0.0, float(given))
        except ValueError:
            return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _status(error: Any, model: str) -> ModelError:
    status, said = int(error.status_code), _short(_said(error))
    if status in RETRYABLE or status >= 500:
        if status == 429 and "insufficient_quota" in said:
            return ModelRefused(f"the account has no credit left (429): {said}")
        return Faulty(f"the server answered {status}: {said}", retry_after_s=retry_after_s(error.response.headers))
    if status == 401 or status == 403:
        return ModelRefused(f"the key was refused ({status}): check the variable that --api-key-env names. {said}")
    if status == 404:
        return ModelRefused(f"there is no model {model!r} there, or no such path (404): {said}")
    if status in REFUSED:
        return ModelRefused(f"the server refuses every request ({status}): {said}")
    return RequestRejected(f"the server refused the request ({status}): {said}")


def _said(error: Any) -> str:
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            return ": ".join(str(inner[k]) for k in ("code", "type", "message") if inner.get(k))
        return str(inner)
    return str(body or error)


def _reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    return _short(str(cause) or type(cause).__name__)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_SAID else text[: MAX_SAID - 3] + "..."
