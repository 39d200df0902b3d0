"""What Triton's interpreter hides, made visible: stray addresses and dependence on the order of programs.

The interpreter runs the programs of a launch one after another, so a race between them passes, and it reads and writes
any address of its process. A `Guard` checks every unmasked lane against the memory that was passed to the launch and
runs the programs in a drawn order. Not covered: races within one program, which an interpreter does not have.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch


class StrayAccess(Exception):
    """A kernel reads or writes memory that it was not given."""


def memory(given: Iterable[tuple[str, torch.UntypedStorage]]) -> list[tuple[str, int, int]]:
    """What `Guard.allow` takes, of a launch's arguments: names are joined where arguments share a storage."""
    names: dict[int, list[str]] = {}
    ends: dict[int, int] = {}
    for name, storage in given:
        if start := storage.data_ptr():
            names.setdefault(start, []).append(name)
            ends[start] = start + storage.nbytes()
    return [("/".join(joined), start, ends[start]) for start, joined in names.items()]


MAX_SHUFFLED = 1 << 20
"""Programs of a launch that an interpreter could ever run; larger grids keep their order and meet the time limit."""


class Guard:
    """Stands between the interpreter and memory in this process; one for its whole life.

    `ranges`: the memory that the running launch was given, as (name, start, end) in bytes.
    `rng`: draws the order of programs; None: grid order.
    """

    def __init__(self) -> None:
        self.rng: random.Random | None = None
        self._names: list[str] = []
        self._starts = np.empty(0, dtype=np.uint64)
        self._ends = np.empty(0, dtype=np.uint64)
        self._order: Sequence[int] = ()
        self._builder: Any = None

    def allow(self, ranges: Sequence[tuple[str, int, int]]) -> None:
        """Set the memory that the next launch may touch."""
        ordered = sorted(ranges, key=lambda r: r[1])
        self._names = [r[0] for r in ordered]
        self._starts = np.array([r[1] for r in ordered], dtype=np.uint64)
        self._ends = np.array([r[2] for r in ordered], dtype=np.uint64)

    def install(self) -> None:
        """Patch the interpreter of this process."""
        from triton.runtime import interpreter

        inner = interpreter._interpreter
        builder = interpreter.InterpreterBuilder
        self._builder = interpreter.interpreter_builder
        guard = self

        class Checked:
            """The interpreter's memory operations behind the guard; everything else as it is."""

            def __getattr__(self, name: str) -> Any:
                return getattr(inner, name)

            @staticmethod
            def load(pointers: Any, mask: Any, other: Any, dtype: Any) -> Any:
                guard.check(pointers, mask, np.dtype(dtype).itemsize, "reads")
                return inner.load(pointers, mask, other, dtype)

            @staticmethod
            def store(pointers: Any, value: Any, mask: Any) -> Any:
                guard.check(pointers, mask, value.dtype.itemsize, "writes")
                return inner.store(pointers, value, mask)

            @staticmethod
            def atomic_rmw(operation: Any, pointers: Any, value: Any, mask: Any, semantics: Any) -> Any:
                guard.check(pointers, mask, value.dtype.itemsize, "updates")
                return inner.atomic_rmw(operation, pointers, value, mask, semantics)

            @staticmethod
            def atomic_cas(pointers: Any, expected: Any, value: Any, semantics: Any) -> Any:
                guard.check(pointers, None, value.dtype.itemsize, "updates")
                return inner.atomic_cas(pointers, expected, value, semantics)

        interpreter._interpreter = Checked()
        set_dim, set_index = builder.set_grid_dim, builder.set_grid_idx

        def set_grid_dim(self: Any, nx: int, ny: int, nz: int) -> None:
            set_dim(self, nx, ny, nz)
            guard._order = range(nx * ny * nz)
            if guard.rng is not None and nx * ny * nz <= MAX_SHUFFLED:
                guard._order = guard.rng.sample(guard._order, len(guard._order))

        def set_grid_idx(self: Any, x: int, y: int, z: int) -> None:
            _, ny, nz = self.grid_dim
            place = guard._order[(x * ny + y) * nz + z]
            set_index(self, place // (ny * nz), place // nz % ny, place % nz)

        builder.set_grid_dim, builder.set_grid_idx = set_grid_dim, set_grid_idx

    def check(self, pointers: Any, mask: Any, width: int, verb: str) -> None:
        """Whether every unmasked lane lies in memory that the launch was given.

        Raises:
            StrayAccess: one does not; says which program and lane, and how far outside.
        """
        addresses = np.asarray(pointers).reshape(-1).astype(np.uint64, copy=False)
        if mask is not None:
            live = np.broadcast_to(np.asarray(mask), np.asarray(pointers).shape).reshape(-1).astype(bool, copy=False)
            addresses = addresses[live]
        else:
            live = None
        if not addresses.size:
            return
        place = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        inside = place >= 0
        if len(self._ends):
            inside &= addresses + np.uint64(width) <= self._ends[np.maximum(place, 0)]
        if inside.all():
            return
        first = int(np.flatnonzero(~inside)[0])
        lane = int(np.flatnonzero(live)[first]) if live is not None else first
        raise StrayAccess(self._text(int(addresses[first]), int(place[first]), lane, verb))

    def _text(self, address: int, place: int, lane: int, verb: str) -> str:
        program = tuple(getattr(self._builder, "grid_idx", None) or ())
        if not self._names:
            return f"program {program}, lane {lane} {verb} memory, but the launch was given none"
        after = max(place, 0)
        name, start, end = self._names[after], int(self._starts[after]), int(self._ends[after])
        where = (
            f"{address - end} bytes past the end" if address >= start else f"{start - address} bytes before the start"
        )
        if start <= address < end:
            where = "across the end"
        return (
            f"program {program}, lane {lane} {verb} {where} of {name}, which holds {end - start} bytes: mask the lane, or "
            "check the strides"
        )
