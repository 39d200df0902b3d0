"""Model clients: any OpenAI-compatible server, Anthropic's, and a loopback server that stands in for both.

The SDKs are extras (`kgb-gym[openai]`, `kgb-gym[anthropic]`), and are imported when a client is made.
"""

from kgb_gym.baselines.models.client import ModelClient
from kgb_gym.baselines.models.connect import PROVIDERS, Endpoint, connect
from kgb_gym.baselines.models.errors import (
    Hopeless,
    MissingExtra,
    MissingProgram,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    OutOfTime,
    RequestRejected,
)
from kgb_gym.baselines.models.limits import RateLimit, Retry
from kgb_gym.baselines.models.protocol import Client, Messages, Reply, Sampling

__all__ = [
    "PROVIDERS",
    "Client",
    "Endpoint",
    "Hopeless",
    "Messages",
    "MissingExtra",
    "MissingProgram",
    "ModelClient",
    "ModelError",
    "ModelRefused",
    "ModelUnavailable",
    "OutOfTime",
    "RateLimit",
    "Reply",
    "RequestRejected",
    "Retry",
    "Sampling",
    "connect",
]
