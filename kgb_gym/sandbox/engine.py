"""The local engine: a few judges on this machine, fed from one queue.

Each judge is a long-lived trusted process; each verification uses fresh processes, forked from warm templates ahead of
need and never used twice. A judge that dies or hangs gives a `harness_error` verdict and is replaced. Templates, and
the judges with them, are re-made once they have served long enough; the work goes on meanwhile.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Self

import psutil

from kgb_gym.platforms import detect
from kgb_gym.platforms import get as get_platform
from kgb_gym.sandbox import pool
from kgb_gym.sandbox.devices import lock_name, visible
from kgb_gym.sandbox.processes import EngineError, Judge, Template
from kgb_gym.sandbox.spawner import Channel, TemplateSpawner
from kgb_gym.sandbox.worker import harness_error
from kgb_gym.verdict import Verdict
from kgb_gym.verification.protocols import Job

__all__ = ["EngineError", "LocalEngine", "shared_engine"]

MODES = ("native", "interpreter")


class LocalEngine:
    """Verifies jobs on this machine (implements `protocols.Engine`).

    Args:
        workers: how many verifications run at once; default: half the cores, at least one. Where there are several
            GPUs, they take turns among the workers.
        platform: `auto`, `cpu`, `nvidia`: decides how many threads an oracle may use, and what is forked ahead.
        ahead: whether processes are forked ahead of need, as many as memory allows.
        renew_jobs: after so many verifications the templates are re-made.
        renew_s: after so many seconds, too.

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(
        self, workers: int | None = None, platform: str = "auto", *, ahead: bool = True, renew_jobs: int = 2000,
        renew_s: float = 6 * 3600.0,
    ) -> None:  # fmt: skip
        cores = os.cpu_count() or 1
        if renew_jobs < 1 or not renew_s > 0:
            raise ValueError(f"renew_jobs and renew_s must be positive, got {renew_jobs} and {renew_s}")
        self.workers = max(1, workers if workers is not None else cores // 2)
        where = detect() if platform == "auto" else get_platform(platform)
        self._threads = 1 if where.interpreted else max(1, cores // self.workers)
        self._devices = visible()
        self._wants: dict[str, tuple[pool.Want, ...]] = {}
        if ahead and where.device in pool.HOST_BYTES:
            self._wants = pool.sizes(
                self.workers, interpreted=where.interpreted, visible=[d.uuid for d in self._devices[: self.workers]],
                host_free=psutil.virtual_memory().available,
                device_free=min((d.free_bytes for d in self._devices if d.free_bytes), default=None),
            )  # fmt: skip
        self._renew_jobs, self._renew_s = renew_jobs, renew_s
        self._jobs: queue.SimpleQueue[tuple[Job, Future[Verdict]] | None] = queue.SimpleQueue()
        self._closed = False
        self._lock = threading.Lock()
        self._root = tempfile.mkdtemp(prefix="kgb-gym-")
        self._templates: dict[str, Template] = {}
        self._coming: dict[str, Template] = {}
        self._retired: list[Template] = []
        self._judges: dict[int, Judge] = {}
        self._served, self._born = 0, 0.0
        self._renewal: threading.Thread | None = None
        self._drivers: list[threading.Thread] = []
        atexit.register(self.close)

    def submit(self, job: Job) -> Future[Verdict]:
        """Queue a job. The future always gives a verdict."""
        future: Future[Verdict] = Future()
        with self._lock:
            if self._closed:
                future.set_result(harness_error(job, "the engine is closed"))
                return future
            if not self._drivers:
                self._start()
            self._jobs.put((job, future))
        return future

    def start(self) -> None:
        """Start templates and judges now and wait until they are ready; `submit` does so at first use."""
        with self._lock:
            if not self._drivers and not self._closed:
                self._start()
        for template in self._templates.values():
            template.wait()

    def close(self) -> None:
        """End every process and remove every temporary file. May be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for _ in self._drivers:
            self._jobs.put(None)
        for template in (*self._templates.values(), *self._coming.values(), *self._retired):
            template.close()
        if self._renewal is not None:
            self._renewal.join(5)
        for driver in self._drivers:
            if driver is not threading.current_thread():
                driver.join(5)
        with contextlib.suppress(queue.Empty):
            while True:
                item = self._jobs.get_nowait()
                if item is not None and item[1].set_running_or_notify_cancel():
                    item[1].set_result(harness_error(item[0], "the engine was closed before the job ran"))
        shutil.rmtree(self._root, ignore_errors=True)
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextlib.contextmanager
    def spawner(self) -> Iterator[TemplateSpawner]:
        """The processes of this engine for a judge that runs in the calling process (`verification.judge.verify`)."""
        self.start()
        root = tempfile.mkdtemp(prefix="job-", dir=self._root)
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, root, ignore_errors=True)
            native, interpreter = (Channel(stack.enter_context(self._templates[m].add_channel())) for m in MODES)
            device = self._devices[0]
            spawner = TemplateSpawner(native, interpreter, root, lock_name(device), device.uuid)
            stack.callback(spawner.settle)
            yield spawner

    def waiting(self) -> set[int]:
        """Processes that were forked ahead and wait for a submission."""
        found: set[int] = set()
        for template in list(self._templates.values()):
            with contextlib.suppress(OSError, EngineError), template.add_channel() as sock:
                found.update(Channel(sock).waiting())
        return found

    def _made(self, mode: str) -> Template:
        return Template(mode, self._root, self._wants.get(mode, ()))

    def _start(self) -> None:
        self._templates = {mode: self._made(mode) for mode in MODES}
        self._born = time.monotonic()
        for number in range(self.workers):
            driver = threading.Thread(target=self._drive, args=(number,), name=f"kgb-judge-{number}", daemon=True)
            self._drivers.append(driver)
            driver.start()

    def _drive(self, number: int) -> None:
        """The life of the thread that keeps one judge busy."""
        while (item := self._jobs.get()) is not None:
            job, future = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                verdict = self._judge(number).ask(job)
            except Exception as error:  # noqa: BLE001 (a boundary: a future must always get its verdict)
                self._dismiss(number)
                self._revive()
                verdict = harness_error(job, f"the judge did not answer: {type(error).__name__}: {error}")
            future.set_result(verdict)
            self._count()
        self._dismiss(number)

    def _judge(self, number: int) -> Judge:
        """The thread's judge, or a new one where it, or a template, has died or is of an earlier generation."""
        judge = self._judges.get(number)
        if judge is not None:
            if not all(t.alive() for t in self._templates.values()):
                self._revive()
            if judge.templates is self._templates and judge.alive():
                return judge
            self._dismiss(number)
            self._revive()
        device = self._devices[number % len(self._devices)]
        judge = self._judges[number] = Judge(self._templates, self._root, self._threads, device)
        return judge

    def _dismiss(self, number: int) -> None:
        judge = self._judges.pop(number, None)
        if judge is not None:
            judge.close()
        with self._lock:
            used = [t for j in list(self._judges.values()) for t in j.templates.values()]
            over = [t for t in self._retired if t not in used]
            self._retired = [t for t in self._retired if t in used]
        for template in over:
            template.close()

    def _revive(self) -> None:
        """Replace templates that have died; judges of the others' generation are replaced before their next job."""
        with self._lock:
            dead = [mode for mode, template in self._templates.items() if not template.alive()]
            if self._closed or not dead:
                return
            os.makedirs(self._root, exist_ok=True)
            self._retired += [self._templates[mode] for mode in dead]
            self._templates = {m: self._made(m) if m in dead else t for m, t in self._templates.items()}

    def _count(self) -> None:
        """One more verification is done; begin to renew the templates when that is due."""
        with self._lock:
            self._served += 1
            due = self._served >= self._renew_jobs or time.monotonic() - self._born >= self._renew_s
            if not due or self._closed or self._renewal is not None:
                return
            self._coming = {mode: self._made(mode) for mode in MODES}
            self._renewal = threading.Thread(target=self._renew, name="kgb-renewal", daemon=True)
            self._renewal.start()

    def _renew(self) -> None:
        """Put warm new templates in the place of the old ones, which end with the last judge that uses them."""
        ready = True
        for template in self._coming.values():
            try:
                template.wait()
            except (EngineError, OSError, ValueError):
                ready = False  # the old ones go on, and it is tried again when it is due again
        with self._lock:
            if ready and not self._closed:
                self._retired += self._templates.values()
                self._templates = self._coming
            elif not self._closed:
                self._retired += self._coming.values()
            self._coming, self._renewal = {}, None
            self._served, self._born = 0, time.monotonic()


_shared: dict[tuple[int, str], LocalEngine] = {}
_shared_lock = threading.Lock()


def shared_engine(platform: str = "auto") -> LocalEngine:
    """The engine that environments of this process share unless they are given one; made at first use, closed at exit.
    A forked child gets its own."""
    name = detect().name if platform == "auto" else platform
    with _shared_lock:
        key = (os.getpid(), name)
        engine = _shared.get(key)
        if engine is None or engine._closed:
            engine = _shared[key] = LocalEngine(platform=name)
        return engine
