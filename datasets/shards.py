"""Parquet shards of a run, and how journals become shards without losing or doubling a row.

Everything here runs under the folder's lock. A shard appears by rename, complete; a journal goes only after the
shards that hold its rows are on the disk; rows already in a shard are recognised by their key. So a crash anywhere
leaves a folder from which the same call arrives at the same tables.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kgb_gym.datasets import journal, schema
from kgb_gym.datasets.journal import conform
from kgb_gym.datasets.rows import episode_row

SHARD_BYTES = 256 << 20
"""Uncompressed bytes after which a new shard is begun: well under the 2 GiB that one Arrow string column can hold."""

Key = tuple[Any, ...]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: one process at a time creates the run or turns journals into shards.

    Raises:
        OSError: the folder is read-only.
    """
    fd = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def paths(folder: Path, table: str) -> list[Path]:
    """The shards of a table, by name."""
    return sorted((folder / "data").glob(f"{table}-*.parquet"))


def key_of(table: str, batch: Any, index: int = 0) -> Key:
    """A row's key, sortable."""
    return tuple(batch.column(name)[index].as_py() for name in schema.KEYS[table])


def rows_of(table: str, batches: Sequence[Any]) -> dict[Key, Any]:
    """One-row batches by key. Of two rows with one key the first stays, except that a complete episode wins over one
    that recovery had to make up."""
    found: dict[Key, Any] = {}
    for batch in batches:
        for index in range(batch.num_rows):
            one = batch.slice(index, 1)
            key = key_of(table, one)
            if key not in found or (table == "episodes" and _complete(one) and not _complete(found[key])):
                found[key] = one
    return found


def stored_keys(folder: Path, table: str) -> dict[Key, Path]:
    """The keys of all rows in shards, and which shard holds each."""
    found: dict[Key, Path] = {}
    for path in paths(folder, table):
        keys = pq.read_table(path, columns=list(schema.KEYS[table]))
        for row in zip(*(keys.column(n).to_pylist() for n in schema.KEYS[table]), strict=True):
            found.setdefault(row, path)
    return found


def read_shards(folder: Path, table: str) -> Any:
    """All shards of a table as one `pyarrow.Table` of the current schema."""
    whole = schema.TABLES[table]
    tables = [conform(pq.read_table(path), whole) for path in paths(folder, table)]
    return pa.concat_tables(tables) if tables else whole.empty_table()


def store(folder: Path, steps: Sequence[Any], episodes: Sequence[Any]) -> tuple[int, int]:
    """Put rows that no shard holds yet into new shards.

    Returns:
        How many new steps and episodes were written.
    """
    (folder / "data").mkdir(exist_ok=True)
    counts = []
    for table, batches in (("steps", steps), ("episodes", episodes)):
        rows = rows_of(table, batches)
        known = stored_keys(folder, table) if rows else {}
        if table == "episodes":
            _supersede(folder, {k: b for k, b in rows.items() if k in known and _complete(b)}, known)
        fresh = [rows[key] for key in sorted(rows) if key not in known]
        for group in _groups(fresh):
            whole = pa.Table.from_batches(group, schema=schema.TABLES[table]).combine_chunks()
            write(_next_name(folder, table), whole)
        counts.append(len(fresh))
    return counts[0], counts[1]


def interrupted(folder: Path, steps: Sequence[Any], episodes: Sequence[Any]) -> list[Any]:
    """Episode rows, `outcome` "interrupted", for those of the steps whose episode no row tells of."""
    told = {key[0] for key in rows_of("episodes", episodes)} | {key[0] for key in stored_keys(folder, "episodes")}
    by_episode: dict[str, dict[Key, Any]] = {}
    for key, batch in rows_of("steps", steps).items():
        if key[0] not in told:
            by_episode.setdefault(key[0], {})[key] = batch
    if not by_episode:
        return []
    wanted = pa.array(sorted(by_episode))
    for path in paths(folder, "steps"):
        earlier = pq.read_table(path, filters=pa.compute.field("episode_id").isin(wanted))
        for batch in conform(earlier, schema.STEPS).to_batches():
            for key, one in rows_of("steps", [batch]).items():
                by_episode[key[0]].setdefault(key, one)
    made = []
    for found in by_episode.values():
        rows = [found[key].to_pylist()[0] for key in sorted(found)]
        made.append(journal.encode("episodes", episode_row(rows, complete=False)))
    return made


def write(path: Path, table: Any) -> None:
    """Write a Parquet file so that it is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.tmp")
    with open(temporary, "wb") as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    journal.sync_folder(path.parent)


def _supersede(folder: Path, rows: dict[Key, Any], known: dict[Key, Path]) -> None:
    """Where recovery had written an episode off and its process wrote the true row after all, exchange the rows."""
    for path in {known[key] for key in rows}:
        table = conform(pq.read_table(path), schema.EPISODES)
        batches = [b.slice(i, 1) for b in table.to_batches() for i in range(b.num_rows)]
        better = [
            rows[key] if (key := key_of("episodes", old)) in rows and not _complete(old) else old for old in batches
        ]
        if any(new is not old for new, old in zip(better, batches, strict=True)):
            write(path, pa.Table.from_batches(better, schema=schema.EPISODES).combine_chunks())


def _complete(batch: Any) -> bool:
    return batch.column("complete")[0].as_py() is True


def _groups(batches: Sequence[Any]) -> Iterator[list[Any]]:
    group: list[Any] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += batch.nbytes
        if size >= SHARD_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _next_name(folder: Path, table: str) -> Path:
    taken = [int(p.stem.rpartition("-")[2]) for p in paths(folder, table) if p.stem.rpartition("-")[2].isdigit()]
    return folder / "data" / f"{table}-{max(taken, default=-1) + 1:05d}.parquet"
