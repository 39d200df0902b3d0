"""Children of one template that were forked ahead of need, each for one role on one device.

How many wait is a matter of memory (`sizes`); each is handed out once. One that dies while it waits is replaced, after
a pause that doubles with every death in a row, so that a device which is gone costs little.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PAUSE_S, LONGEST_PAUSE_S = 0.5, 60.0
HOST_SHARE, DEVICE_SHARE = 0.25, 0.25
"""How much of the free memory the children that wait may hold."""
HOST_BYTES = {"cpu": 48 << 20, "cuda": 512 << 20}
"""What one that waits may come to hold of its own, an upper estimate (`benchmarks.performance start` measures it while it
only waits: 5 MiB on the CPU, 126 MiB with a CUDA context on an H200)."""
DEVICE_BYTES = 600 << 20
"""What a CUDA context may hold of the GPU's memory, an upper estimate."""


@dataclass(frozen=True)
class Want:
    """So many children of one kind are wanted."""

    role: str
    device: str
    """`cpu` or `cuda`."""
    visible: str
    """UUID of the GPU; empty: whichever CUDA takes."""
    count: int


@dataclass(frozen=True)
class Waiting:
    """One child that waits."""

    want: Want
    pid: int
    control: socket.socket
    scratch: str


class Pool:
    """What waits under one template; used by its only thread.

    Args:
        wants: what is to wait.
        root: folder for scratch folders.
    """

    def __init__(self, wants: Sequence[Want], root: str) -> None:
        self._wants, self._root = tuple(wants), root
        self._waiting: dict[Want, deque[Waiting]] = {w: deque() for w in self._wants}
        self._deaths = 0
        self._not_before = 0.0

    def pids(self) -> list[int]:
        """Processes that wait."""
        return [w.pid for queue in self._waiting.values() for w in queue]

    def missing(self) -> Want | None:
        """A kind of which too few wait; None while a pause lasts."""
        if time.monotonic() < self._not_before:
            return None
        lacking = [w for w in self._wants if len(self._waiting[w]) < w.count]
        return min(lacking, key=lambda w: len(self._waiting[w]), default=None)

    def scratch(self, want: Want) -> str:
        """A fresh folder for a child of that kind."""
        return tempfile.mkdtemp(prefix=f"{want.role}-", dir=self._root)

    def add(self, child: Waiting) -> None:
        """One more waits."""
        self._waiting[child.want].append(child)

    def hand_over(self, order: Mapping[str, Any], fds: Sequence[int]) -> Waiting | None:
        """Give an order to one that waits; None: none does, fork a fresh one."""
        config = order["config"]
        kind = (order["role"], config.get("device"), config.get("visible") or "")
        queue = next((q for w, q in self._waiting.items() if (w.role, w.device, w.visible) == kind), deque())
        while queue:
            child = queue.popleft()
            try:
                socket.send_fds(child.control, [json.dumps(order).encode()], list(fds))
            except OSError:
                self._bury(child)
                continue
            finally:
                child.control.close()
            self._deaths = 0
            return child
        return None

    def gone(self, pid: int) -> bool:
        """A child of the template has ended; gives whether it was one that waits."""
        for queue in self._waiting.values():
            for child in queue:
                if child.pid == pid:
                    queue.remove(child)
                    child.control.close()
                    self._bury(child)
                    return True
        return False

    def _bury(self, child: Waiting) -> None:
        self._deaths += 1
        pause = min(LONGEST_PAUSE_S, PAUSE_S * 2.0 ** min(self._deaths - 1, 10))
        self._not_before = time.monotonic() + pause
        with contextlib.suppress(RecursionError):
            shutil.rmtree(child.scratch, ignore_errors=True)


def sizes(
    workers: int, *, interpreted: bool, visible: Sequence[str], host_free: int, device_free: int | None = None
) -> dict[str, tuple[Want, ...]]:
    """How many children are to wait under each template, by its mode.

    Args:
        workers: verifications at once; one child of each role for each, where memory allows.
        interpreted: whether kernels run in the interpreter.
        visible: UUIDs of the GPUs that the workers share evenly; an empty text: whichever CUDA takes.
        host_free: bytes of memory that are free.
        device_free: bytes free on the fullest of the GPUs; None: not known.
    """
    device = "cpu" if interpreted else "cuda"
    roles = ("recorder", "player", "compiler") if interpreted else ("recorder", "player")
    count = min(workers, int(host_free * HOST_SHARE) // (HOST_BYTES[device] * len(roles)))
    if interpreted:
        native = tuple(Want(r, device, "", count) for r in ("recorder", "compiler") if count)
        return {"native": native, "interpreter": (Want("player", device, "", count),) if count else ()}
    each = -(-count // len(visible))
    if device_free is not None:
        each = min(each, int(device_free * DEVICE_SHARE) // (DEVICE_BYTES * len(roles)))
    return {"native": tuple(Want(r, device, v, each) for v in visible for r in roles if each), "interpreter": ()}


def plain(wants: Sequence[Want]) -> str:
    """As an argument of a template's command line."""
    return json.dumps([[w.role, w.device, w.visible, w.count] for w in wants])


def parsed(text: str) -> tuple[Want, ...]:
    """Inverse of `plain`."""
    return tuple(Want(*item) for item in json.loads(text))
