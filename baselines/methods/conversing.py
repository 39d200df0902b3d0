"""Methods with a memory: reflection on what the last answer came to, and an agent that calls tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgb_gym import prompts
from kgb_gym.baselines.methods.asking import AskingPolicy, Message
from kgb_gym.baselines.models.protocol import Reply
from kgb_gym.envs.observation import ObservationDict


class _Conversing(AskingPolicy):
    """Keeps the whole conversation: the first prompt, then answers and what each came to, in turn."""

    def reset(self, operator: str, seed: int) -> None:
        super().reset(operator, seed)
        self._said: list[Message] = []

    def messages(self, observation: ObservationDict, info: Mapping[str, Any]) -> list[Message]:
        text = self.told(observation, info) if self._said else self.first(observation)
        self._said.append({"role": "user", "content": text})
        return self._said

    def answered(self, reply: Reply) -> None:
        # Servers refuse empty turns; reasoning is not sent back, as its authors ask.
        self._said.append({"role": "assistant", "content": reply.text.strip() or "(no answer)"})

    def first(self, observation: ObservationDict) -> str:
        """What begins the conversation."""
        text: str = observation["prompt"]
        return text

    def told(self, observation: ObservationDict, info: Mapping[str, Any]) -> str:
        """What an answer is followed by."""
        text: str = observation["message"]
        return text


class ReflectionPolicy(_Conversing):
    """Fixed rounds, driven by tracebacks (Appendix E): p_t = p_(t-1) + c_t + e_t, where e_t is the error-repair
    prompt, or after a clean pass the one that asks for speed."""

    def told(self, observation: ObservationDict, info: Mapping[str, Any]) -> str:
        verdict = info["verdict"]
        return prompts.scenario(
            "optimise" if verdict is not None and verdict.clean else "repair", observation["message"]
        )


class ToolAgent(_Conversing):
    """Our own agent: turns of tool calls and submissions until it finishes or a budget is used up."""

    def first(self, observation: ObservationDict) -> str:
        text: str = observation["message"]
        return text
