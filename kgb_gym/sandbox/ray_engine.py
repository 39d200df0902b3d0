"""The same verifications on a Ray cluster: each actor holds a local engine, on whatever node has room for it.

Jobs go to actors that are ready, verdicts come back as they are made. A job whose actor is lost with its node is queued
again, once; a second loss gives a `harness_error`. Every node needs this package in the version of the driver's. Not
covered: files that agents make beside their submissions, and leases across nodes (a GPU belongs to one of them).
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Self

from kgb_gym.platforms import detect
from kgb_gym.platforms import get as get_platform
from kgb_gym.sandbox.engine import LocalEngine
from kgb_gym.sandbox.processes import EngineError
from kgb_gym.sandbox.worker import harness_error
from kgb_gym.verdict import Verdict
from kgb_gym.verification.protocols import Job

SLOTS_PER_GPU = 4
"""Verifications at once on one GPU: while one is timed alone, the others record, compile and compute their oracles."""
RETRIES = 1
"""How often a job is queued again after its actor was lost."""
HIRES = 3
"""Actors in a row that fail to start before what is queued is given up."""


class Host:
    """What runs in an actor: a local engine on the actor's node."""

    def __init__(self, slots: int, platform: str) -> None:
        self._engine = LocalEngine(workers=slots, platform=platform)

    def ready(self) -> str:
        """Warm up; gives the node's id.

        Raises:
            EngineError: the templates do not start there.
        """
        import ray

        self._engine.start()
        node: str = ray.get_runtime_context().get_node_id()
        return node

    def verify(self, job: Job) -> Verdict:
        """The verdict on one job."""
        return self._engine.submit(job).result()

    def close(self) -> None:
        """End its processes."""
        self._engine.close()


@dataclass(eq=False)
class _Task:
    job: Job
    future: Future[Verdict]
    losses: int = 0


@dataclass(eq=False)
class _Actor:
    handle: Any
    node: str = ""
    """Where it is; empty until it is ready."""
    tasks: list[_Task] = field(default_factory=list)


