"""The judge's end of a template: spawn a confined process, talk to it, watch its memory and output, end it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgb_gym.platforms import get as get_platform
from kgb_gym.sandbox.fences import INTERPRETED
from kgb_gym.sandbox.leases import Leases
from kgb_gym.verification import wire
from kgb_gym.verification.protocols import Ended, Limits

TICK_S = 0.05


@dataclass(frozen=True)
class Spawned:
    """A child of a template."""

    number: int
    """The channel's number for it."""
    pid: int
    scratch: str | None
    """Its scratch folder, where it came with one of its own."""


class Channel:
    """A connection to one template; used by one thread at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._next = 0
        self._ended: dict[int, int] = {}
        self._lock = threading.Lock()

    def spawn(self, role: str, config: Mapping[str, Any], fds: list[int]) -> Spawned:
        """Fork one child with these descriptors (message socket, log, further ones), or take one that waits.

        Raises:
            OSError: the template is gone or cannot fork.
        """
        answer = self._ask({"op": "spawn", "role": role, "config": dict(config)}, fds)
        if "pid" not in answer:
            raise OSError(answer.get("failed", "the template could not fork"))
        return Spawned(answer["id"], answer["pid"], answer.get("scratch"))

    def waiting(self) -> list[int]:
        """Processes that the template has forked ahead and that wait.

        Raises:
            OSError: the template is gone.
        """
        return list(self._ask({"op": "pool"}, [])["waiting"])

    def _ask(self, order: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        with self._lock:
            number = self._next = self._next + 1
            socket.send_fds(self._sock, [json.dumps({**order, "id": number}).encode()], fds)
            while True:
                answer = self._read()
                if answer["id"] == number:
                    return answer

    def kill(self, number: int, wait_s: float = 10.0) -> int | None:
        """Kill a child's tree and return its exit status (minus the signal's number); None if it is not known in time."""
        with self._lock:
            if number not in self._ended:
                self._order_kill(number)
            until = time.monotonic() + wait_s
            while number not in self._ended and time.monotonic() < until and self._sock.fileno() >= 0:
                poll = select.poll()
                poll.register(self._sock, select.POLLIN)
                if poll.poll(max(1, int((until - time.monotonic()) * 1000))):
                    try:
                        self._read()
                    except OSError:
                        return None
            return self._ended.pop(number, None)

    def kill_soon(self, number: int) -> None:
        """Have a child's tree killed, without waiting for it."""
        with self._lock:
            self._order_kill(number)

    def _order_kill(self, number: int) -> None:
        with contextlib.suppress(OSError):
            self._sock.send(json.dumps({"op": "kill", "id": number}).encode())

    def _read(self) -> dict[str, Any]:
        data = self._sock.recv(1 << 16)
        if not data:
            raise OSError("the template is gone")
        answer: dict[str, Any] = json.loads(data)
        if "ended" in answer:
            self._ended[answer["id"]] = answer["ended"]
        return answer


class Sandboxed:
    """One single-use confined process (implements `protocols.Process`)."""

    def __init__(
        self, channel: Channel, role: str, operator: str, device: str, limits: Limits, root: str, visible: str = ""
    ) -> None:  # fmt: skip
        self._channel = channel
        self._limits = limits
        self.scratch = tempfile.mkdtemp(prefix=f"{role}-", dir=root)
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        config = {
            "operator": operator, "visible": visible,
            "device": device, "scratch": self.scratch, "memory_bytes": limits.memory_bytes,
            "cpu_s": int(limits.correctness_s + limits.performance_s) + 60,
        }  # fmt: skip
        try:
            child = channel.spawn(role, config, [theirs.fileno(), write])
        except OSError:
            ours.close()
            os.close(read)
            shutil.rmtree(self.scratch, ignore_errors=True)
            raise
        finally:
            theirs.close()
            os.close(write)
        self._number, self.pid = child.number, child.pid
        if child.scratch is not None:
            os.rmdir(self.scratch)
            self.scratch = child.scratch
        self._sock = ours
        self._kept = bytearray()
        self._dropped = 0
        self._out_of_memory = False
        self._ended: Ended | None = None
        self._ending = threading.Lock()
        self._base = _resident(self.pid)
        self._watcher = threading.Thread(target=self._watch, args=(read,), daemon=True)
        self._watcher.start()

    def ask(self, head: dict[str, Any], blobs: Any = (), *, deadline: float, max_blobs: int = 1 << 40) -> Any:
        wire.send(self._sock, head, blobs, deadline)
        return wire.receive(self._sock, deadline=deadline, max_blobs=max_blobs)

    def end(self) -> Ended:
        with self._ending:
            if self._ended is None:
                # A process that is about to end by itself gets a moment, so that its own status is the one reported.
                self._sock.close()
                status = self._settle()
                self._watcher.join(5)
                shutil.rmtree(self.scratch, ignore_errors=True)
                log = bytes(self._kept).decode("utf-8", "backslashreplace")
                self._ended = Ended(status, self._out_of_memory, log, self._dropped)
            return self._ended

    def leave(self) -> None:
        with self._ending:
            if self._ended is None:
                self._channel.kill_soon(self._number)

    def _settle(self) -> int | None:
        until = time.monotonic() + 0.02
        while time.monotonic() < until and _state(self.pid) not in {"Z", ""}:
            time.sleep(0.001)
        return self._channel.kill(self._number)

    def _watch(self, read: int) -> None:
        poll = select.poll()
        poll.register(read, select.POLLIN)
        checked = 0.0
        while True:
            events = poll.poll(int(TICK_S * 1000))
            if events:
                data = os.read(read, 1 << 16)
                if not data:
                    break
                room = self._limits.output_bytes - len(self._kept)
                self._kept += data[: max(0, room)]
                self._dropped += max(0, len(data) - max(0, room))
            now = time.monotonic()
            if now - checked >= TICK_S:
                checked = now
                if _resident(self.pid) - self._base > self._limits.memory_bytes:
                    self._out_of_memory = True
                    with contextlib.suppress(OSError):
                        os.kill(self.pid, 9)
        os.close(read)


class TemplateSpawner:
    """Implements `protocols.Spawner` over two templates.

    Args:
        native: channel to the native template.
        interpreter: channel to the interpreter's template.
        root: folder for scratch folders.
        device: name of the device among the leases.
        visible: UUID of the GPU that is used; empty: whichever CUDA takes.
    """

    def __init__(
        self, native: Channel, interpreter: Channel, root: str, device: str = "gpu-0", visible: str = ""
    ) -> None:
        self._native = native
        self._interpreter = interpreter
        self._root = root
        self._device, self.visible = device, visible
        self._started: list[Sandboxed] = []

    def spawn(self, role: str, *, operator: str, platform: str, limits: Limits) -> Sandboxed:
        where = get_platform(platform)
        channel = self._interpreter if role in INTERPRETED and where.interpreted else self._native
        visible = self.visible if where.device == "cuda" else ""
        started = Sandboxed(channel, role, operator, where.device, limits, self._root, visible)
        self._started.append(started)
        return started

    def settle(self) -> None:
        while self._started:
            self._started.pop().end()

    def lease(self, platform: str, *, exclusive: bool) -> contextlib.AbstractContextManager[None]:
        """The device among all processes of this machine (see `leases`)."""
        if not get_platform(platform).timed:
            return contextlib.nullcontext()
        return Leases().hold(self._device, exclusive=exclusive)


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
