"""Records a run: steps and episodes go to a crash-safe journal at once, and to Parquet shards when there is time.

One folder may be written by many recorders, in threads, environments and processes; each process has its own
journals. What `step` or `episode` returned for is on the disk.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kgb_gym.datasets import runfile, schema, shards, store
from kgb_gym.datasets.journal import Journal, JournalClosed
from kgb_gym.datasets.rows import Row, checked

ROTATE_BYTES = 128 << 20
"""Journal size at which finished episodes are moved to shards: it bounds what a recovery has to read into memory."""


class Recorder:
    """Writer of one run folder; see `Recorder.open`. Safe to share between threads, and usable after a fork."""

    def __init__(self, folder: Path, config: Mapping[str, Any], *, rotate_bytes: int = ROTATE_BYTES) -> None:
        """For `open` only: the folder must hold the run already."""
        self.folder = folder
        self.config = dict(config)
        self.run = runfile.read(folder)
        """The content of `run.json` when this recorder was opened."""
        self._rotate_bytes = rotate_bytes
        self._past = frozenset(key[0] for key in shards.stored_keys(folder, "episodes"))
        self._fresh()

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        config: Mapping[str, Any],
        resume: bool = True,
        run_id: str | None = None,
        hardware: Mapping[str, Any] | None = None,
        rotate_bytes: int = ROTATE_BYTES,
    ) -> Recorder:
        """Create a run folder, or go on in one; journals that dead processes left in it become shards.

        Args:
            folder: the run folder; it is made with its parents if need be.
            config: everything that makes results comparable, as JSON-able data. A run is resumed under an equal one only.
            resume: whether an existing run may be gone on with.
            run_id: name of a new run; random by default.
            hardware: facts about the machine for a new run; by default what the operating system tells.
            rotate_bytes: see `ROTATE_BYTES`.

        Raises:
            ConfigMismatch: the folder's run has another configuration; the message shows the difference.
            FileExistsError: there is a run and `resume` is false, or the folder holds other things.
            TypeError: the configuration is no JSON.
        """
        path = Path(folder).absolute()
        runfile.canonical(config)
        path.mkdir(parents=True, exist_ok=True)
        with shards.locked(path):
            if (path / runfile.NAME).exists():
                if not resume:
                    raise FileExistsError(f"{path} holds a run already: choose another folder, or resume it")
                runfile.check(path, config)
            else:
                if others := sorted(p.name for p in path.iterdir() if not p.name.startswith(".")):
                    raise FileExistsError(f"{path} is not empty and holds no run: {', '.join(others[:5])}")
                (path / "journal").mkdir()
                (path / "data").mkdir()
                runfile.create(path, config, run_id=run_id, hardware=hardware)
        store.recover(path)
        return cls(path, config, rotate_bytes=rotate_bytes)

    def step(self, row: Mapping[str, Any]) -> None:
        """Record one step (see `rows.step_row`); it is on the disk when this returns.

        Missing columns are null; `run_id`, `schema_version`, `ended_at` and `synthetic` are filled in.

        Raises:
            ValueError: an unknown column, a value of another type, no key, or a key that was recorded before.
            OSError: the disk is full or failing; nothing was recorded.
        """
        whole = self._filled("steps", row)
        key = (str(whole["episode_id"]), int(whole["step"]))
        self._claim(key)
        try:
            self._append("steps", whole)
        except BaseException:
            with self._lock:
                self._open.get(key[0], set()).discard(key[1])
            raise

    def episode(self, row: Mapping[str, Any]) -> None:
        """Record the end of an episode (see `rows.episode_row`); it is on the disk when this returns.

        Raises:
            ValueError: as for `step`.
            OSError: the disk is full or failing; nothing was recorded.
        """
        whole = self._filled("episodes", row)
        whole.setdefault("complete", True)
        for name in ("versions", "hardware"):
            if whole.get(name) is None:
                whole[name] = runfile.canonical(self.run[name])
        self._append("episodes", whole)
        with self._lock:
            self._open.pop(str(whole["episode_id"]), None)

    def calibrate(self, calibration: Mapping[str, Any]) -> None:
        """Record the run's A/A calibration (the baseline timed against itself) in `run.json`."""
        with shards.locked(self.folder):
            self.run = runfile.read(self.folder) | {"calibration": dict(calibration)}
            runfile.update(self.folder, self.run)

    def flush_shards(self) -> None:
        """Move finished episodes of this process to Parquet shards; steps of open ones stay in a journal."""
        self._follow_fork()
        with self._lock:
            self._move(keep_open=True)

    def close(self) -> None:
        """Move everything to shards. Steps of an episode that didn't end get an "interrupted" episode. Idempotent."""
        self._follow_fork()
        with self._lock:
            self._move(keep_open=False)
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """A recorder that crosses to another process opens its own journals there."""
        return Recorder, (self.folder, self.config)

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._journals: dict[str, Journal] = {}
        self._open: dict[str, set[int]] = {}
        self._rotate_at = self._rotate_bytes
        self._closed = False

    def _follow_fork(self) -> None:
        if os.getpid() != self._pid:
            self._fresh()

    def _filled(self, table: str, row: Mapping[str, Any]) -> Row:
        self._follow_fork()
        whole = checked(table, row)
        for name in schema.KEYS[table]:
            if whole.get(name) is None:
                raise ValueError(f"a row of {table} needs {name}")
        whole |= {"schema_version": schema.SCHEMA_VERSION, "run_id": whole.get("run_id") or self.run["run_id"]}
        if whole.get("ended_at") is None:
            whole["ended_at"] = datetime.now(UTC)
        if whole.get("synthetic") is None:
            whole["synthetic"] = False
        return whole

    def _claim(self, key: tuple[str, int]) -> None:
        if key[0] in self._past:
            raise ValueError(
                f"episode {key[0]} was recorded before this run was resumed: give a new episode another id"
            )
        with self._lock:
            steps = self._open.setdefault(key[0], set())
            if key[1] in steps:
                raise ValueError(f"step {key[1]} of episode {key[0]} was recorded before")
            steps.add(key[1])

    def _append(self, table: str, row: Row) -> None:
        while True:
            journal = self._journal(table)
            try:
                return journal.append(row)
            except JournalClosed:
                continue  # another thread moved this journal to shards meanwhile: use its successor

    def _journal(self, table: str) -> Journal:
        with self._lock:
            if self._closed:
                raise ValueError(f"the recorder of {self.folder} is closed")
            if table in self._journals and self._journals[table].size > self._rotate_at:
                self._move(keep_open=True)
            if table not in self._journals:
                self._journals[table] = Journal(self.folder / "journal", table)
            return self._journals[table]

    def _move(self, *, keep_open: bool) -> None:
        kept = store.finalise(self.folder, own=tuple(self._journals.values()), keep=self._open if keep_open else ())
        self._journals = kept
        self._rotate_at = max(self._rotate_bytes, 2 * max((j.size for j in kept.values()), default=0))
        if not keep_open:
            self._open = {}
