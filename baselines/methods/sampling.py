"""Sampling: every answer is asked for with the first prompt alone, whatever became of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgb_gym import prompts
from kgb_gym.baselines.methods.asking import AskingPolicy, Message
from kgb_gym.envs.observation import ObservationDict
from kgb_gym.operators import get


class SamplingPolicy(AskingPolicy):
    """Independent samples. `pass@k` has one an episode; `no-reflection` (Table 17) has its rounds in one episode."""

    def messages(self, observation: ObservationDict, info: Mapping[str, Any]) -> list[Message]:
        return [{"role": "user", "content": observation["prompt"]}]


class SingleStepAgent(AskingPolicy):
    """An agent in name: the agent's prompt, one tool, one call (Table 17)."""

    def messages(self, observation: ObservationDict, info: Mapping[str, Any]) -> list[Message]:
        text = prompts.single_step(get(info["operator"]), info["platform"], info["suite"])
        return [{"role": "user", "content": text}]
