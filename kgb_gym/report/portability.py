"""How many clean kernels compile for chips on which they were not run."""

from __future__ import annotations

from kgb_gym.metrics import GroupMetrics, Metrics
from kgb_gym.report.tables import DASH, Table, TableRow, label, percent


def portability_table(metrics: Metrics) -> Table | None:
    """The share of clean kernels that compile, by chip and for all of them; None where nothing was compiled for several
    (`kgb run --target`)."""
    groups = [g for g in metrics.groups if g.summaries["overall"].compiled]
    if not groups:
        return None
    targets = sorted({t for g in groups for t in g.summaries["overall"].compiles})
    return Table(
        "Portability: clean kernels that compile (%)",
        ("Method & setup", "Kernels", *targets, "All"),
        tuple(TableRow(label(g), _cells(g, targets)) for g in groups),
        "compiled ahead of time, not run there; no row of the paper says this",
    )


def _cells(group: GroupMetrics, targets: list[str]) -> tuple[str, ...]:
    summary = group.summaries["overall"]
    shares = (percent(summary.compiles[t]) if t in summary.compiles else DASH for t in targets)
    return (str(summary.compiled), *shares, percent(summary.portable))
