"""What the HTML page shows, as plain values: built from the two tables, laid out by the template.

All text of submissions is hostile. Escaping is the template's; here, control and direction-changing characters are
made visible, and lengths are bounded.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgb_gym.report.tables import DASH, times
from kgb_gym.verdict import Status

Row = Mapping[str, Any]

MAX_TEXT = 60_000
"""Characters kept of one text; kernels are far shorter."""
MAX_CASES = 6
"""Failed cases told in full."""
SOURCES = {"aten": "ATen", "vllm": "vLLM", "cublas": "cuBLAS"}
OUTCOMES = (*(s.value for s in Status), "no_submission", "interrupted")
UNSCORED = (Status.HARNESS_ERROR.value, "interrupted")
_TRICKS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@dataclass(frozen=True)
class Line:
    """One line of code or of a diff: `kind` is empty, `add`, `del`, `hunk` or `hack`."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class CaseView:
    """A case as the page tells it."""

    name: str
    state: str
    """`ok`, `paper` (right at the paper's gate alone), `bad` or `skip`."""
    detail: str


@dataclass(frozen=True)
class Turn:
    """One step of an episode."""

    number: int
    action: str
    status: str
    stage: str
    message: str
    code: tuple[Line, ...]
    diff: tuple[Line, ...]
    cases: tuple[CaseView, ...]
    failed: tuple[CaseView, ...]
    hacks: tuple[Row, ...]
    terms: tuple[tuple[str, str, str], ...]
    """Name, signed value, and `plus`, `minus` or `zero`."""
    reward: str
    scored: bool
    speedup: str
    tokens: str
    wall: str
    observation: str
    arguments: str

    @property
    def passed(self) -> int:
        """Cases right at both gates."""
        return sum(c.state == "ok" for c in self.cases)


@dataclass(frozen=True)
class EpisodeView:
    """One trajectory, turn by turn."""

    anchor: str
    title: str
    outcome: str
    facts: tuple[str, ...]
    turns: tuple[Turn, ...]

    @property
    def size(self) -> int:
        """About how many bytes of page it takes."""
        texts = (len(t.observation) + len(t.message) + 90 * len(t.cases) for t in self.turns)
        lines = (len(x.text) + 40 for t in self.turns for x in (*t.code, *t.diff))
        return 2000 + sum(texts) + sum(lines)


@dataclass(frozen=True)
class OperatorView:
    """One row of the operator table."""

    name: str
    source: str
    group: str
    outcome: str
    clean: bool
    hacked: bool
    passed: int
    cases: int
    speedup: float | None
    submissions: int
    tokens: int | None
    wall_s: float | None
    anchor: str
    samples: int


@dataclass(frozen=True)
class Bar:
    """One bar of the outcome chart: counts by outcome."""

    title: str
    total: int
    parts: tuple[tuple[str, int, float, float], ...]
    """Outcome, count, and where its segment begins and how long it is, in per cent."""

    @property
    def rate(self) -> str:
        """Clean pass rate over what was scored, as a whole percentage."""
        counts = {outcome: number for outcome, number, _, _ in self.parts}
        scored = self.total - sum(counts.get(o, 0) for o in UNSCORED)
        return f"{100 * counts.get('passed', 0) / scored:.0f} %" if scored else DASH


@dataclass(frozen=True)
class Anchors:
    """Which element of the page shows an episode."""

    by_key: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def of(self, episode: Row) -> str:
        return self.by_key[(episode["run_id"], episode["episode_id"])]


def shown(text: str | None) -> str:
    """Text fit for display: control and direction-changing characters as escapes, bounded in length."""
    whole = text or ""
    cut = whole[:MAX_TEXT]
    if len(whole) > MAX_TEXT:
        cut += f"\n… {len(whole) - MAX_TEXT:,} more characters"
    return _TRICKS.sub(lambda m: f"\\u{ord(m.group()):04x}", cut.replace("\r\n", "\n"))


