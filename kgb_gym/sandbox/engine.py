"""The local engine: a few judges on this machine, fed from one queue.

Each judge is a long-lived trusted process; each verification forks fresh single-use processes from the warm templates.
A judge that dies or hangs gives a `harness_error` verdict and is replaced.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from kgb_gym.platforms import PLATFORMS, detect, get
from kgb_gym.sandbox.spawner import Channel, TemplateSpawner
from kgb_gym.sandbox.worker import harness_error
from kgb_gym.verdict import Verdict
from kgb_gym.verification import wire
from kgb_gym.verification.protocols import Job

START_S = 180.0
GRACE_S = 60.0


class EngineError(RuntimeError):
    """The engine's templates do not start; the message holds what they printed."""


class LocalEngine:
    """Verifies jobs on this machine (implements `protocols.Engine`).

    Args:
        workers: how many verifications run at once; default: half the cores, at least one.
        platform: `auto`, `cpu`, `nvidia`: decides how many threads an oracle may use.
    """

    def __init__(self, workers: int | None = None, platform: str = "auto") -> None:
        cores = os.cpu_count() or 1
        self.workers = max(1, workers if workers is not None else cores // 2)
        name = detect().name if platform == "auto" else platform
        self._threads = 1 if get(name).interpreted else max(1, cores // self.workers)
        self._jobs: queue.SimpleQueue[tuple[Job, Future[Verdict]] | None] = queue.SimpleQueue()
        self._closed = False
        self._lock = threading.Lock()
        self._root = tempfile.mkdtemp(prefix="kgb-gym-")
        self._templates: dict[str, _Template] = {}
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
        for template in self._templates.values():
            template.close()
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
            native, interpreter = (
                Channel(stack.enter_context(self._templates[m].add_channel())) for m in ("native", "interpreter")
            )
            yield TemplateSpawner(native, interpreter, root)

    def _start(self) -> None:
        for mode in ("native", "interpreter"):
            self._templates[mode] = _Template(mode, self._root)
        for number in range(self.workers):
            driver = threading.Thread(target=self._drive, name=f"kgb-judge-{number}", daemon=True)
            self._drivers.append(driver)
            driver.start()

    def _drive(self) -> None:
        judge: _Judge | None = None
        while True:
            item = self._jobs.get()
            if item is None:
                if judge is not None:
                    judge.close()
                return
            job, future = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                if judge is not None and not (judge.alive() and all(t.alive() for t in self._templates.values())):
                    judge.close()
                    judge = None
                    self._revive()
                if judge is None:
                    judge = _Judge(self._templates, self._root, self._threads)
                verdict = judge.ask(job)
            except Exception as error:  # noqa: BLE001 (a boundary: a future must always get its verdict)
                if judge is not None:
                    judge.close()
                    judge = None
                self._revive()
                verdict = harness_error(job, f"the judge did not answer: {type(error).__name__}: {error}")
            future.set_result(verdict)

    def _revive(self) -> None:
        """Replace templates that have died."""
        with self._lock:
            if self._closed:
                return
            os.makedirs(self._root, exist_ok=True)
            for mode, template in list(self._templates.items()):
                if not template.alive():
                    template.close()
                    self._templates[mode] = _Template(mode, self._root)


class _Template:
    def __init__(self, mode: str, root: str) -> None:
        self.mode = mode
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = open(Path(root) / f"template-{mode}.log", "wb+")  # noqa: SIM115 (held open as long as its owner lives)
        folder = tempfile.mkdtemp(prefix=f"{mode}-", dir=root)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kgb_gym.sandbox.template", mode, str(theirs.fileno()), folder],
            pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, cwd="/",
            env=_environment(mode), start_new_session=True,
        )  # fmt: skip
        theirs.close()
        self.sock = ours
        self.channel = Channel(ours)
        self._ready = False
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Until it is warm.

        Raises:
            EngineError: it has died or takes too long.
        """
        with self._lock:
            if self._ready:
                return
            poll = select.poll()
            poll.register(self.sock, select.POLLIN)
            data = self.sock.recv(1 << 16) if poll.poll(int(START_S * 1000)) else b""
            if not data:
                raise EngineError(f"the {self.mode} template did not start:\n{self.log()}")
            hello = json.loads(data)
            if hello.get("threads") != 1:
                raise EngineError(
                    f"the {self.mode} template runs {hello.get('threads')} threads and cannot fork safely"
                )
            self._ready = True

    def add_channel(self) -> socket.socket:
        """A new connection to this template; the returned end goes to a judge."""
        self.wait()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs, self._lock:
                socket.send_fds(self.sock, [json.dumps({"op": "channel"}).encode()], [theirs.fileno()])
        except OSError:
            ours.close()
            raise
        return ours

    def alive(self) -> bool:
        return self._process.poll() is None

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()[-4000:].decode("utf-8", "replace")

    def close(self) -> None:
        # Another thread may be waiting on the socket: closing alone would not wake it.
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        if not self._ready:
            self._process.kill()  # it imports, has no children yet, and would not hear
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


class _Judge:
    def __init__(self, templates: dict[str, _Template], root: str, threads: int) -> None:
        self._root = root
        with contextlib.ExitStack() as stack:
            channels = [stack.enter_context(templates[m].add_channel()) for m in ("native", "interpreter")]
            ours, theirs = socket.socketpair()
            stack.enter_context(theirs)
            log = stack.enter_context(open(Path(root) / f"judge-{id(self):x}.log", "wb"))
            self._home = templates["native"].channel
            try:
                self._number, self.pid = self._home.spawn(
                    "judge", {"root": root, "threads": threads},
                    [theirs.fileno(), log.fileno(), *(c.fileno() for c in channels)],
                )  # fmt: skip
            except BaseException:
                ours.close()
                raise
        self._sock = ours

    def ask(self, job: Job) -> Verdict:
        limit = job.limits.correctness_s + (job.limits.performance_s if job.timing else 0) + GRACE_S
        limit += job.limits.compile_s * len(job.targets)
        head: dict[str, Any] = {"job": {**replace(job, source=b"").to_dict()}}
        deadline = time.monotonic() + limit
        wire.send(self._sock, head, [job.source], deadline)
        answer, _ = wire.receive(self._sock, deadline=deadline)
        return Verdict.from_dict(answer["verdict"])

    def alive(self) -> bool:
        """Whether the other end of its socket is still held."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        self._home.kill(self._number, wait_s=5)
        for left in Path(self._root).glob(f"job-{self.pid}-*"):
            shutil.rmtree(left, ignore_errors=True)


def _environment(mode: str) -> dict[str, str]:
    keep = (
        "PATH", "LD_LIBRARY_PATH", "LANG", "HOME", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CC", "TMPDIR",
        "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", *(v for p in PLATFORMS.values() for v in p.visible),
    )  # fmt: skip
    out = {k: os.environ[k] for k in keep if k in os.environ}
    path = [str(Path(p or ".").resolve()) for p in sys.path if not p or Path(p).exists()]
    out.update(
        PYTHONPATH=os.pathsep.join(path), OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
        TRITON_DEFAULT_FP_FUSION="1", PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore",
    )  # fmt: skip
    if mode == "interpreter":
        out["TRITON_INTERPRET"] = "1"
    return out


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
