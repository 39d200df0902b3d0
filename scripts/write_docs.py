"""Writes the generated parts of docs/: what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`.

`python scripts/write_docs.py` writes them, `--check` only says whether they are up to date.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgb_gym.baselines.methods import catalog
from kgb_gym.cli import catalogue
from kgb_gym.datasets import schema
from kgb_gym.operators import names
from kgb_gym.platforms import PLATFORMS
from kgb_gym.verification.targets import PORTABLE, TARGETS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
sys.path.append(str(ROOT))  # last: `datasets` is the library, not the folder

from benchmarks import obstacles, results


def operators() -> str:
    """The tables of operators, one a source: interfaces, numbers of cases, and what was measured with the gold kernel."""
    measured = {name: results.read(results.DATA / f"{name}.json") for name in ("cpu", "device", "mutation")}
    entries = catalogue.build()
    parts = []
    for source, title in (("aten", "ATen"), ("vllm", "vLLM"), ("cublas", "cuBLAS")):
        chosen = [e for e in entries if e["source"] == source]
        parts += [f"### {title}: {len(chosen)} operators", "", HEAD, RULE]
        parts += [_row(entry, {k: v.get(entry["name"], {}) for k, v in measured.items()}) for entry in chosen]
        parts.append("")
    return "\n".join(parts).rstrip()


HEAD = (
    "| operator | interfaces | k `paper` (timed) | extra | k `quick` | extra | beyond | gold on CPU, s | gold on a GPU | s | S_i "
    "| largest | mutants killed |"
)
RULE = "|---|---|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|"


def _row(entry: dict[str, Any], measured: dict[str, dict[str, Any]]) -> str:
    k, extra, beyond, timed = (entry[name] for name in ("k", "k_extra", "k_beyond", "k_timed"))
    cpu, device, mutation = measured["cpu"], measured["device"], measured["mutation"]
    cells = [
        f"`{entry['name']}`",
        ", ".join(f"`{name}`" for name in entry["interfaces"]),
        f"{k['paper']} ({timed['paper']})", str(extra["paper"]), str(k["quick"]), str(extra["quick"]), str(beyond["wide"]),
        _seconds(cpu),
        "" if not device else f"{'clean' if device['clean'] else device['status']}, {device['right']} of {device['cases']}",
        f"{device['seconds']:.0f}" if device else "",
        _number(device.get("speedup")), _number((device.get("largest") or {}).get("speedup")),
        f"{mutation['killed']} of {mutation['killed'] + mutation['survived']}" if mutation else "",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _seconds(row: dict[str, Any]) -> str:
    if not row:
        return ""
    return f"{row['seconds']:.1f}" if row["clean"] else f"{row['status']}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def origins() -> str:
    """Where the measured columns come from: hardware, versions and dates of every kind of row."""
    lines = []
    for name, what in (("cpu", "gold on CPU"), ("device", "gold on a GPU"), ("mutation", "mutants killed")):
        rows = results.read(results.DATA / f"{name}.json")
        stale = sorted(op for op, row in rows.items() if op in CATALOGUE and row["gold"] != results.gold_hash(op))
        for machine in sorted({row["machine"] for row in rows.values()}):
            dates = sorted({row["date"] for row in rows.values() if row["machine"] == machine})
            count = sum(row["machine"] == machine for row in rows.values())
            lines.append(
                f"- {what}: {count} operators on {machine}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}."
            )
        if stale:
            lines.append(f"- {what}: the gold has been changed since for {', '.join(f'`{op}`' for op in stale)}.")
    return "\n".join(lines)


CATALOGUE = frozenset(names())


def agreement() -> str:
    """Whether the oracles and the real libcublas agree, by routine."""
    rows = results.read(results.DATA / "agreement.json")
    lines = [
        "| routine | cases | the oracle's gate | the paper's gate | largest error / gate |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in rows.values():
        worst = "" if row["worst"] is None else f"{row['worst']:.3g}"
        lines.append(f"| `{row['routine']}` | {row['cases']} | {row['agree']} | {row['paper']} | {worst} |")
    whole = sum(row["agree"] == row["cases"] for row in rows.values())
    cases, agree = (sum(row[key] for row in rows.values()) for key in ("cases", "agree"))
    found = Counter((r["library"], r["suite"], r["machine"], r["date"]) for r in rows.values())
    where = [f"{n} routines: {lib}, suite `{s}`, on {m}; {d}." for (lib, s, m, d), n in sorted(found.items())]
    return "\n".join(
        [f"{whole} of {len(rows)} routines agree on all their cases: {agree} of {cases}.", "", *lines, "", *where]
    )


def methods() -> str:
    """The table of methods, as `kgb run --method` takes them."""
    lines = ["| `--method` | needs | temperature | submissions | what it does |", "|---|---|--:|--:|---|"]
    for method in catalog.methods():
        name = "pass@k" if method.name == "pass@1" else method.name
        about = "k independent samples; the first clean pass ends it" if name == "pass@k" else method.about
        heat = "0; 0.8 for k > 1" if name == "pass@k" else "" if method.temperature is None else str(method.temperature)
        needs = {"model": "a model", "agent": "its program, and a model", "scripted": ""}[method.kind]
        lines.append(f"| `{name}` | {needs} | {heat} | {method.budgets.max_submissions} | {about} |")
    return "\n".join(lines)


def platforms() -> str:
    """The platforms with what a user must know of each."""
    lines = [
        "| platform | kernels run on | torch device | timed | not supported | state |",
        "|---|---|---|---|---|---|",
    ]
    for place in PLATFORMS.values():
        if place.emulation is None:
            where = "Triton's interpreter" if place.interpreted else place.noun
            timed = "yes" if place.timed else "no"
            state = "tested" if place.tested else "declared"
            without = ", ".join(f"`{d}`" for d in sorted(place.unsupported))
            lines.append(f"| `{place.name}` | {where} | `{place.device}` | {timed} | {without} | {state} |")
    return "\n".join(lines)


def emulations() -> str:
    """What each emulated platform refuses, as its prompt says it."""
    lines = []
    for place in PLATFORMS.values():
        if place.emulation is not None:
            lines += [f"- `{place.name}`: {' '.join(place.emulation.manual(place.bounds))}"]
    return "\n".join(lines)


def portability() -> str:
    """How many gold kernels compile for each chip, which don't, and what they are made of."""
    rows = results.read(results.DATA / "portability.json")
    launching = {n: r for n, r in rows.items() if any(t["variants"] or t["failed"] for t in r["targets"].values())}
    lines = [
        "| target | chips | golds that compile | specialisations | largest: registers | spilled bytes | shared bytes |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name in PORTABLE:
        each = {n: r["targets"][name] for n, r in launching.items() if name in r["targets"]}
        good = [t for t in each.values() if t["status"] == "passed"]
        most = [
            max((t[key] or 0 for t in each.values()), default=0) for key in ("registers", "spill_bytes", "shared_bytes")
        ]
        count = sum(t["variants"] for t in good)
        lines.append(
            f"| `{name}` | {TARGETS[name].chips} | {len(good)} of {len(each)} | {count} | {most[0]} | {most[1]} | {most[2]} |"
        )
    lines += ["", f"{len(rows) - len(launching)} of {len(rows)} golds launch nothing: views and allocations."]
    for n, r in launching.items():
        for target, t in r["targets"].items():
            if t["status"] != "passed":
                lines.append(f"- `{n}` for `{target}`, {t['status']}: {_cell(t['message'])}")
    return "\n".join([*lines, "", *_where(rows)])


def emulated_golds() -> str:
    """How many gold kernels pass on each emulated platform, and what stops the others."""
    rows = results.read(results.DATA / "emulation.json")
    lines = ["| platform | golds clean | refused when compiled | when launched | hung or too slow | else |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for place in (p.name for p in PLATFORMS.values() if p.emulation is not None):
        each = [r["platforms"][place] for r in rows.values() if place in r["platforms"]]
        kinds = Counter("clean" if e["clean"] else e["status"] for e in each)
        known = ("clean", "compile_error", "runtime_error", "timeout")
        cells = [f"{kinds['clean']} of {len(each)}", *(str(kinds[k]) for k in known[1:])]
        lines.append(f"| `{place}` | {' | '.join(cells)} | {sum(n for k, n in kinds.items() if k not in known)} |")
    lines += ["", "| what the gold does | why it is left so | where |", "|---|---|---|"]
    for kind, places in obstacles.sorted_out(rows).items():
        what, why = ("else", _cell(kind)) if isinstance(kind, str) else (kind.what, kind.why)
        where = "; ".join(f"`{place}`: {_short(names)}" for place, names in sorted(places.items()))
        lines.append(f"| {what} | {why} | {where} |")
    return "\n".join([*lines, "", *_where(rows)])


def _short(names: list[str]) -> str:
    """Names of operators without their source."""
    return ", ".join(f"`{name.partition('/')[2]}`" for name in sorted(names))


def _cell(text: str) -> str:
    """Recorded text as it can stand in a table."""
    return " ".join(text.split())[:200].replace("`", "'").replace("|", "\\|")


def _where(rows: dict[str, Any]) -> list[str]:
    """Where rows come from, a line for each machine, suite and date; and which of them are about an earlier gold."""
    found = Counter((r["suite"], r["machine"], r["date"]) for r in rows.values())
    lines = [f"Suite `{s}`, {n} operators, on {m}; {d}." for (s, m, d), n in sorted(found.items())]
    stale = sorted(name for name, row in rows.items() if name in CATALOGUE and row["gold"] != results.gold_hash(name))
    if stale:
        lines.append(f"The gold has been changed since for {', '.join(f'`{name}`' for name in stale)}.")
    return lines or ["Not measured yet."]


PARTS: dict[str, Callable[[], str]] = {
    "operators": operators,
    "agreement": agreement,
    "methods": methods,
    "origins": origins,
    "platforms": platforms,
    "emulations": emulations,
    "portability": portability,
    "emulated_golds": emulated_golds,
    "steps": lambda: schema.markdown("steps"),
    "episodes": lambda: schema.markdown("episodes"),
}


def renewed(text: str) -> str:
    """The text with every generated part made anew."""
    for name, make in PARTS.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if pattern.search(text):
            made = make()
            text = pattern.sub(lambda m, made=made: f"{m[1]}{made}\n{m[2]}", text)  # type: ignore[misc]
    return text


def main() -> int:
    stale = []
    for path in sorted(DOCS.glob("*.md")):
        old = path.read_text(encoding="utf-8")
        if (new := renewed(old)) != old:
            stale.append(path)
            if "--check" not in sys.argv[1:]:
                path.write_text(new, encoding="utf-8")
    if "--check" in sys.argv[1:] and stale:
        print(f"{', '.join(f'docs/{p.name}' for p in stale)} out of date: run `make docs`", file=sys.stderr)
        return 1
    print(f"docs: {len(stale)} renewed" if stale else "docs: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
