"""Speed and scale, all of it: `python -m benchmarks.performance [PART…] [--platform P] [--seconds S]`.

Each part compares two things in one run. Results go to `docs/data/performance.json`, cumulative by platform and part, and
from there into the table of `docs/performance.md`; `--table` renews the table alone. Parts: start, ready, stages,
pipelining, workers, haul, vector, record; on a GPU also noise and baselines.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import calibration, harness, noise, throughput
from benchmarks.comparison import Row
from benchmarks.measure import machine
from kgb_gym.platforms import get as get_platform

ROOT = Path(__file__).resolve().parent.parent
DATA, PAGE = ROOT / "docs" / "data" / "performance.json", ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def main(arguments: list[str] | None = None) -> int:
    """Measure, write JSON, renew the table; exit code 1 if a target is missed."""
    given = _parser().parse_args(arguments)
    platform = get_platform(given.platform)
    if not given.table:
        parts = _parts(platform.name, given.seconds, given.repeats)
        if unknown := sorted(set(given.parts) - set(parts)):
            print(f"no such part here: {', '.join(unknown)}; known: {', '.join(parts)}", file=sys.stderr)
            return 2
        missed = 0
        for name in given.parts or parts:
            rows = []
            for row in parts[name]():
                rows.append(row)
                missed += row.met is False
                print(_line(name, row), flush=True)
            _keep(given.json, platform.name, name, rows)
        if given.json != DATA:
            return int(bool(missed))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(renewed(text, json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8")
    return 0 if given.table else int(bool(missed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--platform", default="auto")
    parser.add_argument("--seconds", type=float, default=120.0, help="of the long haul")
    parser.add_argument("--repeats", type=int, default=noise.REPEATS, help="whole A/A measurements of each length")
    parser.add_argument("--json", type=Path, default=DATA, help="where results go; another file leaves the page alone")
    parser.add_argument("--table", action="store_true", help="measure nothing: renew the page from the file")
    return parser


def _parts(platform: str, seconds: float, repeats: int) -> dict[str, Callable[[], Iterator[Row]]]:
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "start": lambda: throughput.start(platform),
        "ready": lambda: throughput.ready(platform),
        "stages": lambda: throughput.stages(platform),
        "pipelining": lambda: throughput.pipelining(platform),
        "workers": lambda: throughput.workers(platform),
        "haul": lambda: throughput.haul(platform, seconds),
        "vector": lambda: throughput.vector(platform),
        "record": _record,
    }
    if get_platform(platform).timed:
        parts["noise"] = lambda: noise.noise(repeats)
        parts["baselines"] = calibration.baselines
    return parts


def _record() -> Iterator[Row]:
    """Steps a second that the recorder puts on the disk: eight writers against one."""
    rates = {r.name: r for r in harness.recording()}
    one, eight = rates["recording, 1 writer"], rates["recording, 8 writers"]
    yield Row("recorded steps, 8 writers", eight.value, "per second", "one writer", one.value, harness.STEPS_PER_S,
              at_most=False, detail=eight.detail)  # fmt: skip


def _keep(path: Path, platform: str, part: str, rows: list[Row]) -> None:
    """Put one part's rows into the file, beside the other parts' and platforms'; the file is replaced at once."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    data.setdefault(platform, {})[part] = {
        "date": f"{datetime.date.today()}", "machine": machine(), "load_per_core": round(load, 2),
        "rows": [{**asdict(r), "ratio": r.ratio, "met": r.met} for r in rows],
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(new, path)


def renewed(page: str, data: dict[str, Any]) -> str:
    """The page with its results renewed.

    Raises:
        ValueError: the page has no place for them.
    """
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {BEGIN} or {END}")
    lines = []
    for platform, parts in sorted(data.items()):
        for part, told in sorted(parts.items()):
            load = f"; load {told['load_per_core']:.1f} a core at the end" if told["load_per_core"] > 1.2 else ""
            lines += [f"### {part}, {platform}", "", f"{told['machine']}; {told['date']}{load}.", ""]
            lines += ["| measured | value | against | there | ratio | target | |", "|---|--:|---|--:|--:|--:|---|"]
            lines += [_cells(row) for row in told["rows"]]
            lines.append("")
            lines += [f"- {r['what']}: {r['detail']}" for r in told["rows"] if r["detail"]]
            lines.append("")
    return f"{head}{begin}\n\n" + "\n".join(lines).rstrip() + f"\n\n{end}{tail}"


def _cells(row: dict[str, Any]) -> str:
    unit = f" {row['unit']}" if row["unit"] else ""
    target = "" if row["target"] is None else f"{'≤' if row['at_most'] else '≥'} {row['target']:g}"
    target += "×" if row["of_ratio"] and target else ""
    other = "" if row["other"] is None else f"{row['other']:.4g}{unit}"
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
    mark = {True: "met", False: "missed", None: ""}[row["met"]]
    return f"| {row['what']} | {row['value']:.4g}{unit} | {row['against']} | {other} | {ratio} | {target} | {mark} |"


def _line(part: str, row: Row) -> str:
    against = (
        f" against {row.other:.4g} ({row.against}), ratio {row.ratio:.2f}"
        if row.other is not None and row.ratio
        else ""
    )
    mark = {True: " met", False: " MISSED", None: ""}[row.met]
    return f"{part}: {row.what}: {row.value:.4g} {row.unit}{against}{mark}; {row.detail}"


if __name__ == "__main__":
    sys.exit(main())
