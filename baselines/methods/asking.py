"""A policy whose answers a model writes: asks the client, and makes an action with a full record of what was said."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from kgb_gym.baselines.models.errors import OutOfTime, RequestRejected
from kgb_gym.baselines.models.protocol import Client, Reply, Sampling
from kgb_gym.envs.actions import ActionDict, bad, call
from kgb_gym.envs.observation import ObservationDict
from kgb_gym.envs.wrappers import read

Message = dict[str, str]

REJECTED = "rejected"
"""Finish reason of a step at which the server refused the conversation."""
TIMED_OUT = "wall_budget"
"""Finish reason of a step at which the wall budget ended while the model was writing."""


class AskingPolicy(ABC):
    """Plays an episode as a conversation with a model. What the conversation holds is up to each method."""

    def __init__(self, method: str, client: Client, sampling: Sampling, *, wall_s: float, synthetic: bool = False):
        """
        Args:
            method: the method's name, as it is recorded.
            client: what answers; it stays open.
            sampling: how it is asked to write.
            wall_s: wall seconds of one episode, after which no answer is waited for.
            synthetic: no model stands behind the client, but a script.
        """
        self._method, self._client, self._sampling = method, client, sampling
        self._wall_s, self._synthetic = wall_s, synthetic
        self._deadline = 0.0

    @property
    def method(self) -> str:
        return self._method

    @property
    def model(self) -> str | None:
        return self._client.model

    @property
    def synthetic(self) -> bool:
        return self._synthetic

    def reset(self, operator: str, seed: int) -> None:
        """Begin a conversation."""
        self._deadline = time.monotonic() + self._wall_s

    def close(self) -> None:
        """No answer is waited for any more."""
        self._deadline = 0.0

    def act(self, observation: ObservationDict, info: Mapping[str, Any]) -> ActionDict:
        """Ask the model, and read its answer.

        Raises:
            ModelRefused: the server would refuse every further request.
            ModelUnavailable: there was no answer after all tries.
        """
        messages = self.messages(observation, info)
        record: dict[str, Any] = {
            "messages": [dict(m) for m in messages],
            "sampling": self._sampling.to_dict(),
            "model": self._client.model,
        }
        try:
            reply = self._client.complete(messages, self._sampling, deadline=self._deadline)
        except OutOfTime as error:
            return bad(f"There was no answer: {error}.", transcript={**record, "finish_reason": TIMED_OUT})
        except RequestRejected as error:
            return call("finish", completion=f"({error})", transcript={**record, "finish_reason": REJECTED})
        self.answered(reply)
        record["finish_reason"] = reply.finish_reason
        if reply.usage_source == "counted":
            record["usage_source"] = "counted"
        if reply.token_ids is not None:
            record["token_ids"] = list(reply.token_ids)
        if reply.logprobs is not None:
            record["logprobs"] = list(reply.logprobs)
        return read(reply.completion, usage=reply.usage, transcript=record)

    @abstractmethod
    def messages(self, observation: ObservationDict, info: Mapping[str, Any]) -> list[Message]:
        """The conversation to be answered next."""

    def answered(self, reply: Reply) -> None:
        """Take the answer down."""
        del reply  # a method without memory keeps nothing