class RayEngine:
    """Verifies jobs on a Ray cluster (implements `protocols.Engine`).

    Connects to the cluster that `RAY_ADDRESS` names, to one that runs on this machine, or starts one here.

    Args:
        workers: verifications at once in all.
        platform: `auto` (what this machine has), `cpu`, `nvidia`.
        slots: verifications at once in one actor, which takes as many of the cluster's CPUs and, on NVIDIA, one GPU;
            default: 4 on NVIDIA, 1 on the CPU.

    Raises:
        EngineError: Ray is not installed (`pip install 'kgb-gym[ray]'`), or no cluster can be reached.
        ValueError: a number is out of range.
    """

    def __init__(self, workers: int, platform: str = "auto", *, slots: int | None = None) -> None:
        where = detect() if platform == "auto" else get_platform(platform)
        self.slots = slots if slots is not None else SLOTS_PER_GPU if where.timed else 1
        if workers < 1 or self.slots < 1:
            raise ValueError(f"workers and slots must be at least 1, got {workers} and {self.slots}")
        self.workers = workers
        self.requeued = 0
        """Jobs that were queued again because their actor was lost."""
        self._ray, self._owns = _connected()
        self._platform = where
        self._queue: deque[_Task] = deque()
        self._actors: list[_Actor] = []
        self._failures = 0
        self._lock = threading.Lock()
        self._closed = False
        self._events: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._dispatch, name="kgb-ray", daemon=True)
        self._thread.start()
        for _ in range(-(-workers // self.slots)):
            self._events.put(self._hire)

    def submit(self, job: Job) -> Future[Verdict]:
        """Queue a job. The future always gives a verdict."""
        task = _Task(job, Future())
        with self._lock:
            if self._closed:
                task.future.set_result(harness_error(job, "the engine is closed"))
            else:
                self._events.put(lambda: self._add(task))
        return task.future

    def nodes(self) -> tuple[str, ...]:
        """Ids of the nodes on which actors are ready, one for each actor."""
        return tuple(a.node for a in list(self._actors) if a.node)

    def close(self) -> None:
        """End every actor, and the cluster if it was started here. Pending futures get a `harness_error` verdict."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._events.put(None)
        self._thread.join()
        for task in (*self._queue, *(t for a in self._actors for t in a.tasks)):
            _tell(task, harness_error(task.job, "the engine was closed before the job ended"))
        with contextlib.suppress(Exception):  # a cluster that is gone ends nothing more
            ended = [a.handle.close.remote() for a in self._actors if a.node]
            self._ray.wait(ended, num_returns=len(ended), timeout=15) if ended else None
        for actor in self._actors:
            self._dismiss(actor)
        if self._owns:
            self._ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _dispatch(self) -> None:
        """The only thread that touches queue and actors."""
        while (event := self._events.get()) is not None:
            event()

    def _hire(self) -> None:
        gpus = 1 if self._platform.timed else 0
        kind = self._ray.remote(Host).options(num_cpus=self.slots, num_gpus=gpus, max_concurrency=self.slots + 2)
        actor = _Actor(kind.remote(self.slots, self._platform.name))
        self._actors.append(actor)
        self._when(actor.handle.ready.remote(), lambda done: self._started(actor, done))

    def _started(self, actor: _Actor, done: Future[str]) -> None:
        error = done.exception()
        if error is None:
            self._failures = 0
            actor.node = done.result()
            self._assign()
            return
        self._failures += 1
        self._remove(actor)
        if self._failures < HIRES:
            self._hire()
        elif not self._actors:
            self._give_up(f"no actor starts on the cluster: {type(error).__name__}: {error}")

    def _add(self, task: _Task) -> None:
        self._queue.append(task)
        if not self._actors:
            self._hire()
        self._assign()

    def _assign(self) -> None:
        """Give what is queued to actors that are ready and have room, the least busy first."""
        while self._queue:
            free = [a for a in self._actors if a.node and len(a.tasks) < self.slots]
            if not free:
                return
            task, actor = self._queue.popleft(), min(free, key=lambda a: len(a.tasks))
            if not task.losses and not task.future.set_running_or_notify_cancel():
                continue
            actor.tasks.append(task)
            done = actor.handle.verify.remote(task.job)
            self._when(done, lambda done, actor=actor, task=task: self._ended(actor, task, done))  # type: ignore[misc]

    def _ended(self, actor: _Actor, task: _Task, done: Future[Verdict]) -> None:
        if task not in actor.tasks:
            return
        error = done.exception()
        if isinstance(error, self._ray.exceptions.RayError) and not isinstance(
            error, self._ray.exceptions.RayTaskError
        ):
            self._lose(actor, f"{type(error).__name__}: {error}")
        else:
            actor.tasks.remove(task)
            told = done.result() if error is None else harness_error(task.job, f"{type(error).__name__}: {error}")
            _tell(task, told)
        self._assign()

    def _lose(self, actor: _Actor, why: str) -> None:
        """An actor is gone: queue what it had once more, first of all, and have another one hired."""
        tasks, actor.tasks = actor.tasks, []
        self._remove(actor)
        for task in reversed(tasks):
            task.losses += 1
            if task.losses > RETRIES:
                _tell(task, harness_error(task.job, f"the worker was lost {task.losses} times, lastly: {why}"))
            else:
                self.requeued += 1
                self._queue.appendleft(task)
        self._hire()

    def _remove(self, actor: _Actor) -> None:
        if actor in self._actors:
            self._actors.remove(actor)
        self._dismiss(actor)

    def _dismiss(self, actor: _Actor) -> None:
        with contextlib.suppress(Exception):  # it is dead, or its node is
            self._ray.kill(actor.handle, no_restart=True)

    def _give_up(self, why: str) -> None:
        while self._queue:
            task = self._queue.popleft()
            _tell(task, harness_error(task.job, why))
        self._failures = 0

    def _when(self, reference: Any, then: Callable[[Future[Any]], None]) -> None:
        """Have `then` called by the dispatching thread once a result is there."""
        reference.future().add_done_callback(lambda done: self._events.put(lambda: then(done)))


def _tell(task: _Task, verdict: Verdict) -> None:
    if not task.future.done():
        task.future.set_result(verdict)


def _connected() -> tuple[Any, bool]:
    """Ray, connected; and whether the connection was made here."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise EngineError(f"{error}: pip install 'kgb-gym[ray]'") from error
    if ray.is_initialized():
        return ray, False
    try:
        ray.init(log_to_driver=False, logging_level="ERROR", configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise EngineError(f"no Ray cluster: {error}") from error
    return ray, True
