"""The paper's tables by platform, from runs that may have been made on different machines: one row a method, side by side
the paper's platforms and ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgb_gym import platforms
from kgb_gym.metrics import GroupMetrics, Summary
from kgb_gym.report.published import PLATFORMS, PublishedRow
from kgb_gym.report.tables import DASH, Table, TableRow

PUBLISHED_AS = {("nvidia", "paper"): "NVIDIA"}
"""Our platforms and suites that a column of the paper stands for; its platforms A to E are anonymous, and can't be ours."""

OUR_PLATFORMS = {platform: name for (platform, _), name in PUBLISHED_AS.items()}

Cells = Callable[[Summary | None], Sequence[str]]


@dataclass(frozen=True)
class Places:
    """Where the runs of a report were made."""

    groups: tuple[GroupMetrics, ...]
    """Those with ATen operators."""
    ours: tuple[tuple[str, str], ...]
    """Platform and suite of each that is no column of the paper, in order of name."""

    @classmethod
    def of(cls, groups: Sequence[GroupMetrics]) -> Places:
        """The places of a report's groups."""
        chosen = tuple(g for g in groups if "aten" in g.summaries)
        keys = sorted({(g.key.platform, g.key.suite) for g in chosen} - set(PUBLISHED_AS))
        return cls(chosen, tuple(keys))

    @property
    def several(self) -> bool:
        """Whether there is something to stand side by side."""
        return len({(g.key.platform, g.key.suite) for g in self.groups}) > 1

    @property
    def note(self) -> str:
        """What a reader must know of emulated platforms; empty where there are none."""
        names = sorted({name for name, _ in self.ours if emulated(name)})
        if not names:
            return ""
        be = "is an emulation" if len(names) == 1 else "are emulations"
        return f"{', '.join(names)} {be}: what is refused is emulated, speed is not reproduced"

    def table(
        self,
        title: str,
        measures: Sequence[str],
        cells: Cells,
        theirs: Sequence[PublishedRow],
        note: str,
        printed: bool,
    ) -> Table:
        """One table.

        Args:
            title: its title.
            measures: heads of the columns that each platform has.
            cells: what stands in them.
            theirs: the published rows.
            note: what stands below.
            printed: whether the published rows are shown.
        """
        names = [*(p.replace("Platform ", "") for p in PLATFORMS), *(f"{p} ({s})" for p, s in self.ours)]
        columns = ("Method & setup", *(f"{name} {measure}" for name in names for measure in measures))
        empty = (DASH,) * len(measures)
        rows = []
        for method, model in dict.fromkeys((g.key.method, g.key.model) for g in self.groups):
            found = {
                (g.key.platform, g.key.suite): g for g in self.groups if (g.key.method, g.key.model) == (method, model)
            }
            named = {PUBLISHED_AS[key]: g for key, g in found.items() if key in PUBLISHED_AS}
            places = [*(named.get(p) for p in PLATFORMS), *(found.get(key) for key in self.ours)]
            values = (c for g in places for c in (cells(g.summaries["aten"]) if g else empty))
            rows.append(TableRow(_label(tuple(found.values())), tuple(values)))
        if printed:
            pad = empty * len(self.ours)
            rows += [TableRow(f"paper: {r.label}", (*r.cells, *pad), published=True) for r in theirs]
        return Table(title, columns, tuple(rows), "; ".join(filter(None, (note, self.note))))


def emulated(platform: str) -> bool:
    """Whether a recorded platform's name is that of an emulation."""
    try:
        return platforms.get(platform).emulation is not None
    except ValueError:
        return False


def _label(groups: Sequence[GroupMetrics]) -> str:
    """The method, and how many ATen operators were attempted at each place."""
    counts = [(f"{g.key.suite}/{g.key.platform}", g.summaries["aten"].attempted) for g in groups]
    if len(counts) > 2 and len({n for _, n in counts}) == 1:
        return f"{groups[0].key.label} · n={counts[0][1]} at each of {len(counts)} places"
    return f"{groups[0].key.label} · {', '.join(f'{place} n={n}' for place, n in counts)}"
