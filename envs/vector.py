"""`KernelVectorEnv`: many episodes at once, verified concurrently through one engine.

Every step begins all sub-environments' actions before it waits for any, so that the engine's pool is kept busy. Each
sub-environment records its own steps through one shared recorder: exactly the steps that were taken.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from kgb_gym.envs import recording
from kgb_gym.envs.actions import ActionDict, InvalidAction, parse
from kgb_gym.envs.env import KernelEnv
from kgb_gym.envs.observation import ObservationDict

if TYPE_CHECKING:
    from kgb_gym.datasets.recorder import Recorder

Flags = npt.NDArray[np.bool_]


class KernelVectorEnv(VectorEnv[ObservationDict, Any, npt.NDArray[Any]]):
    """`num_envs` kernel environments that step together; `gymnasium.make_vec` makes it.

    Observations are batched by key: counts as int64 arrays of shape (num_envs,), texts as tuples of `str`. Actions are
    batched the same way (`action_space`), or given as a list of `num_envs` actions from `submit` and `call`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        pool: str = "*",
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        record: str | os.PathLike[str] | Recorder | None = None,
        **kwargs: Any,
    ) -> None:
        """
        Args:
            num_envs: how many sub-environments, at least 1.
            pool: globs of the operators; set by registration.
            autoreset_mode: `SAME_STEP` (an ended episode is followed by the first observation of the next one, its own
                last one stands in `infos["final_obs"]`) or `DISABLED` (reset with `options={"reset_mask": ...}`).
            record: as for `KernelEnv`; all sub-environments share one recorder.
            **kwargs: as for `KernelEnv`.

        Raises:
            ValueError: `num_envs` is below 1, or the autoreset mode is `NEXT_STEP`, which makes up a step.
        """
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs}")
        mode = autoreset_mode if isinstance(autoreset_mode, AutoresetMode) else AutoresetMode(autoreset_mode)
        if mode is AutoresetMode.NEXT_STEP:
            raise ValueError("autoreset_mode NEXT_STEP is not supported: use SAME_STEP or DISABLED")
        self.num_envs = num_envs
        self.autoreset_mode = mode
        self.metadata = {**KernelEnv.metadata, "autoreset_mode": mode}
        first = KernelEnv(pool, **kwargs)
        self._owns_recorder = isinstance(record, (str, os.PathLike))
        self._recorder: Recorder | None = (
            recording.open_recorder(record, first.setting) if isinstance(record, (str, os.PathLike)) else record
        )
        first.share_recorder(self._recorder)
        self.envs = [first, *(KernelEnv(pool, record=self._recorder, **kwargs) for _ in range(num_envs - 1))]
        self.render_mode = first.render_mode
        self.single_action_space = first.action_space
        self.single_observation_space = first.observation_space
        self.action_space = batch_space(first.action_space, num_envs)
        self.observation_space = batch_space(first.observation_space, num_envs)
        self._observations: list[ObservationDict] = [{} for _ in range(num_envs)]
        self._about: list[dict[str, Any]] = [{} for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObservationDict, dict[str, Any]]:
        """Begin an episode everywhere, or where `options["reset_mask"]` is true.

        Args:
            seed: one for all (sub-environment i gets `seed + i`), or one each.
            options: as for `KernelEnv`, for all alike; `operator` and `record` may also be lists of one each.
                `reset_mask` is a bool array of shape (num_envs,). What `record` says of the method (not `sample` and
                `episode_id`) also holds for the episodes that autoreset begins.

        Raises:
            ValueError: a list or the mask has another length, or the mask is false everywhere.
        """
        rest = dict(options or {})
        mask = _mask(rest.pop("reset_mask", None), self.num_envs)
        named = _each("operator", rest.pop("operator", None), self.num_envs)
        about = _each("record", rest.pop("record", None), self.num_envs)
        seeds = _seeds(seed, self.num_envs)
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(mask):
            self.envs[i].spec = self.spec
            own = {**rest, "operator": named[i], "record": about[i]}
            self._observations[i], info = self.envs[i].reset(seed=seeds[i], options=own)
            self._about[i] = {k: v for k, v in (about[i] or {}).items() if k not in ("sample", "episode_id")}
            infos = self._add_info(infos, info, int(i))
        return self._batched(), infos

    def step(self, actions: Any) -> tuple[ObservationDict, npt.NDArray[np.float64], Flags, Flags, dict[str, Any]]:
        """One action in every sub-environment; verifications run concurrently.

        Raises:
            ResetNeeded: a sub-environment's episode is over (`DISABLED`), or none was begun.
            InvalidAction: an action is no action at all; no sub-environment has stepped then.
        """
        each = self._split(actions)
        for env, action in zip(self.envs, each, strict=True):
            env.running()
            parse(action)
        pending = [env.begin(action) for env, action in zip(self.envs, each, strict=True)]
        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminations = np.zeros(self.num_envs, dtype=np.bool_)
        truncations = np.zeros(self.num_envs, dtype=np.bool_)
        infos: dict[str, Any] = {}
        for i, (env, begun) in enumerate(zip(self.envs, pending, strict=True)):
            observation, rewards[i], terminations[i], truncations[i], info = env.complete(begun)
            if (terminations[i] or truncations[i]) and self.autoreset_mode is AutoresetMode.SAME_STEP:
                infos = self._add_info(infos, {"final_obs": observation, "final_info": info}, i)
                observation, info = env.reset(options={"record": self._about[i]})
            self._observations[i] = observation
            infos = self._add_info(infos, info, i)
        return self._batched(), rewards, terminations, truncations, infos

    def render(self) -> tuple[str | None, ...]:  # type: ignore[override]  # Gymnasium's frame types leave plain text out
        """What each sub-environment renders."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the sub-environments, and the recorder that was opened here."""
        for env in self.envs:
            env.close()
        if self._owns_recorder and self._recorder is not None:
            self._recorder.close()

    def _split(self, actions: Any) -> list[ActionDict]:
        if isinstance(actions, (list, tuple)):
            each = list(actions)
        elif isinstance(actions, Mapping):
            each = list(iterate(self.action_space, actions))
        else:
            raise InvalidAction(f"actions must be a batch of the action space or a list, got {type(actions).__name__}")
        if len(each) != self.num_envs:
            raise InvalidAction(f"got {len(each)} actions for {self.num_envs} environments")
        return each

    def _batched(self) -> ObservationDict:
        if any(not observation for observation in self._observations):
            raise ValueError("the first reset must reset every sub-environment")
        empty: Any = create_empty_array(self.single_observation_space, n=self.num_envs, fn=np.zeros)
        batch = concatenate(self.single_observation_space, self._observations, empty)
        return deepcopy(dict(batch))


def _mask(mask: Any, count: int) -> Flags:
    if mask is None:
        return np.ones(count, dtype=np.bool_)
    if not isinstance(mask, np.ndarray) or mask.shape != (count,) or mask.dtype != np.bool_:
        raise ValueError(f"options['reset_mask'] must be a NumPy bool array of shape ({count},)")
    if not mask.any():
        raise ValueError("options['reset_mask'] is false everywhere: nothing to reset")
    return mask


def _each(name: str, value: Any, count: int) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"options[{name!r}] has {len(value)} entries for {count} environments")
    return list(value)


def _seeds(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    if seed is None:
        return [None] * count
    if isinstance(seed, (int, np.integer)):
        return [int(seed) + i for i in range(count)]
    if len(seed) != count:
        raise ValueError(f"got {len(seed)} seeds for {count} environments")
    return list(seed)
