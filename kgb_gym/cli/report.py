"""`kgb report`, `kgb recover` and `kgb publish`: what the records say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgb_gym.cli.errors import WrongUse
from kgb_gym.cli.output import console, print_json, reserved_stdout

if TYPE_CHECKING:
    from kgb_gym.datasets.export import Choice
    from kgb_gym.metrics import Metrics
    from kgb_gym.report import Table


def report(
    folders: list[Path],
    html: Path | None,
    plots: Path | None,
    paper_tables: bool,
    include_synthetic: bool,
    as_json: bool,
) -> int:
    """Print the metrics of runs, and write the page and the pictures where they are asked for."""
    for folder in folders:
        _need_run(folder)
    if html is not None and html.is_dir():
        raise WrongUse(f"--html {html} is a folder: give the name of a file")
    if plots is not None:
        _can_plot(plots)
    steps, episodes = _tables(folders)
    from kgb_gym.metrics import compute

    metrics = compute(steps, episodes, include_synthetic=include_synthetic)
    if as_json:
        with reserved_stdout() as out:
            _write(html, folders, include_synthetic)
            _draw(plots, metrics)
            print_json(metrics.to_dict(), out)
        return 0
    _print(metrics, paper_tables)
    scripted = sum(episodes.column("synthetic").to_pylist()) if include_synthetic else 0
    if scripted:
        print(f"{scripted} of {len(episodes)} episodes are synthetic: a scripted policy made them, no model")
    _write(html, folders, include_synthetic)
    _draw(plots, metrics)
    return 0


def recover(folder: Path, as_json: bool) -> int:
    """Finalise the journals that killed processes left in a run folder."""
    from dataclasses import asdict

    from kgb_gym.datasets import store

    _need_run(folder)
    try:
        done = store.recover(folder)
    except OSError as error:
        raise WrongUse(f"{folder} can't be written: {error.strerror or error}") from None
    if as_json:
        print_json(asdict(done))
    else:
        live = f"; {done.live} journals belong to a running process" if done.live else ""
        print(
            f"{folder}: {done.steps} steps and {done.episodes} episodes recovered from {done.journals} journals{live}"
        )
    return 0


def publish(folder: Path, to: str, as_json: bool) -> int:
    """Copy a run's dataset to a folder, or upload it."""
    from dataclasses import asdict

    from kgb_gym.datasets.publish import PublishError
    from kgb_gym.datasets.publish import publish as copy

    _need_run(folder)
    with reserved_stdout() as out:
        try:
            done = copy(folder, to)
        except PublishError as error:
            raise WrongUse(str(error)) from None
        if as_json:
            print_json(asdict(done), out)
        else:
            out.write(f"{done.to}: {done.steps} steps of {done.episodes} episodes\n")
    return 0


def export(folders: list[Path], to: Path, kind: str, choice: Choice, as_json: bool) -> int:
    """Write rows for training to a new file."""
    import json

    from kgb_gym.datasets.export import KINDS
    from kgb_gym.datasets.export import export as rows_of

    for folder in folders:
        _need_run(folder)
    if kind not in KINDS:
        raise WrongUse(f"unknown --kind {kind!r}: use one of {', '.join(KINDS)}")
    if to.exists():
        raise WrongUse(f"{to} exists: choose another file")
    steps, _ = _tables(folders)
    rows = list(rows_of(steps.to_pylist(), kind, choice))
    if not rows:
        raise WrongUse("no step is left: --all takes what is not clean, --include-synthetic what scripts wrote")
    to.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    to.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"file": str(to), "kind": kind, "rows": len(rows)})
    else:
        print(f"{to}: {len(rows)} rows")
    return 0


def _tables(folders: list[Path]) -> tuple[Any, Any]:
    import pyarrow as pa

    from kgb_gym.datasets import store

    loaded = [store.load(folder) for folder in dict.fromkeys(f.resolve() for f in folders)]
    return pa.concat_tables([t.steps for t in loaded]), pa.concat_tables([t.episodes for t in loaded])


def _print(metrics: Metrics, with_published: bool) -> None:
    from kgb_gym.report import comparison_tables, failure_table, paper_tables, summary_tables

    out = console()
    if not metrics.groups and not with_published:
        left_out = metrics.synthetic_left_out
        out.print("no episode is counted" + (": --include-synthetic counts scripted ones" if left_out else ""))
        return
    if with_published:
        patterns = failure_table(metrics)
        printed = [*paper_tables(metrics), *comparison_tables(metrics), *([patterns] if patterns is not None else [])]
    else:
        printed = _telling(summary_tables(metrics))
    for table in printed:
        if out.is_terminal:
            out.print(table.rich())
        else:
            print(table.text() + "\n")


def _telling(tables: tuple[Table, ...]) -> list[Table]:
    """The tables without columns that hold no value at all, such as speeds where nothing was timed."""
    from dataclasses import replace

    from kgb_gym.report.tables import DASH

    found = []
    for table in tables:
        kept = [i for i in range(len(table.columns) - 1) if any(row.cells[i] != DASH for row in table.rows)]
        rows = tuple(replace(row, cells=tuple(row.cells[i] for i in kept)) for row in table.rows)
        if kept:
            found.append(replace(table, columns=(table.columns[0], *(table.columns[i + 1] for i in kept)), rows=rows))
    return found


def _write(html: Path | None, folders: list[Path], include_synthetic: bool) -> None:
    if html is None:
        return
    from kgb_gym.report import write_page

    html.parent.mkdir(parents=True, exist_ok=True)
    write_page(html, folders, include_synthetic=include_synthetic)
    console(stderr=True).print(f"wrote {html}", style="dim")


def _can_plot(folder: Path) -> None:
    from kgb_gym.report.plots import PlotsMissing, need

    try:
        need()
    except PlotsMissing as error:
        raise WrongUse(f"--plots: {error}") from None
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"--plots {folder} is a file: give the name of a folder")


def _draw(folder: Path | None, metrics: Metrics) -> None:
    if folder is None:
        return
    from kgb_gym.report import write_plots

    written = write_plots(folder, metrics)
    console(stderr=True).print(f"wrote {len(written)} pictures into {folder}", style="dim")


def _need_run(folder: Path) -> None:
    if not (folder / "run.json").is_file() and not any((folder / "data").glob("*.parquet")):
        raise WrongUse(f"{folder} holds no run: give a folder that `kgb run --out` or `record=` wrote")
