"""Every numbered table of the paper that records can fill: Tables 2, 3, 4 and 11 to 18."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from kgb_gym.metrics import GroupMetrics, Metrics, confidence, matched
from kgb_gym.metrics.similarity import mean_similarity
from kgb_gym.report import published, published_appendix
from kgb_gym.report.places import Cells, Places
from kgb_gym.report.portability import portability_table
from kgb_gym.report.published import PublishedRow
from kgb_gym.report.tables import (
    DASH,
    SCOPES,
    TITLES,
    Table,
    TableRow,
    accuracy,
    cost,
    fast,
    hack_table,
    label,
    percent,
    times,
    unscored_table,
)

ABLATION = {
    "pass@1": "Pass@1 (Temp=0)",
    "single-step-agent": "Single-step Agent",
    "no-reflection": "Pass@5 No-Reflect",
    "reflection": "Pass@5 Reflection",
    "claude-code": "Claude Code",
    "ako4all": "AKO4all",
}
"""Methods of Table 17 and the modes under which it prints them."""


def paper_tables(metrics: Metrics, *, with_published: bool = True) -> tuple[Table, ...]:
    """The paper's tables filled with your numbers; the published rows, as printed, below them."""
    note = "; ".join(metrics.notes)
    groups = metrics.groups

    def table(title: str, columns: Iterable[str], ours: Iterable[TableRow], theirs: Sequence[PublishedRow]) -> Table:
        printed = [TableRow(f"paper: {r.label}", r.cells, published=True) for r in theirs] if with_published else []
        return Table(title, ("Method & setup", *columns), (*ours, *printed), note)

    def by_scope(cells: Cells) -> list[TableRow]:
        return [TableRow(label(g), tuple(c for s in SCOPES for c in cells(g.summaries.get(s)))) for g in groups]

    places = Places.of(groups)

    def by_platform(title: str, measures: Sequence[str], cells: Cells, theirs: Sequence[PublishedRow]) -> Table:
        return places.table(title, measures, cells, theirs, note, with_published)

    pairs = [f"{TITLES[s]} {what}" for s in SCOPES for what in ("acc %", "spd ×")]
    fasts = [f"{TITLES[s]} fast {p}" for s in SCOPES for p in ("0.8", "1.0", "1.5")]
    appendix = published_appendix
    return (
        table("Table 2: clean pass rate and speedup by operator source", pairs, by_scope(accuracy), published.TABLE_2),
        by_platform(
            "Table 3: clean pass rate and speedup on ATen operators by platform",
            ("acc %", "spd ×"),
            accuracy,
            published.TABLE_3,
        ),
        table(
            "Table 4: cost",
            ("Total tokens (M)", "Tokens per success (M)", "Total time (h)"),
            [TableRow(label(g), cost(g.summaries["overall"])) for g in groups],
            published.TABLE_4,
        ),
        table("Table 11: as Table 2, earlier models", pairs, by_scope(accuracy), appendix.TABLE_11),
        table("Table 12: as Table 13, earlier models", fasts, by_scope(fast), appendix.TABLE_12),
        table("Table 13: fast_p over all operators attempted (%)", fasts, by_scope(fast), published.TABLE_13),
        by_platform(
            "Table 14: fast_p on ATen operators by platform (%)",
            ("fast 0.8", "fast 1.0", "fast 1.5"),
            fast,
            appendix.TABLE_14,
        ),
        by_platform(
            "Table 15: cost on ATen operators by platform",
            ("tok (M)", "tok/suc", "time (h)"),
            lambda s: cost(s) if s else (DASH,) * 3,
            appendix.TABLE_15,
        ),
        hack_table(groups, with_published, note),
        _ablation(groups, with_published, note),
        _similarity(groups, with_published, note),
    )


def comparison_tables(metrics: Metrics) -> tuple[Table, ...]:
    """Beyond the paper's tables: how sure each group's numbers are, and pairs of groups on the operators that both
    solved (section 4.4)."""
    note = "95% percentile bootstrap over operators"
    sure = []
    for group in metrics.groups:
        c = confidence(group)
        rate = None if c.clean_pass_interval is None else [100 * x for x in c.clean_pass_interval]
        cells = (percent(c.clean_pass_rate), _interval(rate, "{:.0f}"), times(c.speedup), _interval(c.speedup_interval))
        sure.append(TableRow(label(group), cells))
    pairs = [
        TableRow(
            f"{m.first.label} / {m.second.label} · {m.first.suite}/{m.first.platform}",
            (str(m.operators), times(m.first_speedup), times(m.second_speedup), times(m.ratio), _interval(m.interval)),
        )
        for m in matched(metrics)
    ]
    columns = ("Method & setup", "Acc %", "95%", "Spd ×", "95%")
    heads = ("First / second", "Operators", "First ×", "Second ×", "Ratio", "95%")
    tables = (
        Table("Confidence", columns, tuple(sure), note),
        Table("Speedup on the operators that both solved", heads, tuple(pairs), note),
    )
    portability = portability_table(metrics)
    return (*(t for t in tables if t.rows), *([portability] if portability is not None else []))


