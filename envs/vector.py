"""`KernelVectorEnv`: many episodes at once, verified concurrently through one engine.

Every step begins all sub-environments' actions before it waits for any, so that the engine's pool is kept busy. Beside
`step`, which waits for all, `send` and `recv` hand out whichever is ready, so that a slow verification holds nobody.
Each sub-environment records its own steps through one shared recorder: exactly the steps that were taken.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from kgb_gym.envs import recording
from kgb_gym.envs.actions import ActionDict, InvalidAction, parse
from kgb_gym.envs.env import KernelEnv
from kgb_gym.envs.inflight import InFlight
from kgb_gym.envs.observation import ObservationDict

if TYPE_CHECKING:
    from kgb_gym.datasets.recorder import Recorder

Flags = npt.NDArray[np.bool_]


class Received(NamedTuple):
    """The steps that `recv` hands out: of m sub-environments, batched as in `step`, in the order of `ids`."""

    observations: ObservationDict
    rewards: npt.NDArray[np.float64]
    """Shape (m,)."""
    terminations: Flags
    truncations: Flags
    infos: dict[str, Any]
    """As in `step`; entry j is about sub-environment `ids[j]`."""
    ids: npt.NDArray[np.int64]
    """Which sub-environments, ascending; shape (m,)."""


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
        self._flight = InFlight()

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
            AlreadyPendingCallError: a sub-environment to be reset is in flight.
            ValueError: a list or the mask has another length, or the mask is false everywhere.
        """
        rest = dict(options or {})
        mask = _mask(rest.pop("reset_mask", None), self.num_envs)
        named = _each("operator", rest.pop("operator", None), self.num_envs)
        about = _each("record", rest.pop("record", None), self.num_envs)
        seeds = _seeds(seed, self.num_envs)
        self._flight.refuse(np.flatnonzero(mask).tolist(), "reset")
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
            AlreadyPendingCallError: a sub-environment is in flight.
            ResetNeeded: a sub-environment's episode is over (`DISABLED`), or none was begun.
            InvalidAction: an action is no action at all; no sub-environment has stepped then.
        """
        each = self._split(actions, self.num_envs)
        self._begin(range(self.num_envs), each, "step")
        observations, rewards, terminations, truncations, infos, _ = self._complete(self.num_envs, None)
        return observations, rewards, terminations, truncations, infos

    def send(self, actions: Any, ids: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None) -> None:
        """Begin one action in each of some sub-environments, and wait for none; `recv` gives what comes of them.

        Args:
            actions: as for `step`, one for each of `ids`: a list, or a batch of the single action space.
            ids: distinct numbers of sub-environments; None: all of them.

        Raises:
            AlreadyPendingCallError: one of them is in flight.
            ResetNeeded: the episode of one is over (`DISABLED`), or none was begun.
            InvalidAction: an action is no action at all, or there are more or fewer than `ids`.
            ValueError: there is no such sub-environment, or one is named twice.

            Whatever is raised, nothing has begun.
        """
        numbers = _numbers(ids, self.num_envs)
        self._begin(numbers, self._split(actions, len(numbers)), "send")

    def recv(self, at_least: int = 1, timeout: float | None = None) -> Received:
        """Wait until some of the sub-environments in flight are ready, and give every one that is.

        An ended episode is followed by the next one as in `step` (`SAME_STEP`), or by `reset` with a mask that names it
        (`DISABLED`), while others stay in flight.

        Args:
            at_least: how many to wait for; never more than are in flight.
            timeout: seconds; None: as long as it takes.

        Raises:
            NoAsyncCallError: nothing is in flight.
            TimeoutError: too few were ready in time; nothing is lost, they stay in flight.
            ValueError: `at_least` is below 1.
        """
        return self._complete(at_least, timeout)

    @property
    def in_flight(self) -> tuple[int, ...]:
        """Numbers of the sub-environments that were sent an action and not received since."""
        return tuple(self._flight)

    def _begin(self, numbers: Sequence[int], each: Sequence[ActionDict], call: str) -> None:
        self._flight.refuse(numbers, call)
        for i, action in zip(numbers, each, strict=True):
            self.envs[i].running()
            parse(action)
        for i, action in zip(numbers, each, strict=True):
            self._flight.add(i, self.envs[i].begin(action))

    def _complete(self, at_least: int, timeout: float | None) -> Received:
        ready = self._flight.take(at_least, timeout)
        count = len(ready)
        rewards = np.zeros(count, dtype=np.float64)
        terminations, truncations = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
        infos: dict[str, Any] = {}
        for j, (i, begun) in enumerate(ready):
            env = self.envs[i]
            observation, rewards[j], terminations[j], truncations[j], info = env.complete(begun)
            if (terminations[j] or truncations[j]) and self.autoreset_mode is AutoresetMode.SAME_STEP:
                infos = self._add_info(infos, {"final_obs": observation, "final_info": info}, j)
                observation, info = env.reset(options={"record": self._about[i]})
            self._observations[i] = observation
            infos = self._add_info(infos, info, j)
        ids = np.array([i for i, _ in ready], dtype=np.int64)
        return Received(self._batched(ids.tolist()), rewards, terminations, truncations, _cut(infos, count), ids)

    def render(self) -> tuple[str | None, ...]:  # type: ignore[override]  # Gymnasium's frame types leave plain text out
        """What each sub-environment renders."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the sub-environments, and the recorder that was opened here. Steps in flight are dropped: they were
        never returned, and are not recorded."""
        self._flight.drop()
        for env in self.envs:
            env.close()
        if self._owns_recorder and self._recorder is not None:
            self._recorder.close()

    def _split(self, actions: Any, count: int) -> list[ActionDict]:
        if isinstance(actions, (list, tuple)):
            each = list(actions)
        elif isinstance(actions, Mapping):
            space = self.action_space if count == self.num_envs else batch_space(self.single_action_space, count)
            each = list(iterate(space, actions))
        else:
            raise InvalidAction(f"actions must be a batch of the action space or a list, got {type(actions).__name__}")
        if len(each) != count:
            raise InvalidAction(f"got {len(each)} actions for {count} environments")
        return each

    def _batched(self, ids: Sequence[int] | None = None) -> ObservationDict:
        if any(not observation for observation in self._observations):
            raise ValueError("the first reset must reset every sub-environment")
        chosen = self._observations if ids is None else [self._observations[i] for i in ids]
        empty: Any = create_empty_array(self.single_observation_space, n=len(chosen), fn=np.zeros)
        batch = concatenate(self.single_observation_space, chosen, empty)
        return deepcopy(dict(batch))


def _mask(mask: Any, count: int) -> Flags:
    if mask is None:
        return np.ones(count, dtype=np.bool_)
    if not isinstance(mask, np.ndarray) or mask.shape != (count,) or mask.dtype != np.bool_:
        raise ValueError(f"options['reset_mask'] must be a NumPy bool array of shape ({count},)")
    if not mask.any():
        raise ValueError("options['reset_mask'] is false everywhere: nothing to reset")
    return mask


def _cut(infos: dict[str, Any], count: int) -> dict[str, Any]:
    """The first `count` entries of batched infos: Gymnasium makes them as long as there are sub-environments."""
    return {k: _cut(v, count) if isinstance(v, dict) else v[:count] for k, v in infos.items()}


def _numbers(ids: Any, count: int) -> list[int]:
    if ids is None:
        return list(range(count))
    array = np.asarray(ids)
    if array.ndim != 1 or not array.size or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"ids must be a non-empty sequence of whole numbers, got {ids!r}")
    numbers: list[int] = array.tolist()
    if bad := [n for n in numbers if not 0 <= n < count]:
        raise ValueError(f"no sub-environment {bad[0]}: they are 0 to {count - 1}")
    if len(set(numbers)) != len(numbers):
        raise ValueError("ids names a sub-environment twice")
    return numbers


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
