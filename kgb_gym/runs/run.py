"""Carries a run out: takes up what its folder lacks, records every step, and says what came of it.

A step is on the disk before the episode goes on, so a run may be killed at any moment; the same call again takes up
the episodes that had not ended. An episode at which the harness failed is taken up again, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

from kgb_gym.baselines import Policy, get_policy, rollout
from kgb_gym.datasets.recorder import Recorder
from kgb_gym.datasets.store import finished_episodes
from kgb_gym.envs.actions import ActionDict
from kgb_gym.envs.env import KernelEnv
from kgb_gym.envs.observation import ObservationDict
from kgb_gym.runs.config import RunConfig
from kgb_gym.runs.plan import Episode, plan
from kgb_gym.runs.progress import Progress
from kgb_gym.runs.schedule import Stop, carry_out
from kgb_gym.verification.protocols import Engine

LOCK = ".run.lock"
ERRORS = "errors.log"

FAILED = "error"
"""Outcome of an episode that ended in an exception of ours or of the policy: unscored, and not recorded as ended."""


class FolderBusy(RuntimeError):
    """Another process is carrying out the run of this folder."""


@dataclass(frozen=True)
class Outcome:
    """What came of one episode."""

    operator: str
    sample: int
    outcome: str
    """`passed`, or the best submission's status; `no_submission`; `error`."""
    clean: bool
    scored: bool
    """False: the harness failed, and the episode counts for nothing."""
    statuses: tuple[str, ...] = ()
    """Of the submissions in order; empty where an earlier call finished the episode."""
    turns: int = 0
    reward: float | None = None
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Summary:
    """What came of a run so far."""

    folder: Path
    run_id: str
    total: int
    outcomes: tuple[Outcome, ...]
    """Of every finished episode, those of earlier calls included, in the order of the plan."""
    resumed: int
    """How many of them an earlier call finished."""
    interrupted: bool
    seconds: float

    @property
    def clean(self) -> int:
        return sum(o.clean for o in self.outcomes)

    @property
    def unscored(self) -> int:
        return sum(not o.scored for o in self.outcomes)

    @property
    def failed(self) -> int:
        """Episodes that ended without a clean pass, unscored ones included."""
        return len(self.outcomes) - self.clean

    @property
    def complete(self) -> bool:
        return len(self.outcomes) == self.total

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data."""
        return {
            "folder": str(self.folder),
            "run_id": self.run_id,
            "episodes": self.total,
            "finished": len(self.outcomes),
            "resumed": self.resumed,
            "clean": self.clean,
            "failed": self.failed,
            "unscored": self.unscored,
            "complete": self.complete,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "outcomes": [
                {"operator": o.operator, "sample": o.sample, "outcome": o.outcome, "clean": o.clean, "scored": o.scored}
                for o in self.outcomes
            ],
        }


class Run:
    """One run in its folder."""

    def __init__(self, config: RunConfig, folder: Path, *, engine: Engine, workers: int, progress: Progress) -> None:
        """
        Args:
            config: what is run.
            folder: where it is recorded; it is made if need be.
            engine: what verifies; it stays open.
            workers: episodes at once, at least 1.
            progress: hears what happens.

        Raises:
            ValueError: `workers` is out of range, or there is no such method.
        """
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        self.config, self.folder, self.workers = config, folder, workers
        self._engine, self._progress = engine, progress
        self._stop = Stop()
        self._abandoned = False
        self._lock = threading.Lock()
        self._outcomes: dict[tuple[str, int], Outcome] = {}
        get_policy(config.method, **config.settings)

    def carry_out(self) -> Summary:
        """Take up every episode that isn't finished, and wait for all of them.

        The first Ctrl-C lets the turns that have begun come to their end; a second one is raised.

        Raises:
            ConfigMismatch: the folder holds a run of another configuration.
            FileExistsError: the folder holds other things.
            FolderBusy: another process works on it.
            KeyboardInterrupt: interrupted twice.
            OSError: the disk is full or failing; what was recorded stays.
        """
        started = time.monotonic()
        with _claimed(self.folder), Recorder.open(self.folder, config=self.config.to_dict()) as recorder:
            episodes = plan(self.config)
            earlier = self._earlier(episodes)
            self._outcomes = {(o.operator, o.sample): o for o in earlier}
            waiting = [e for e in episodes if e.key not in self._outcomes]
            self._progress.start(len(episodes), earlier, self.workers)
            try:
                interrupted = carry_out(
                    waiting,
                    lambda take: self._work(take, recorder),
                    min(self.workers, max(1, len(waiting))),
                    self._stop,
                    self._progress.stopping,
                )
            except KeyboardInterrupt:
                self._abandoned = True
                raise
            finally:
                self._progress.close()
            return Summary(
                folder=self.folder,
                run_id=str(recorder.run["run_id"]),
                total=len(episodes),
                outcomes=tuple(self._outcomes[e.key] for e in episodes if e.key in self._outcomes),
                resumed=len(earlier),
                interrupted=interrupted,
                seconds=time.monotonic() - started,
            )

    def _earlier(self, episodes: tuple[Episode, ...]) -> tuple[Outcome, ...]:
        wanted = {e.key for e in episodes}
        found: dict[tuple[str, int], Outcome] = {}
        for row in finished_episodes(self.folder):
            key = (row.operator, row.sample or 0)
            if key in wanted and row.reward_valid:
                found[key] = Outcome(*key, outcome=row.outcome, clean=row.clean_pass, scored=True)
        return tuple(found[e.key] for e in episodes if e.key in found)

    def _work(self, take: Callable[[], Episode | None], recorder: Recorder) -> None:
        """The life of one worker thread."""
        policy = get_policy(self.config.method, **self.config.settings)
        env = self._environment(recorder)
        while (episode := take()) is not None:
            self._progress.begin(episode)
            started = time.monotonic()
            try:
                outcome = self._play(env, policy, episode, started)
            except OSError:
                raise
            except Exception:  # noqa: BLE001  # a bad episode is data, no reason to end the run
                if self._abandoned:
                    return
                self._log_error(episode)
                # The episode in progress is left to the recorder, which marks it as interrupted.
                env = self._environment(recorder)
                outcome = Outcome(*episode.key, FAILED, False, False, seconds=time.monotonic() - started)
            with self._lock:
                self._outcomes[episode.key] = outcome
            self._progress.end(episode, outcome)
        env.close()

    def _environment(self, recorder: Recorder) -> KernelEnv:
        config = self.config
        return KernelEnv(
            operators=config.operators,
            suite=config.suite,
            platform=config.platform,
            reward=config.reward,
            budgets=config.budgets,
            limits=config.limits,
            record=recorder,
            engine=self._engine,
        )

    def _play(self, env: KernelEnv, policy: Policy, episode: Episode, started: float) -> Outcome:
        watched = _Watched(env, self._stop, lambda turn, status: self._progress.step(episode, turn, status))
        about = {
            "sample": episode.sample,
            "samples": self.config.samples,
            "rounds": self.config.budgets.max_submissions,
            "early_stop": False,
        }
        played = rollout(watched, policy, operator=episode.operator, seed=episode.seed, record=about)
        return Outcome(
            *episode.key,
            outcome=played.outcome,
            clean=played.clean,
            scored=played.reward_valid,
            statuses=played.statuses,
            turns=played.steps,
            reward=played.reward,
            tokens=played.tokens,
            seconds=time.monotonic() - started,
        )

    def _log_error(self, episode: Episode) -> None:
        with self._lock, open(self.folder / ERRORS, "a", encoding="utf-8") as file:
            file.write(f"--- {episode}\n{traceback.format_exc()}\n")


class _Watched(gymnasium.Wrapper[ObservationDict, ActionDict, ObservationDict, ActionDict]):
    """Ends the episode between two turns when a stop is asked for, and tells what each turn came to."""

    def __init__(self, env: KernelEnv, stop: Stop, told: Callable[[int, str], None]) -> None:
        super().__init__(env)
        self._stop, self._told, self._turn = stop, told, 0

    def step(self, action: ActionDict) -> tuple[ObservationDict, Any, bool, bool, dict[str, Any]]:
        self._stop.check()
        result = self.env.step(action)
        self._turn += 1
        info = result[4]
        self._told(self._turn, info["verdict"].status.value if info["verdict"] is not None else info["action"])
        return result


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """One process at a time carries a run out: two would play the same episodes."""
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise FolderBusy(f"another process is carrying out the run in {folder}") from None
    try:
        yield
    finally:
        os.close(fd)