def anchors(episodes: Sequence[Row]) -> Anchors:
    """Anchors by position: nothing recorded becomes part of an id."""
    return Anchors({(e["run_id"], e["episode_id"]): f"episode-{i}" for i, e in enumerate(episodes)})


def operator_rows(
    episodes: Sequence[Row], steps: Mapping[tuple[str, str], list[Row]], ids: Anchors
) -> list[OperatorView]:
    """One row for each operator and group: its first clean sample, or else its last."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for e in episodes:
        groups[(e["operator"] or "", e["method"], e["model"], e["suite"], e["platform"])].append(e)
    rows = []
    for (name, method, model, suite, platform), found in groups.items():
        drawn = sorted(found, key=lambda e: (e["sample"] or 0, e["episode_id"]))
        best = next((e for e in drawn if e["clean_pass"]), drawn[-1])
        taken = steps.get((best["run_id"], best["episode_id"]), [])
        cases = next((s["cases"] or [] for s in taken if s["step"] == best["best_step"]), [])
        tokens = [e["total_tokens"] for e in drawn if e["total_tokens"] is not None]
        walls = [e["wall_s"] for e in drawn if e["wall_s"] is not None]
        rows.append(
            OperatorView(
                name=shown(name),
                source=name.partition("/")[0],
                group=shown(" · ".join(str(p) for p in (method, model, suite, platform) if p)),
                outcome=best["outcome"] or "interrupted",
                clean=bool(best["clean_pass"]),
                hacked=any(bool(e["hacked"]) for e in drawn),
                passed=sum(bool(c["passed"]) for c in cases),
                cases=len(cases),
                speedup=best["speedup"] if best["comparable"] else None,
                submissions=sum(e["n_submissions"] or 0 for e in drawn),
                tokens=sum(tokens) if tokens else None,
                wall_s=sum(walls) if walls else None,
                anchor=ids.of(best),
                samples=len(drawn),
            )
        )
    order = list(SOURCES)
    return sorted(rows, key=lambda r: (order.index(r.source) if r.source in order else 9, r.name, r.group))


def bars(rows: Sequence[OperatorView]) -> list[Bar]:
    """The outcome chart: one bar for each source, and one for all where there are several; where methods, suites or
    platforms differ, one bar for each of those, as they are never pooled."""
    groups = dict.fromkeys(r.group for r in rows)
    if len(groups) > 1:
        return [Bar(group, *_parts([r for r in rows if r.group == group])) for group in groups]
    found = [Bar(title, *_parts([r for r in rows if r.source == s])) for s, title in SOURCES.items()]
    found = [b for b in found if b.total]
    return [Bar("All", *_parts(rows)), *found] if len(found) > 1 else found


def episode_view(episode: Row, steps: Sequence[Row], anchor: str) -> EpisodeView:
    """One episode turn by turn, each submission with its difference to the one before."""
    turns, before = [], ""
    for step in steps:
        turns.append(_turn(step, before))
        if step["action"] != "tool" and step["code"]:
            before = step["code"]
    sample = f", sample {episode['sample'] + 1}" if episode["sample"] else ""
    setting = [shown(str(episode[n])) for n in ("method", "model", "suite", "platform") if episode[n]]
    reward = "unscored" if episode["reward_valid"] is False else f"reward {episode['reward_total'] or 0:+.2f}"
    facts = (*setting, *([f"seed {episode['seed']}"] if episode["seed"] is not None else []), reward)
    title = shown(f"{episode['operator'] or 'unknown operator'}{sample}")
    return EpisodeView(anchor, title, episode["outcome"] or "interrupted", facts, tuple(turns))


def count(value: float | None) -> str:
    """A count for people: 1 234, 56.7k, 1.2M."""
    if value is None:
        return DASH
    return f"{value / 1e6:.1f}M" if value >= 1e6 else f"{value / 1e3:.1f}k" if value >= 1e4 else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """A time for people: 4.2 s, 3 min, 1.5 h."""
    if value is None:
        return DASH
    return f"{value / 3600:.1f} h" if value >= 5400 else f"{value / 60:.1f} min" if value >= 90 else f"{value:.1f} s"


def _turn(step: Row, before: str) -> Turn:
    cases = tuple(_case(c) for c in step["cases"] or ())
    tool = step["action"] == "tool"
    marked = {h["line"] for h in step["hacks"] or () if h["line"]}
    code = shown(step["code"]).removesuffix("\n").split("\n") if step["code"] else []
    terms = tuple((t["name"].replace("_", " "), *_signed(t["value"])) for t in step["reward_terms"] or ())
    return Turn(
        number=step["step"] + 1,
        action=shown(f"tool: {step['tool']}") if tool else "submission",
        status=step["status"] or "",
        stage=step["stage"] or "",
        message=shown(step["message"]),
        code=tuple(Line(text, "hack" if i in marked else "") for i, text in enumerate(code, 1)),
        diff=_diff(shown(before), shown(step["code"])) if before and step["code"] and not tool else (),
        cases=cases,
        failed=tuple(c for c in cases if c.state in ("bad", "paper"))[:MAX_CASES],
        hacks=tuple({k: shown(v) if isinstance(v, str) else v for k, v in h.items()} for h in step["hacks"] or ()),
        terms=terms,
        reward=DASH if step["reward"] is None else f"{step['reward']:+.2f}",
        scored=step["reward_valid"] is not False,
        speedup=times(step["speedup"]) if step["speedup"] is not None else "",
        tokens=count(step["tokens"]),
        wall=seconds(step["wall_s"]),
        observation="" if step["observation"] == step["message"] else shown(step["observation"]),
        arguments=shown(step["tool_arguments"]),
    )


def _case(case: Row) -> CaseView:
    state = "skip" if case["skipped"] else "ok" if case["passed"] else "paper" if case["passed_paper"] else "bad"
    parts = [", ".join(f"{k}={v}" for k, v in sorted(json.loads(case["params"] or "{}").items()))]
    if (d := case["difference"]) is not None:
        parts.append(
            f"{d['output']}: {d['mismatches']} of {d['total']} wrong, largest error {d['max_abs']:.3g} "
            f"(relative {d['max_rel']:.3g}) at {list(d['index'])}: expected {d['expected']}, got {d['got']}"
        )
    parts += [case["error"]] if case["error"] else []
    if state == "paper":
        parts.append("right by the paper's tolerance, wrong by the strict one")
    return CaseView(shown(f"{case['interface']} · {case['case']}"), state, shown("\n".join(p for p in parts if p)))


def _diff(before: str, after: str) -> tuple[Line, ...]:
    kinds = {"+": "add", "-": "del", "@": "hunk"}
    old, new = (text.removesuffix("\n").split("\n") for text in (before, after))
    lines = difflib.unified_diff(old, new, n=3, lineterm="")
    return tuple(Line(text, kinds.get(text[:1], "")) for text in list(lines)[2:])


def _parts(rows: Sequence[OperatorView]) -> tuple[int, tuple[tuple[str, int, float, float], ...]]:
    parts, start = [], 0.0
    for outcome in sorted({r.outcome for r in rows}, key=lambda o: OUTCOMES.index(o) if o in OUTCOMES else 99):
        number = sum(r.outcome == outcome for r in rows)
        parts.append((outcome, number, round(start, 3), round(100 * number / len(rows), 3)))
        start += 100 * number / len(rows)
    return len(rows), tuple(parts)


def _signed(value: float | None) -> tuple[str, str]:
    number = value or 0.0
    return (
        f"{number:+.3f}".rstrip("0").rstrip(".") if number else "0",
        "plus" if number > 0 else "minus" if number else "zero",
    )
