"""The gold kernels as a policy: one submission, which should be a clean pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgb_gym.envs.actions import ActionDict, submit
from kgb_gym.envs.observation import ObservationDict
from kgb_gym.operators import gold_source


class GoldPolicy:
    """Submits the operator's gold kernel and ends the episode. It proves operators solvable; it is no model."""

    method = "gold"
    model = None
    synthetic = True

    def __init__(self) -> None:
        self._source = ""

    def reset(self, operator: str, seed: int) -> None:
        """Read the gold kernel.

        Raises:
            FileNotFoundError: the operator has none.
        """
        self._source = gold_source(operator)

    def act(self, observation: ObservationDict, info: Mapping[str, Any]) -> ActionDict:
        return submit(self._source, finish=True)

    def close(self) -> None:
        """Nothing is held."""
