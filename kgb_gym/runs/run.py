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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium

from kgb_gym.baselines import Policy, get_policy, rollout
from kgb_gym.baselines.models.errors import Hopeless, ModelUnavailable
from kgb_gym.datasets.recorder import Recorder
from kgb_gym.datasets.store import finished_episodes, load
from kgb_gym.envs.actions import ActionDict
from kgb_gym.envs.env import KernelEnv
from kgb_gym.envs.observation import ObservationDict
from kgb_gym.runs.config import RunConfig
from kgb_gym.runs.outcome import FAILED, Outcome, Summary
from kgb_gym.runs.plan import Episode, plan
from kgb_gym.runs.progress import Progress
from kgb_gym.runs.schedule import Stop, Waiting, carry_out
from kgb_gym.runs.spending import Account
from kgb_gym.verification.protocols import Engine

LOCK = ".run.lock"
ERRORS = "errors.log"
GIVE_UP = 5
"""Episodes in a row without an answer of the model's server after which the run ends: it can be gone on with later."""


class FolderBusy(RuntimeError):
    """Another process is carrying out the run of this folder."""


class Run:
    """One run in its folder."""

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        *,
        engine: Engine,
        workers: int,
        progress: Progress,
        policies: Callable[[], Policy] | None = None,
        account: Account | None = None,
    ) -> None:
        """
        Args:
            config: what is run.
            folder: where it is recorded; it is made if need be.
            engine: what verifies; it stays open.
            workers: episodes at once, at least 1.
            progress: hears what happens.
            policies: makes a policy of the configured method for a worker; by default one that needs nothing.
            account: limits what the run may use in all.

        Raises:
            ValueError: `workers` is out of range, or there is no such policy.
        """
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        self.config, self.folder, self.workers = config, folder, workers
        self._engine, self._progress = engine, progress
        self._stop = Stop()
        self._abandoned = False
        self._lock = threading.Lock()
        self._outcomes: dict[tuple[str, int], Outcome] = {}
        self._account = account or Account()
        self._waiting = Waiting(())
        self._playing: set[Policy] = set()
        self._total = 0
        self._stopped, self._unanswered = "", 0
        if policies is None:
            get_policy(config.method, **config.settings)
        self._policies = policies or (lambda: get_policy(config.method, **config.settings))

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
            self._account.begin(load(self.folder).episodes.to_pylist())
            enough = {o.operator for o in earlier if o.clean and self.config.early_stop}
            left = [e for e in episodes if e.key not in self._outcomes]
            waiting = [e for e in left if e.operator not in enough]
            self._waiting = Waiting(waiting, in_turn=self.config.early_stop)
            self._total = len(episodes) - len(left) + len(waiting)
            self._progress.start(self._total, earlier, self.workers)
            self._check_budget()
            try:
                interrupted = carry_out(
                    self._waiting,
                    lambda take: self._work(take, recorder),
                    min(self.workers, max(1, len(waiting))),
                    self._stop,
                    self._interrupted,
                )
            except KeyboardInterrupt:
                self._abandoned = True
                raise
            finally:
                self._progress.close()
            return Summary(
                folder=self.folder,
                run_id=str(recorder.run["run_id"]),
                total=self._total,
                outcomes=tuple(self._outcomes[e.key] for e in episodes if e.key in self._outcomes),
                resumed=len(earlier),
                interrupted=interrupted,
                seconds=time.monotonic() - started,
                stopped=self._stopped,
                tokens=self._account.tokens,
                usd=self._account.usd,
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
        policy = self._policies()
        with self._lock:
            self._playing.add(policy)
        env = self._environment(recorder)
        while (episode := take()) is not None:
            self._progress.begin(episode)
            started = time.monotonic()
            try:
                outcome = self._play(env, policy, episode, started)
            except (OSError, Hopeless):
                raise
            except Exception as error:  # noqa: BLE001  # a bad episode is data, no reason to end the run
                if self._abandoned:
                    return
                self._log_error(episode)
                if self._stop.asked:
                    return  # what was in work was ended from outside
                # The episode in progress is left to the recorder, which marks it as interrupted.
                env = self._environment(recorder)
                said = " ".join(f"{type(error).__name__}: {error}".split())
                outcome = Outcome(*episode.key, FAILED, False, False, seconds=time.monotonic() - started, error=said)
                self._count_unanswered(isinstance(error, ModelUnavailable))
            else:
                self._count_unanswered(False)
            with self._lock:
                self._outcomes[episode.key] = outcome
            self._progress.end(episode, outcome)
            if needless := self._waiting.done(episode, enough=self.config.early_stop and outcome.clean):
                with self._lock:
                    self._total -= needless
                self._progress.skip(needless)
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
            prompt=config.prompt,
            targets=config.targets,
            record=recorder,
            engine=self._engine,
        )

    def _play(self, env: KernelEnv, policy: Policy, episode: Episode, started: float) -> Outcome:
        watched = _Watched(
            env, self._stop, lambda turn, status: self._progress.step(episode, turn, status), self._charge
        )
        about = {
            "sample": episode.sample,
            "samples": self.config.samples,
            "rounds": self.config.budgets.max_submissions,
            "early_stop": self.config.early_stop,
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

    def _charge(self, tokens: int, usage: Mapping[str, int]) -> None:
        self._account.add(tokens, usage)
        self._check_budget()

    def _check_budget(self) -> None:
        if reason := self._account.over():
            self._end(reason)

    def _count_unanswered(self, unanswered: bool) -> None:
        with self._lock:
            self._unanswered = self._unanswered + 1 if unanswered else 0
        if self._unanswered >= GIVE_UP:
            self._end(f"the model's server gave no answer to {GIVE_UP} episodes in a row")

    def _end(self, reason: str) -> None:
        """Begin nothing more."""
        self._stopped = self._stopped or reason
        self._stop.ask()
        self._close_policies()

    def _interrupted(self) -> None:
        self._progress.stopping()
        self._close_policies()

    def _close_policies(self) -> None:
        """An agent may work for half an hour without a turn: what it waits for is ended."""
        with self._lock:
            playing = list(self._playing)
        for policy in playing:
            policy.close()

    def _log_error(self, episode: Episode) -> None:
        with self._lock, open(self.folder / ERRORS, "a", encoding="utf-8") as file:
            file.write(f"--- {episode}\n{traceback.format_exc()}\n")


class _Watched(gymnasium.Wrapper[ObservationDict, ActionDict, ObservationDict, ActionDict]):
    """Ends the episode between two turns when a stop is asked for, and tells what each turn came to."""

    def __init__(
        self,
        env: KernelEnv,
        stop: Stop,
        told: Callable[[int, str], None],
        charge: Callable[[int, Mapping[str, int]], None],
    ) -> None:
        super().__init__(env)
        self._stop, self._told, self._charge, self._turn = stop, told, charge, 0

    def step(self, action: ActionDict) -> tuple[ObservationDict, Any, bool, bool, dict[str, Any]]:
        self._stop.check()
        result = self.env.step(action)
        self._turn += 1
        info = result[4]
        self._charge(info["tokens"], action["usage"])
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
