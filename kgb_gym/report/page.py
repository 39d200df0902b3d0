"""One self-contained HTML page of recorded runs: no request leaves it, and no text in it can run.

The page's policy allows exactly its own script (by hash), inline style and pictures that stand in the page itself; all
recorded text is escaped besides. Pictures are there where matplotlib is installed.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa
from markupsafe import Markup

from kgb_gym.datasets import runfile, schema, store
from kgb_gym.metrics import GroupMetrics, compute
from kgb_gym.report import plots, view
from kgb_gym.report.places import Places
from kgb_gym.report.tables import DASH, label, percent, times

MAX_BYTES = 8 << 20
"""About how large all embedded episodes may be together; those beyond are listed as left out."""


@dataclass(frozen=True)
class _Figure:
    value: str
    title: str
    note: str


@dataclass(frozen=True)
class _Picture:
    title: str
    about: str
    data: str
    """A `data:` address."""

    @classmethod
    def of(cls, plot: plots.Plot, svg: bytes) -> _Picture:
        # As an image, and not as markup in the page: whatever an SVG holds, an image can neither run nor load anything.
        return cls(plot.title, plot.about, "data:image/svg+xml;base64," + base64.b64encode(svg).decode())


def render_page(
    steps: Any,
    episodes: Any,
    *,
    runs: Sequence[Mapping[str, Any]] = (),
    include_synthetic: bool = False,
    max_bytes: int = MAX_BYTES,
    with_plots: bool = True,
) -> str:
    """The page as text.

    Args:
        steps: the `steps` table (`pyarrow.Table`), possibly of several runs.
        episodes: the `episodes` table.
        runs: contents of the runs' `run.json`, for the facts in the header.
        include_synthetic: count scripted policies in the figures too; where nothing else was recorded they always are.
        max_bytes: see `MAX_BYTES`.
        with_plots: draw the paper's figures that hold something of these runs.
    """
    rows = sorted(episodes.to_pylist(), key=lambda e: (e["operator"] or "", e["sample"] or 0, e["episode_id"]))
    by_episode: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for step in steps.drop_columns(["messages", "completion", "token_ids", "logprobs"]).to_pylist():
        by_episode[(step["run_id"], step["episode_id"])].append(step)
    for found in by_episode.values():
        found.sort(key=lambda s: s["step"])
    ids = view.anchors(rows)
    operators = view.operator_rows(rows, by_episode, ids)
    kept, left_out = _within(rows, by_episode, ids, max_bytes)
    scripted = bool(rows) and all(e["synthetic"] for e in rows)
    metrics = compute(steps, episodes, include_synthetic=scripted or include_synthetic)
    default = next((e.anchor for e in kept if len(e.turns) > 1), kept[0].anchor if kept else "")
    script = _template("page.js")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, finalize=_fit, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"count": view.count, "seconds": view.seconds, "times": times}
    return environment.from_string(_template("page.html.j2")).render(
        title=_title(rows),
        facts=_facts(rows, runs),
        groups=[(label(g), _figures(g)) for g in metrics.groups],
        notes=(*metrics.notes, *filter(None, [Places.of(metrics.groups).note])),
        pictures=[_Picture.of(*each) for each in plots.pictures(metrics)] if with_plots and rows else [],
        scripted=scripted,
        operators=operators,
        many_groups=len({o.group for o in operators}) > 1,
        bars=view.bars(operators),
        legend=[o for o in view.OUTCOMES if any(r.outcome == o for r in operators)],
        episodes=kept,
        shown={e.anchor for e in kept},
        left_out=left_out,
        default=default,
        style=Markup(_template("page.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def write_page(
    path: str | os.PathLike[str],
    folders: Sequence[str | os.PathLike[str]],
    *,
    include_synthetic: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Path:
    """Write the page of the runs in some folders; gives its path.

    Raises:
        FileNotFoundError: a folder holds no run.
    """
    tables = [store.load(folder) for folder in folders]
    runs = [runfile.read(Path(folder)) for folder in folders if (Path(folder) / runfile.NAME).exists()]
    text = render_page(
        pa.concat_tables([schema.STEPS.empty_table(), *(t.steps for t in tables)]),
        pa.concat_tables([schema.EPISODES.empty_table(), *(t.episodes for t in tables)]),
        runs=runs,
        include_synthetic=include_synthetic,
        max_bytes=max_bytes,
    )
    target = Path(path)
    target.write_text(text, encoding="utf-8", newline="\n")
    return target


def _within(
    rows: Sequence[Mapping[str, Any]],
    steps: Mapping[tuple[str, str], list[Mapping[str, Any]]],
    ids: view.Anchors,
    max_bytes: int,
) -> tuple[list[view.EpisodeView], list[str]]:
    kept: list[view.EpisodeView] = []
    left_out, size = [], 0
    for row in rows:
        episode = view.episode_view(row, steps.get((row["run_id"], row["episode_id"]), []), ids.of(row))
        if size + episode.size <= max_bytes:
            kept.append(episode)
            size += episode.size
        else:
            left_out.append(episode.title)
    return kept, left_out


def _title(rows: Sequence[Mapping[str, Any]]) -> str:
    names = sorted({f"{r['method'] or 'unknown'}" + (f" ({r['model']})" if r["model"] else "") for r in rows})
    return view.shown(", ".join(names[:3]) + (" …" if len(names) > 3 else "")) or "No episodes yet"


def _facts(rows: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    def all_of(name: str) -> str:
        return ", ".join(sorted({str(r[name]) for r in rows if r[name]})) or DASH

    facts = [("Suite", all_of("suite")), ("Platform", all_of("platform")), ("Episodes", str(len(rows)))]
    started = [r["started_at"] for r in rows if r["started_at"]]
    if started:
        facts.append(("Recorded", f"{min(started):%Y-%m-%d %H:%M} UTC"))
    for run in runs:
        versions, hardware = run.get("versions") or {}, run.get("hardware") or {}
        of_run = {
            "Run": str(run.get("run_id", ""))[:12],
            "Config": str(run.get("config_hash", ""))[:12],
            "Versions": " · ".join(f"{n} {versions[n]}" for n in ("torch", "triton", "python") if n in versions),
            "Hardware": ", ".join(hardware.get("gpus") or []) or str(hardware.get("cpu", DASH)),
        }
        if len(runs) == 1:
            facts += of_run.items()
        else:
            of_run["Config"] = f"config {of_run['Config']}"
            places = {f"{r['suite']}/{r['platform']}" for r in rows if r["run_id"] == run.get("run_id")}
            facts.append(
                (f"Run {of_run.pop('Run')}", " · ".join(filter(None, [", ".join(sorted(places)), *of_run.values()])))
            )
    return [(name, view.shown(value) or DASH) for name, value in facts]


def _figures(group: GroupMetrics) -> list[_Figure]:
    s = group.summaries["overall"]
    rate = percent(s.clean_pass_rate)
    each = s.tokens_per_success
    return [
        _Figure(rate + (" %" if rate != DASH else ""), "clean pass rate", f"{s.passed} of {s.attempted} operators"),
        _Figure(times(s.speedup) + ("×" if s.speedup else ""), "speedup", f"{s.timed} timed, geometric mean"),
        _Figure(percent(s.fast[1.0]) + (" %" if s.fast[1.0] is not None else ""), "fast at 1.0×", "of all attempted"),
        _Figure(view.count(s.tokens), "tokens", f"{view.count(each)} a success"),
        _Figure(view.seconds(s.wall_s), "wall time", f"{s.hacks} hacked submissions"),
    ]


def _fit(value: Any) -> Any:
    """Whatever text the template puts out has gone through `view.shown`, even if it was forgotten elsewhere."""
    return view.shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _template(name: str) -> str:
    return resources.files("kgb_gym.report").joinpath("templates", name).read_text(encoding="utf-8")
