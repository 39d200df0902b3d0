"""Anthropic's messages, and servers that speak them, through the `anthropic` SDK."""

from __future__ import annotations

import time
from typing import Any

from kgb_gym.baselines.models import wire
from kgb_gym.baselines.models.errors import Faulty, MissingExtra, ModelError
from kgb_gym.baselines.models.protocol import Messages, Raw, Sampling
from kgb_gym.envs.tokens import Usage


class AnthropicMessages:
    """A transport to one of Anthropic's models."""

    def __init__(self, model: str, *, base_url: str | None, api_key: str | None) -> None:
        """
        Args:
            model: as the server knows it.
            base_url: without `/v1/messages`; None: Anthropic's own.
            api_key: needed by Anthropic's own server.

        Raises:
            MissingExtra: the SDK isn't installed.
            ModelRefused: Anthropic's own server needs a key.
        """
        try:
            import anthropic
        except ImportError as error:
            raise MissingExtra("the anthropic SDK is missing: pip install 'kgb-gym[anthropic]'") from error
        self._sdk: Any = anthropic
        self._model = model
        key = wire.checked_key(api_key, needed=base_url is None, provider="Anthropic")
        self._client: Any = anthropic.Anthropic(base_url=base_url, api_key=key, max_retries=0)

    def send(self, messages: Messages, sampling: Sampling, timeout_s: float) -> Raw:
        """See `Transport.send`. System messages become the request's system prompt."""
        system = "\n\n".join(m["content"] for m in messages if m["role"] == "system")
        extra = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "system": system or None,
            **sampling.extra,
        }
        began = time.monotonic()
        try:
            with self._client.messages.with_streaming_response.create(
                model=self._model,
                max_tokens=sampling.max_tokens,
                messages=[dict(m) for m in messages if m["role"] != "system"],
                extra_body={k: v for k, v in extra.items() if v is not None},
                timeout=timeout_s,
            ) as response:
                return read(wire.json_of(wire.whole(response.iter_bytes(), began, timeout_s)))
        except ModelError:
            raise
        except Exception as error:
            raise wire.understood(error, self._sdk, self._model) from error

    def close(self) -> None:
        self._client.close()


def read(body: Any) -> Raw:
    """One response body.

    Raises:
        Faulty: it is no message.
    """
    blocks = body.get("content") if isinstance(body, dict) else None
    if not isinstance(blocks, list):
        raise Faulty("the server's answer holds no content; is this base URL one of Anthropic's messages?")
    parts: dict[str, list[str]] = {"text": [], "thinking": []}
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in parts:
            parts[kind].append(wire.text(block.get(kind)))
    return Raw(
        text="".join(parts["text"]),
        finish_reason=body.get("stop_reason"),
        model=body.get("model"),
        usage=usage(body.get("usage")),
        reasoning="".join(parts["thinking"]),
    )


def usage(given: Any) -> Usage | None:
    """Token counts as Anthropic reports them, where cached tokens are no part of `input_tokens`; None if it has none."""
    if not isinstance(given, dict) or not (given.get("input_tokens") or given.get("output_tokens")):
        return None
    read, written = given.get("cache_read_input_tokens"), given.get("cache_creation_input_tokens")
    prompt = [wire.number(v) for v in (given.get("input_tokens"), read, written)]
    return wire.usage(sum(prompt), given.get("output_tokens"), read)
