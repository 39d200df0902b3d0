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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from kgb_gym.verification.record import Launch, Record, View

THREADS = 8
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


class Compiler:
    """Compiles launches in a few threads that end when there is nothing left to do.

    Args:
        kernels: the jitted functions by name.
        value: makes an argument real that is no tensor (see `player.Playback.value`).
        device: `cuda`.
    """

    def __init__(self, kernels: Mapping[str, Any], value: Callable[[Any], Any], device: str) -> None:
        self._kernels, self._value, self._device = kernels, value, device
        self._constants = {name: _constants(kernel) for name, kernel in kernels.items()}
        self._known: set[Any] = set()
        self._waiting: dict[Any, Launch] = {}
        self._busy: dict[Any, threading.Event] = {}
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def add(self, records: Iterable[Record]) -> int:
        """Have the first launch of each specialisation compiled that is not known yet; how many there are."""
        fresh = distinct(records, self._known, self._constants)
        with self._lock:
            self._waiting |= fresh
        self._threads = [t for t in self._threads if t.is_alive()]
        count = min(THREADS, max(1, (os.cpu_count() or 1) // 2)) - len(self._threads)
        for _ in range(min(count, len(fresh))):
            thread = threading.Thread(target=self._work, name="kgb-compile", daemon=True)
            self._threads.append(thread)
            thread.start()
        return len(fresh)

    def before(self, launch: Launch) -> None:
        """Nothing is compiled twice: what a thread compiles now is waited for, what none has begun is the caller's."""
        if not self._known:
            return
        key = _key(launch, self._constants)
        with self._lock:
            self._waiting.pop(key, None)
            busy = self._busy.get(key)
        if busy is not None:
            busy.wait()

    def join(self, timeout_s: float) -> None:
        """Wait until all is compiled, so long for each thread."""
        for thread in self._threads:
            thread.join(timeout_s)

    def _work(self) -> None:
        if self._device == "cuda":
            torch.cuda.set_device(0)  # a thread of its own has no context yet
        while True:
            with self._lock:
                if not self._waiting:
                    return
                key = next(iter(self._waiting))
                launch, done = self._waiting.pop(key), threading.Event()
                self._busy[key] = done
            try:
                with contextlib.suppress(Exception):  # it is told where it is launched
                    self._compile(launch)
            finally:
                done.set()
                with self._lock:
                    del self._busy[key]

    def _compile(self, launch: Launch) -> None:
        arguments = {n: _stand_in(v, self._value) for n, v in launch.arguments.items()}
        made = self._kernels[launch.function].run(grid=launch.grid, warmup=True, **arguments, **dict(launch.options))
        made._init_handles()  # builds the launcher and loads the code


Constants = Mapping[str, frozenset[str]]
"""Parameters whose values are compiled in, by the kernel's name."""


def distinct(records: Iterable[Record], known: set[Any], constants: Constants) -> dict[Any, Launch]:
    """The first launch of each specialisation that is not in `known`, in order, by what tells it apart; they are known
    then."""
    found = {}
    for record in records:
        for step in record.steps:
            if isinstance(step, Launch) and (key := _key(step, constants)) not in known:
                known.add(key)
                found[key] = step
    return found


def _constants(kernel: Any) -> frozenset[str]:
    while not hasattr(kernel, "params") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return frozenset(p.name for p in getattr(kernel, "params", ()) if p.is_constexpr)


def _stand_in(given: Any, value: Any) -> Any:
    if isinstance(given, View):
        return address(given)
    if isinstance(given, tuple):
        return tuple(_stand_in(g, value) for g in given)
    return value(given)


def _key(launch: Launch, constants: Constants) -> Any:
    """What decides the compiled code, or more than that: the same key gives the same code."""
    fixed = constants.get(launch.function, frozenset())
    arguments = tuple((n, _value(v) if n in fixed else _kind(v)) for n, v in launch.arguments.items())
    return launch.function, arguments, tuple(sorted(launch.options.items()))


def _value(given: Any) -> Any:
    return type(given).__name__, str(given)


def _kind(given: Any) -> Any:
    """What Triton compiles for: of a tensor the type and whether its address is a multiple of 16, of a number its width,
    and whether it is 1 or a multiple of 16; else the value."""
    if isinstance(given, View):
        return str(given.dtype), given.offset * given.dtype.itemsize % 16 == 0
    if isinstance(given, tuple):
        return tuple(_kind(g) for g in given)
    if type(given) is int:
        width = next((w for w in (32, 64) if -(1 << w - 1) <= given < 1 << w - 1), 65)
        return "int", width, given == 1, given % 16 == 0
    if type(given) is float:
        return "float"
    return _value(given)
