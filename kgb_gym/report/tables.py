"""Metrics laid out as the paper's tables: as data, as plain text, and for a rich console.

Percentages and speedups are rounded as the paper rounds them; a dash stands for what cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import rich.box
import rich.table
from rich.text import Text

from kgb_gym.metrics import GroupMetrics, Metrics, Summary, failures
from kgb_gym.report import published

DASH = "—"
SCOPES = ("overall", "aten", "vllm", "cublas")
TITLES = {"overall": "Overall", "aten": "ATen", "vllm": "vLLM", "cublas": "cuBLAS"}


@dataclass(frozen=True)
class TableRow:
    """One row: where it comes from, its label and its cells."""

    label: str
    cells: tuple[str, ...]
    published: bool = False
    """Printed in the paper, not measured here."""


@dataclass(frozen=True)
class Table:
    """A titled table of text cells."""

    title: str
    columns: tuple[str, ...]
    """Heads, the label's first."""
    rows: tuple[TableRow, ...]
    note: str = ""

    def text(self) -> str:
        """Plain text, columns aligned, no colour."""
        lines = [self.columns, *((row.label, *row.cells) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]

        def laid(cells: Sequence[str]) -> str:
            rest = (c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))
            return "  ".join([cells[0].ljust(widths[0]), *rest]).rstrip()

        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        body = [laid(line) for line in lines[1:]] or ["(nothing recorded)"]
        return "\n".join([self.title, rule, laid(self.columns), rule, *body, *([self.note] if self.note else [])])

    def rich(self) -> rich.table.Table:
        """For `rich.console.Console.print`; published rows are dim."""
        table = rich.table.Table(title=Text(self.title), caption=Text(self.note), box=rich.box.SIMPLE_HEAD)
        for i, column in enumerate(self.columns):
            table.add_column(Text(column), justify="right" if i else "left", overflow="fold")
        for row in self.rows:
            cells = [Text(c) for c in (row.label, *row.cells)]
            table.add_row(*cells, style="dim" if row.published else None)
        return table


def label(group: GroupMetrics) -> str:
    """A group's row label: method, model, suite, platform and how many operators were attempted."""
    count = group.summaries["overall"].attempted
    return f"{group.key.label} · {group.key.suite}/{group.key.platform} · n={count}"


def percent(value: float | None) -> str:
    """A share as whole per cent, as the paper prints it."""
    return DASH if value is None else f"{100 * value:.0f}"


def times(value: float | None) -> str:
    """A speedup with two decimals."""
    return DASH if value is None else f"{value:.2f}"


def accuracy(summary: Summary | None) -> tuple[str, str]:
    """Clean pass rate and speedup."""
    return (percent(summary.clean_pass_rate), times(summary.speedup)) if summary else (DASH, DASH)


def fast(summary: Summary | None) -> tuple[str, ...]:
    """fast_p by p."""
    return tuple(percent(v) for v in summary.fast.values()) if summary else (DASH, DASH, DASH)


def cost(summary: Summary) -> tuple[str, str, str]:
    """Tokens and tokens per success, in millions, and wall hours."""
    each = summary.tokens_per_success
    return (_millions(summary.tokens), DASH if each is None else _millions(each), f"{summary.wall_s / 3600:.2f}")


def _millions(tokens: float) -> str:
    return f"{tokens / 1e6:.2f}" if tokens >= 1e4 or tokens == 0 else f"{tokens / 1e6:.4f}"


def hack_table(groups: Sequence[GroupMetrics], with_published: bool, note: str) -> Table:
    """Table 16."""
    rows = [
        TableRow(
            label(g),
            (str(sum(g.hacks.values())), " + ".join(f"{n} {TITLES.get(s, s)}" for s, n in g.hacks.items()) or DASH),
        )
        for g in groups
    ]
    if with_published:
        for row in published.TABLE_16:
            for name, cells in (("Pass@1", row.cells[:2]), ("Pass@5", row.cells[2:])):
                rows.append(TableRow(f"paper: {name} ({row.label})", cells, published=True))
    return Table(
        "Table 16: hacked submissions and their sources", ("Method & setup", "Hacks", "Subset"), tuple(rows), note
    )


def failure_table(metrics: Metrics) -> Table | None:
    """Failure patterns of Appendix K: what was found, the rule that matched, and how often; None if nothing failed."""
    rows = [
        TableRow(name, (str(count), *failures.explain(name), label(g)))
        for g in metrics.groups
        for name, count in g.failures.items()
    ]
    if not rows:
        return None
    columns = ("Pattern", "Count", "What it is", "Rule", "Group")
    return Table("Failure patterns (Appendix K) of submissions and unreadable answers", columns, tuple(rows))


def unscored_table(metrics: Metrics) -> Table | None:
    """Episodes that count for nothing, and why; None if there are none."""
    rows = [TableRow(u.operator, (u.reason, u.episode_id, label(g))) for g in metrics.groups for u in g.unscored]
    if not rows:
        return None
    return Table("Unscored episodes (not counted as failures)", ("Operator", "Reason", "Episode", "Group"), tuple(rows))
