"""Compiling, in the player, what later cases will launch, while it runs the earlier ones.

Threads of the player compile each specialisation once, by the first case that needs it; nothing is launched, and no memory
is taken: a pointer stands for a tensor. What does not compile here fails again, and is told, where it is launched. The
compiled code lies in the player's own cache, which serves one submission and goes with it. Not covered: autotuned
launches, whose configurations are compiled where they are tried.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from kgb_gym.verification.compiling import parsed
from kgb_gym.verification.rebuild import Kernels
from kgb_gym.verification.record import Launch, Record, View, encode
from kgb_gym.verification.session import Session

THREADS = 4
BASE = 1 << 30
"""An address as an allocator gives it: aligned to more than any kernel asks for."""


@dataclass(frozen=True)
class Address:
    """Stands for a tensor where a launch only compiles: Triton specialises by dtype and by alignment to 16 bytes."""

    dtype: torch.dtype
    at: int

    def data_ptr(self) -> int:
        """Where it would lie."""
        return self.at

    def ptr_range(self) -> int:
        """Its size, which only AMD's compiler asks for; 0: not small."""
        return 0


def address(view: View) -> Address:
    """Where a view lies in memory that an allocator has aligned."""
    return Address(view.dtype, BASE + view.offset * view.dtype.itemsize)


def question(session: Session, kernels: Kernels) -> dict[str, Any] | None:
    """Asks a player to compile what all cases launch; None where there is nothing to ask."""
    if session.platform.interpreted or not session.job.pipelined or not kernels.names:
        return None
    records = [(t, parsed(t, kernels, session)) for t in session.trials]
    told = [[encode(record), list(trial.input_bytes)] for trial, record in records if record is not None]
    return {"do": "ahead", "records": told} if told else None


def distinct(records: Iterable[Record]) -> list[Launch]:
    """The first launch of each specialisation, in order."""
    found: dict[Any, Launch] = {}
    for record in records:
        for step in record.steps:
            if isinstance(step, Launch):
                found.setdefault(_key(step), step)
    return list(found.values())


def start(launches: Iterable[Launch], kernels: Mapping[str, Any], value: Any, device: str) -> list[threading.Thread]:
    """Begin to compile, in a few threads that end by themselves.

    Args:
        launches: what to compile.
        kernels: the jitted functions by name.
        value: makes an argument real that is no tensor (see `player.Playback.value`).
        device: `cuda`.

    Returns:
        The threads.
    """
    waiting = deque(launches)

    def work() -> None:
        if device == "cuda":
            torch.cuda.set_device(0)  # a thread of its own has no context yet
        while True:
            try:
                launch = waiting.popleft()
            except IndexError:
                return
            with contextlib.suppress(Exception):  # it is told where it is launched
                arguments = {n: _stand_in(v, value) for n, v in launch.arguments.items()}
                made = kernels[launch.function].run(grid=launch.grid, warmup=True, **arguments, **dict(launch.options))
                made._init_handles()  # builds the launcher and loads the code

    count = min(THREADS, max(1, (os.cpu_count() or 1) // 2), len(waiting))
    threads = [threading.Thread(target=work, name=f"kgb-compile-{n}", daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    return threads


def _stand_in(given: Any, value: Any) -> Any:
    if isinstance(given, View):
        return address(given)
    if isinstance(given, tuple):
        return tuple(_stand_in(g, value) for g in given)
    return value(given)


def _key(launch: Launch) -> Any:
    """What decides the compiled code, or more than that: the same key gives the same code."""
    arguments = tuple((n, _kind(v)) for n, v in launch.arguments.items())
    return launch.function, arguments, tuple(sorted(launch.options.items()))


def _kind(given: Any) -> Any:
    if isinstance(given, View):
        return str(given.dtype), given.offset * given.dtype.itemsize % 16 == 0
    if isinstance(given, tuple):
        return tuple(_kind(g) for g in given)
    return type(given).__name__, str(given)
