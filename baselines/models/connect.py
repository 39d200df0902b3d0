"""Finds the client that a run's settings mean. Keys come from the environment, and are never written anywhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from kgb_gym.baselines.models.client import TIMEOUT_S, ModelClient
from kgb_gym.baselines.models.errors import ModelRefused
from kgb_gym.baselines.models.limits import RateLimit, Retry
from kgb_gym.baselines.models.protocol import Transport

Provider = Literal["openai", "anthropic"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
KEYS: Mapping[Provider, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""The environment variable that each provider's key is read from by default."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is reached. No part of a run's configuration: another address may serve the same model."""

    model: str
    """As the server knows it."""
    provider: Provider = "openai"
    """The protocol that the server speaks."""
    base_url: str | None = None
    """Such as `http://localhost:8000/v1`; None: the provider's own."""
    api_key_env: str | None = None
    """Environment variable with the key; None: the provider's usual one."""
    timeout_s: float = TIMEOUT_S
    """Seconds that one request may take."""
    retry: Retry = field(default_factory=Retry)
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("a model is needed: give its name as the server knows it")
        if self.provider not in PROVIDERS:
            raise ValueError(f"unknown provider {self.provider!r}: use one of {', '.join(PROVIDERS)}")
        if not self.timeout_s > 0:
            raise ValueError(f"the time-out must be positive, got {self.timeout_s}")
        if self.base_url is not None:
            parts = urlsplit(self.base_url)
            if parts.scheme not in {"http", "https"} or not parts.netloc:
                raise ValueError(f"a base URL begins with http:// or https://, got {self.base_url!r}")
            if parts.username or parts.password:
                raise ValueError("a base URL must not hold a password: put the key into an environment variable")

    @property
    def key_name(self) -> str:
        """The environment variable that the key is read from."""
        return self.api_key_env or KEYS[self.provider]

    def key(self, environment: Mapping[str, str] | None = None) -> str | None:
        """The key; None where there is none, and none was named.

        Raises:
            ModelRefused: a variable was named, and is not set.
        """
        found = (os.environ if environment is None else environment).get(self.key_name)
        if self.api_key_env is not None and not found:
            raise ModelRefused(f"the environment variable {self.api_key_env} is not set, or empty")
        return found or None


def connect(endpoint: Endpoint) -> ModelClient:
    """A client of the endpoint. Nothing is sent until it is asked.

    Raises:
        MissingExtra: the provider's SDK isn't installed.
        ModelRefused: a key is needed and missing.
    """
    arguments: dict[str, Any] = {"base_url": endpoint.base_url, "api_key": endpoint.key()}
    transport: Transport
    if endpoint.provider == "openai":
        from kgb_gym.baselines.models.openai_chat import OpenAIChat

        transport = OpenAIChat(endpoint.model, **arguments)
    else:
        from kgb_gym.baselines.models.anthropic_messages import AnthropicMessages

        transport = AnthropicMessages(endpoint.model, **arguments)
    return ModelClient(
        endpoint.model,
        transport,
        retry=endpoint.retry,
        limit=RateLimit(endpoint.requests_per_minute, endpoint.tokens_per_minute),
        timeout_s=endpoint.timeout_s,
    )
