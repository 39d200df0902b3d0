"""A labelled stand-in for a model: sends faulty drafts, reads that they failed, and ends with the gold kernel.

It lets runs, records and reports be shown without a model. It reaches its outcomes through `env.step` alone, and its
episodes are marked `synthetic`: metrics leave them out unless told otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from kgb_gym.baselines.drafts import SLOW, Draft, drafts
from kgb_gym.envs.actions import ActionDict, submit
from kgb_gym.envs.observation import ObservationDict
from kgb_gym.operators import gold_source


class ScriptedPolicy:
    """Plays a script: some drafts of the operator, chosen by seed, then its gold kernel."""

    method = "scripted"
    model = "stand-in"
    synthetic = True

    def __init__(self, most: int = 3) -> None:
        """
        Args:
            most: drafts sent before the gold kernel, at most.
        """
        if most < 0:
            raise ValueError(f"most must be at least 0, got {most}")
        self._most = most
        self._script: list[Draft | None] = []
        self._gold = ""
        self._messages: list[dict[str, str]] = []

    def reset(self, operator: str, seed: int) -> None:
        """Choose the drafts.

        Raises:
            FileNotFoundError: the operator has no gold kernel.
        """
        self._gold = gold_source(operator)
        every = drafts(operator)
        rng = random.Random(f"{operator}/{seed}")
        chosen = rng.sample(every, min(rng.randint(0, self._most), len(every)))
        if operator == SLOW and self._most:
            chosen = [d for d in every if d.name == "infinite_loop"] + chosen[: self._most - 1]
        self._script = [*(d for d in every if d in chosen), None]
        self._messages = []

    def act(self, observation: ObservationDict, info: Mapping[str, Any]) -> ActionDict:
        """The next draft; after the last one the gold kernel, which ends the episode."""
        draft = self._script.pop(0) if self._script else None
        source = draft.source if draft else self._gold
        said = draft.said if draft else "This version follows the specification step by step."
        completion = f"{said}\n\n```python\n{source.rstrip()}\n```\n"
        self._messages.append({"role": "user", "content": observation["message"]})
        action = submit(
            source,
            finish=draft is None,
            completion=completion,
            transcript={"messages": self._messages, "finish_reason": "stop", "model": self.model},
        )
        self._messages.append({"role": "assistant", "content": completion})
        return action

    def close(self) -> None:
        """Nothing is held."""
