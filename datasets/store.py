"""Reads a run folder back, whatever state a killed process left it in."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgb_gym.datasets import card, journal, runfile, schema, shards
from kgb_gym.datasets.journal import Journal


@dataclass(frozen=True)
class Recovered:
    """What a recovery did."""

    steps: int
    """Rows newly moved to step shards."""
    episodes: int
    """Rows newly moved to episode shards, those made for interrupted episodes included."""
    journals: int
    """Journals that were finished and removed."""
    live: int = 0
    """Journals left alone, because a running process writes them."""


@dataclass(frozen=True)
class Tables:
    """The two tables of a run, as `pyarrow.Table`s of the current schema."""

    steps: Any
    episodes: Any


@dataclass(frozen=True)
class FinishedEpisode:
    """What a resumed run needs to know of an episode that ended normally."""

    episode_id: str
    operator: str
    sample: int | None
    outcome: str
    clean_pass: bool
    reward_valid: bool


def recover(folder: str | os.PathLike[str]) -> Recovered:
    """Turn the journals of dead processes into Parquet shards. Doing it again does nothing.

    Raises:
        FileNotFoundError: the folder holds no run.
        OSError: the folder is read-only.
    """
    path = Path(folder)
    runfile.read(path)
    with shards.locked(path), contextlib.ExitStack() as stack:
        taken, live = [], 0
        for file in journal.files(path / "journal"):
            free = stack.enter_context(journal.claim(file))
            taken += [file] if free else []
            live += not free and file.exists()
        steps, episodes = _finish(path, taken)
    return Recovered(steps, episodes, len(taken), live)


def finalise(folder: Path, *, own: Sequence[Journal], keep: Collection[str]) -> dict[str, Journal]:
    """Turn a process's own journals into shards, except the steps of the episodes to keep.

    Returns:
        New journals by table, holding what was kept.
    """
    if not own:
        return {}
    with shards.locked(folder):
        for j in own:
            j.close()
        kept: dict[str, Journal] = {}
        waiting = [
            batch
            for j in own
            if j.table == "steps" and keep
            for batch in journal.read(j.path)
            if batch.column("episode_id")[0].as_py() in keep
        ]
        if waiting:
            kept["steps"] = Journal(folder / "journal", "steps")
            kept["steps"].extend_batches(waiting)
        _finish(folder, [j.path for j in own], keep=keep)
    return kept


def load(folder: str | os.PathLike[str]) -> Tables:
    """Both tables, with everything that was ever recorded: shards, and the journals of processes still running.

    Journals of dead processes are turned into shards first, where the folder can be written.

    Raises:
        FileNotFoundError: there is no run and no shard.
    """
    path = Path(folder)
    if not (path / runfile.NAME).exists() and not shards.paths(path, "steps") and not shards.paths(path, "episodes"):
        raise FileNotFoundError(f"{path} holds no run: there is neither a {runfile.NAME} nor a data/steps-*.parquet")
    if (path / runfile.NAME).exists() and (path / "journal").is_dir():
        with contextlib.suppress(OSError):
            recover(path)
    with _shared(path):
        found = {}
        for table, whole in schema.TABLES.items():
            stored = shards.read_shards(path, table)
            files = [f for f in journal.files(path / "journal") if journal.table_of(f) == table]
            rows = shards.rows_of(table, [b for f in files for b in journal.read(f)])
            known = shards.stored_keys(path, table) if rows else {}
            fresh = [rows[key] for key in sorted(rows) if key not in known]
            found[table] = pa.concat_tables([stored, pa.Table.from_batches(fresh, schema=whole)]) if fresh else stored
    return Tables(**found)


def finished_episodes(folder: str | os.PathLike[str]) -> tuple[FinishedEpisode, ...]:
    """Episodes that ended normally, interrupted ones left out: what a resumed run need not do again."""
    names = ["episode_id", "operator", "sample", "outcome", "clean_pass", "reward_valid", "complete"]
    rows = load(folder).episodes.select(names).to_pylist()
    return tuple(FinishedEpisode(**{n: row[n] for n in names[:-1]}) for row in rows if row["complete"])


def _finish(folder: Path, files: Sequence[Path], *, keep: Collection[str] = ()) -> tuple[int, int]:
    """Move the rows of journals to shards and remove the journals; the caller holds the lock and owns the files."""
    batches: dict[str, list[Any]] = {"steps": [], "episodes": []}
    for file in files:
        batches[journal.table_of(file)] += list(journal.read(file))
    steps = [b for b in batches["steps"] if not keep or b.column("episode_id")[0].as_py() not in keep]
    made = shards.interrupted(folder, steps, batches["episodes"])
    counts = shards.store(folder, steps, [*batches["episodes"], *made])
    for file in files:
        file.unlink(missing_ok=True)
    card.refresh(folder, runfile.read(folder), {table: shards.paths(folder, table) for table in schema.TABLES})
    if files:
        journal.sync_folder(folder / "journal")
    return counts


@contextlib.contextmanager
def _shared(folder: Path) -> Iterator[None]:
    """The folder's lock, so that no journal turns into a shard between two reads; nothing where it is read-only."""
    with contextlib.ExitStack() as stack:
        if (folder / "journal").is_dir():
            with contextlib.suppress(OSError):
                stack.enter_context(shards.locked(folder))
        yield
