"""The engine's end of its processes: templates, which only fork, and judges, which are forked by them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgb_gym.platforms import PLATFORMS
from kgb_gym.platforms import get as get_platform
from kgb_gym.sandbox.devices import lock_name
from kgb_gym.sandbox.pool import Want, plain
from kgb_gym.sandbox.spawner import Channel
from kgb_gym.verdict import Verdict
from kgb_gym.verification import wire
from kgb_gym.verification.gauge import Device
from kgb_gym.verification.protocols import Job

START_S = 180.0
GRACE_S = 60.0
LEASES_S = 1200.0
"""How much longer a judge may take where others may have the device alone for their timings."""


class EngineError(RuntimeError):
    """The engine's templates do not start; the message holds what they printed."""


SPINS = "1000"
"""How often an idle thread of an operation looks for work before it sleeps: by default for milliseconds, in which it has
a core that the player or another thread of the judge could use."""


class Template:
    """A template's process, and what it printed.

    Args:
        mode: `native` or `interpreter`.
        root: the engine's folder.
        wants: what it shall fork ahead.
    """

    def __init__(self, mode: str, root: str, wants: Sequence[Want] = ()) -> None:
        self.mode = mode
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = tempfile.mkdtemp(prefix=f"{mode}-", dir=root)
        self._log = open(f"{folder}.log", "wb+")  # noqa: SIM115 (held open as long as its owner lives)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kgb_gym.sandbox.template", mode, str(theirs.fileno()), folder, plain(wants)],
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
        """Whether its process runs."""
        return self._process.poll() is None

    def log(self) -> str:
        """The end of what it printed."""
        self._log.seek(0)
        return self._log.read()[-4000:].decode("utf-8", "replace")

    def close(self) -> None:
        """End it with all its children. May be called twice."""
        with contextlib.suppress(OSError):
            self.sock.send(json.dumps({"op": "retire"}).encode())
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
        if not self._log.closed:
            self._log.close()


class Judge:
    """A judge's process.

    Args:
        templates: by mode; they must outlive it.
        root: the engine's folder.
        threads: how many its oracle may use.
        device: what it plays on.
    """

    def __init__(self, templates: Mapping[str, Template], root: str, threads: int, device: Device) -> None:
        self._root, self.templates = root, templates
        with contextlib.ExitStack() as stack:
            channels = [stack.enter_context(templates[m].add_channel()) for m in ("native", "interpreter")]
            ours, theirs = socket.socketpair()
            stack.enter_context(theirs)
            log = stack.enter_context(open(Path(root) / f"judge-{id(self):x}.log", "wb"))
            self._home = templates["native"].channel
            try:
                child = self._home.spawn(
                    "judge",
                    {"root": root, "threads": threads, "device": lock_name(device), "visible": device.uuid},
                    [theirs.fileno(), log.fileno(), *(c.fileno() for c in channels)],
                )
            except BaseException:
                ours.close()
                raise
        self._number, self.pid = child.number, child.pid
        self._sock = ours

    def ask(self, job: Job) -> Verdict:
        """Its verdict.

        Raises:
            wire.Closed: it has died.
            wire.Late: it hangs.
        """
        limit = job.limits.correctness_s + (job.limits.performance_s if job.timing else 0) + GRACE_S
        limit += job.limits.compile_s * len(job.targets)
        if get_platform(job.platform).timed:
            limit += LEASES_S
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
        """End it, and remove what it left."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        self._home.kill(self._number, wait_s=5)
        for left in Path(self._root).glob(f"job-{self.pid}-*"):
            shutil.rmtree(left, ignore_errors=True)


def _environment(mode: str) -> dict[str, str]:
    keep = (
        "PATH", "LD_LIBRARY_PATH", "LANG", "HOME", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CC", "TMPDIR",
        "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "KGB_LOCK_DIR", *(v for p in PLATFORMS.values() for v in p.visible),
    )  # fmt: skip
    out = {k: os.environ[k] for k in keep if k in os.environ}
    path = [str(Path(p or ".").resolve()) for p in sys.path if not p or Path(p).exists()]
    out.update(
        PYTHONPATH=os.pathsep.join(path), OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
        TRITON_DEFAULT_FP_FUSION="1", PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore", GOMP_SPINCOUNT=SPINS,
    )  # fmt: skip
    if mode == "interpreter":
        out["TRITON_INTERPRET"] = "1"
    return out
