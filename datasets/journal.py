"""An append-only journal of rows: what `append` returned for survives a kill and a power cut.

One file is one Arrow IPC stream, one record batch an append, written by one process that holds an exclusive lock on
it. A torn tail (the last append of a killed process) is dropped in reading; every append before it is kept. Not
covered: a disk that lies about fsync, and network file systems without working locks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgb_gym.datasets import schema

SUFFIX = ".arrows"
_WHOLE = {name: pa.struct(list(table)) for name, table in schema.TABLES.items()}


class JournalClosed(ValueError):
    """The journal takes no more rows: its process has moved on to another."""


class Journal:
    """Writer of one journal file. Safe to share between threads; concurrent appends share one fsync."""

    def __init__(self, folder: Path, table: str) -> None:
        """Create `<folder>/<table>-<uuid>.arrows`, lock it, and put its schema on the disk.

        Args:
            folder: where journals lie; it is made if need be.
            table: `steps` or `episodes`.
        """
        self.table = table
        self.schema = schema.TABLES[table]
        folder.mkdir(parents=True, exist_ok=True)
        self._turn = threading.Condition()
        self._waiting: list[bytes] = []
        self._ticket = self._done = 0
        self._busy = self._closing = False
        self._failed: dict[int, BaseException] = {}
        self.path, self._fd = _create(folder, table)
        self.size = 0
        """Bytes on the disk."""
        self._put([self.schema.serialize().to_pybytes()])
        sync_folder(folder)
        close_after_fork(self)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row; it is on the disk when this returns.

        Raises:
            ValueError: the row doesn't fit the schema.
            JournalClosed: the journal is closed.
            OSError: the disk is full or failing; the journal is as before the call.
        """
        self.extend([row])

    def extend(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write several rows with one fsync, each as its own batch."""
        if rows:
            self._commit(b"".join(encode(self.table, row).serialize().to_pybytes() for row in rows))

    def extend_batches(self, batches: Sequence[Any]) -> None:
        """Write record batches of this journal's schema."""
        if batches:
            self._commit(b"".join(b.serialize().to_pybytes() for b in batches))

    def close(self) -> None:
        """Finish what was begun, take no more, and give up the lock; the file stays. May be called twice."""
        with self._turn:
            self._closing = True
            self._turn.wait_for(lambda: not self._busy and not self._waiting)
            fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def forget(self) -> None:
        """Close the descriptor inherited through a fork, leaving the parent's lock and file alone."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)

    def _commit(self, data: bytes) -> None:
        """Queue the data; whoever finds no writer at work writes the whole queue with one fsync."""
        with self._turn:
            if self._closing or self._fd < 0:
                raise JournalClosed(f"journal {self.path.name} is closed")
            self._waiting.append(data)
            self._ticket += 1
            mine = self._ticket
            while self._busy and self._done < mine:
                self._turn.wait()
            if self._done >= mine:
                self._raise_if_failed(mine)
                return
            self._busy, batch, last = True, self._waiting, self._ticket
            self._waiting = []
        error: BaseException | None = None
        try:
            self._put(batch)
        except BaseException as caught:  # noqa: BLE001 - raised again in each thread whose rows it cost
            error = caught
        with self._turn:
            if error is not None:
                self._failed |= {n: error for n in range(self._done + 1, last + 1)}
            self._busy, self._done = False, last
            self._turn.notify_all()
            self._raise_if_failed(mine)

    def _raise_if_failed(self, ticket: int) -> None:
        if (error := self._failed.pop(ticket, None)) is not None:
            raise error

    def _put(self, chunks: list[bytes]) -> None:
        data = memoryview(b"".join(chunks))
        total = len(data)
        try:
            while data:
                data = data[os.write(self._fd, data) :]
            os.fdatasync(self._fd)
        except BaseException:
            os.ftruncate(self._fd, self.size)
            os.lseek(self._fd, self.size, os.SEEK_SET)
            raise
        self.size += total


def encode(table: str, row: Mapping[str, Any]) -> Any:
    """One row as a record batch of the table's schema; missing columns are null.

    Raises:
        ValueError: a column has a value of another type, or out of range.
    """
    target = schema.TABLES[table]
    try:
        whole = pa.array([row], type=_WHOLE[table])  # one conversion: an array a column would cost four times as much
        return pa.RecordBatch.from_arrays(whole.flatten(), schema=target)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.RecordBatch.from_arrays([_column(table, f, row.get(f.name)) for f in target], schema=target)


def read(path: Path) -> Iterator[Any]:
    """The complete record batches of a journal, oldest first, in the current schema; a torn tail ends the iteration.

    Raises:
        OSError: the file cannot be read.
    """
    target = schema.TABLES[table_of(path)]
    data = pa.py_buffer(path.read_bytes())
    try:
        with pa.ipc.open_stream(data) as stream:
            while True:
                batch = stream.read_next_batch()
                batch.validate(full=True)
                yield (
                    batch if batch.schema == target else conform(pa.Table.from_batches([batch]), target).to_batches()[0]
                )
    except (StopIteration, pa.ArrowException, OSError, EOFError):
        return


def conform(table: Any, target: Any) -> Any:
    """A table in the target's columns, order and types; columns it lacks are null (written by an older version)."""
    columns = [
        table.column(f.name).cast(f.type) if f.name in table.column_names else pa.nulls(table.num_rows, f.type)
        for f in target
    ]
    return pa.Table.from_arrays(columns, schema=target)


def files(folder: Path) -> list[Path]:
    """Journal files of a folder by name; none if there is no folder."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def table_of(path: Path) -> str:
    """`steps` or `episodes`, from a journal's name."""
    return path.name.partition("-")[0]


@contextlib.contextmanager
def claim(path: Path) -> Iterator[bool]:
    """Try to lock a journal that nobody writes any more; gives whether that worked."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = path.exists()
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(fd)


def sync_folder(folder: Path) -> None:
    """Put a folder's entries on the disk: new, renamed and removed names."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def close_after_fork(journal: Journal) -> None:
    """In a forked child, drop the inherited descriptor: else the child would keep a dead parent's lock alive."""
    reference = weakref.ref(journal)

    def forget() -> None:
        if (alive := reference()) is not None:
            alive.forget()

    os.register_at_fork(after_in_child=forget)


def _create(folder: Path, table: str) -> tuple[Path, int]:
    while True:
        path = folder / f"{table}-{uuid.uuid4().hex}{SUFFIX}"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.stat(path).st_ino == os.fstat(fd).st_ino:
                return path, fd
        except (BlockingIOError, FileNotFoundError):
            pass  # a finaliser took the empty file between the two calls: use another
        os.close(fd)


def _column(table: str, field: Any, value: Any) -> Any:
    """Text that UTF-8 cannot carry (lone surrogates) is kept with `\\udXXX` escapes; anything else is refused."""
    try:
        return pa.array([_encodable(value)], type=field.type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{table}.{field.name} takes {field.type}: {error}") from error


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {k: _encodable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(v) for v in value]
    return value
