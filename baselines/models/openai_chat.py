"""Chat completions, as OpenAI, vLLM, SGLang and llama.cpp servers speak them, through the `openai` SDK."""

from __future__ import annotations

import threading
import time
from typing import Any

from kgb_gym.baselines.models import wire
from kgb_gym.baselines.models.errors import Faulty, MissingExtra, ModelError, RequestRejected
from kgb_gym.baselines.models.protocol import Messages, Raw, Sampling
from kgb_gym.envs.tokens import Usage


class OpenAIChat:
    """A transport to one model behind an OpenAI-compatible base URL."""

    def __init__(self, model: str, *, base_url: str | None, api_key: str | None) -> None:
        """
        Args:
            model: as the server knows it.
            base_url: such as `http://localhost:8000/v1`; None: OpenAI's own.
            api_key: servers of one's own often need none.

        Raises:
            MissingExtra: the SDK isn't installed.
            ModelRefused: OpenAI's own server needs a key.
        """
        try:
            import openai
        except ImportError as error:
            raise MissingExtra("the openai SDK is missing: pip install 'kgb-gym[openai]'") from error
        self._sdk: Any = openai
        self._model = model
        key = wire.checked_key(api_key, needed=base_url is None, provider="OpenAI")
        self._client: Any = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)
        self._limit_name = "max_tokens"
        self._lock = threading.Lock()

    def send(self, messages: Messages, sampling: Sampling, timeout_s: float) -> Raw:
        """See `Transport.send`."""
        name = self._limit_name
        try:
            return self._send(messages, sampling, timeout_s, name)
        except RequestRejected as error:
            if name != "max_tokens" or "max_completion_tokens" not in str(error):
                raise
            with self._lock:
                self._limit_name = "max_completion_tokens"
            return self._send(messages, sampling, timeout_s, self._limit_name)

    def close(self) -> None:
        self._client.close()

    def _send(self, messages: Messages, sampling: Sampling, timeout_s: float, limit_name: str) -> Raw:
        body = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            limit_name: sampling.max_tokens,
            **sampling.extra,
        }
        began = time.monotonic()
        try:
            with self._client.with_options(timeout=timeout_s).chat.completions.with_streaming_response.create(
                model=self._model,
                messages=[dict(m) for m in messages],
                extra_body={k: v for k, v in body.items() if v is not None},
            ) as response:
                return read(wire.json_of(wire.whole(response.iter_bytes(), began, timeout_s)))
        except ModelError:
            raise
        except Exception as error:
            raise wire.understood(error, self._sdk, self._model) from error


def read(body: Any) -> Raw:
    """One response body.

    Raises:
        Faulty: it is no chat completion.
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Faulty("the server's answer holds no choice; is this base URL one of chat completions?")
    choice = choices[0]
    given = choice.get("message")
    message: dict[str, Any] = given if isinstance(given, dict) else {}
    tokens, values = _logprobs(choice.get("logprobs"))
    return Raw(
        text=wire.text(message.get("content")),
        finish_reason=choice.get("finish_reason"),
        model=body.get("model"),
        usage=usage(body.get("usage")),
        reasoning=wire.text(message.get("reasoning_content") or message.get("reasoning")),
        token_ids=wire.numbers(choice.get("token_ids"), int) or tokens,
        logprobs=values,
    )


def usage(given: Any) -> Usage | None:
    """Token counts as chat completions report them; None if there are none."""
    if not isinstance(given, dict) or not (given.get("prompt_tokens") or given.get("completion_tokens")):
        return None
    details = given.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else given.get("prompt_cache_hit_tokens")
    return wire.usage(given.get("prompt_tokens"), given.get("completion_tokens"), cached)


def _logprobs(given: Any) -> tuple[tuple[int, ...] | None, tuple[float, ...] | None]:
    """Token ids where the server writes tokens as `token_id:N` (vLLM), and log-probabilities."""
    content = given.get("content") if isinstance(given, dict) else None
    if not isinstance(content, list) or not all(isinstance(c, dict) for c in content):
        return None, None
    ids = [str(c.get("token", "")).removeprefix("token_id:") for c in content]
    tokens = tuple(int(i) for i in ids) if ids and all(i.isdigit() for i in ids) else None
    return tokens, wire.numbers([c.get("logprob") for c in content], float)