def _interval(ends: Sequence[float] | None, form: str = "{:.2f}") -> str:
    return DASH if ends is None else "…".join(form.format(x) for x in ends)


def summary_tables(metrics: Metrics) -> tuple[Table, ...]:
    """Tables 2, 4, 13 and 16 with your numbers alone, 3 and 15 where there are several platforms, those of the ablation
    and portability where there are any, and the unscored episodes."""
    wanted: tuple[str, ...] = ("Table 2:", "Table 4:", "Table 13:", "Table 16:")
    if Places.of(metrics.groups).several:
        wanted += ("Table 3:", "Table 15:")
    every = paper_tables(metrics, with_published=False)
    found = [t for t in every if t.title.startswith(wanted)]
    found += [t for t in every if t.title.startswith(("Table 17:", "Table 18:")) and t.rows]
    further = (portability_table(metrics), unscored_table(metrics))
    return (*found, *(t for t in further if t is not None))


def _ablation(groups: Sequence[GroupMetrics], with_published: bool, note: str) -> Table:
    theirs = published_appendix.TABLE_17
    about = {r.label: r.cells[:2] for r in theirs}
    rows = []
    for method, mode in ABLATION.items():
        for g in (g for g in groups if g.key.method == method):
            numbers = (c for s in SCOPES for c in accuracy(g.summaries.get(s)))
            rows.append(TableRow(label(g), (*about[mode], *numbers)))
    if with_published:
        rows += [TableRow(f"paper: {r.label}", r.cells, published=True) for r in theirs]
    columns = (
        "Mode",
        "Feedback",
        "Iteration method",
        *(f"{TITLES[s]} {w}" for s in SCOPES for w in ("acc %", "spd ×")),
    )
    return Table("Table 17: ablation, the value of execution feedback", columns, tuple(rows), note)


def _similarity(groups: Sequence[GroupMetrics], with_published: bool, note: str) -> Table:
    rows = [row for one, other in similarity_pairs(groups) for row in _pair(one, other)]
    if with_published:
        theirs = published_appendix.TABLE_18
        rows += [TableRow(f"paper: {r.label}", r.cells, published=True) for r in theirs]
    columns = ("Operator", "Refl.", "No-Refl.")
    return Table("Table 18: code similarity between rounds, operators that both failed", columns, tuple(rows), note)


def similarity_pairs(groups: Sequence[GroupMetrics]) -> list[tuple[GroupMetrics, GroupMetrics]]:
    """Reflection and no-reflection of one model, suite and platform."""

    def setting(group: GroupMetrics) -> tuple[str | None, str, str]:
        return (group.key.model, group.key.suite, group.key.platform)

    reflecting = [g for g in groups if g.key.method == "reflection"]
    others = [g for g in groups if g.key.method == "no-reflection"]
    return [(g, other) for g, other in itertools.product(reflecting, others) if setting(g) == setting(other)]


def jointly_failed(one: GroupMetrics, other: GroupMetrics) -> list[tuple[str, float | None, float | None]]:
    """The operators that two groups both failed, and the similarity between rounds in each."""
    failed = {o.operator: o.similarity for o in other.operators if not o.clean}
    return [(o.operator, o.similarity, failed[o.operator]) for o in one.operators
            if not o.clean and o.operator in failed]  # fmt: skip


def _pair(reflection: GroupMetrics, other: GroupMetrics) -> list[TableRow]:
    both = jointly_failed(reflection, other)
    named = f" ({reflection.key.model} · {reflection.key.suite}/{reflection.key.platform})"
    rows = [TableRow(f"{name}{named}", (_share(one), _share(two))) for name, one, two in both]
    if rows:
        means = (mean_similarity(one for _, one, _ in both), mean_similarity(two for _, _, two in both))
        rows.append(TableRow(f"Overall avg. of {len(both)}{named}", tuple(_share(m) for m in means)))
    return rows


def _share(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:.1f}%"
