"""What a policy is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kgb_gym.envs.actions import ActionDict
from kgb_gym.envs.observation import ObservationDict


class Policy(Protocol):
    """Plays episodes, one after the other: `reset`, `act` until the episode is over, `close`."""

    @property
    def method(self) -> str:
        """Name of the method, as tables print it: `gold`, `pass@5`, `reflection`."""
        ...

    @property
    def model(self) -> str | None:
        """The model behind it; None where there is none."""
        ...

    @property
    def synthetic(self) -> bool:
        """True if neither a model nor a person writes the submissions: metrics leave such episodes out."""
        ...

    def reset(self, operator: str, seed: int) -> None:
        """Begin an episode.

        Args:
            operator: `source/name`.
            seed: for the policy's own choices; not the environment's.
        """
        ...

    def act(self, observation: ObservationDict, info: Mapping[str, Any]) -> ActionDict:
        """The next action, from the observation and info of `env.reset` or the last `env.step`."""
        ...

    def close(self) -> None:
        """End the episode, however far it came: stop what was started for it. `reset` may follow.

        May be called twice, and by another thread while `act` waits, which then may raise.
        """
        ...
