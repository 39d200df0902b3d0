"""What the paper's figures show, as data: Figures 2, 3, 4, 6 and 7, the published values beside yours.

Pure functions of the metrics and of the published tables. Accuracies are shares in [0, 1], speedups ratios; None stands
for what cannot be told. `kgb_gym.report.plots` draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgb_gym.metrics import GroupMetrics, Metrics, Summary
from kgb_gym.report import published, published_appendix
from kgb_gym.report.paper import ABLATION, jointly_failed, similarity_pairs
from kgb_gym.report.places import OUR_PLATFORMS
from kgb_gym.report.published import PLATFORMS
from kgb_gym.report.tables import SCOPES

PLATFORM_ROW = "Claude Code (Opus-4.6)"
"""The row of Tables 3 and 15 that Figure 2 shows."""

ABLATION_MODEL = "Opus-4.6"
"""The model of the paper's ablation."""

Values = tuple[float | None, ...]


@dataclass(frozen=True)
class Series:
    """One line, bar group or cloud of a figure."""

    label: str
    values: Values
    published: bool = False


@dataclass(frozen=True)
class Platforms:
    """Figure 2: one value a platform of the paper in every series (ATen operators)."""

    names: tuple[str, ...]
    accuracy: tuple[Series, ...]
    speedup: tuple[Series, ...]
    tokens: tuple[Series, ...]
    """Tokens relative to the same row's on NVIDIA."""
    time: tuple[Series, ...]
    """Wall time relative to the same row's on NVIDIA."""


@dataclass(frozen=True)
class Point:
    """Figure 3: one method and model, over all its operators."""

    label: str
    section: str
    """The paper's paradigm; empty for yours."""
    accuracy: float
    speedup: float | None
    published: bool = False


@dataclass(frozen=True)
class Mode:
    """Figures 4 and 6: the modes of the ablation in one scope, for one model and setting."""

    label: str
    accuracy: Values
    """By mode, in the order of `MODES`."""
    speedup: Values
    published: bool = False


MODES = tuple(ABLATION.values())


def platforms(metrics: Metrics) -> Platforms:
    """Accuracy, speedup and cost on ATen operators by platform."""
    cells = [_number(c) for c in _row(published.TABLE_3)]
    costs = [_number(c) for c in _row(published_appendix.TABLE_15)]
    accuracy = [Series(f"paper: {PLATFORM_ROW}", tuple(_share(v) for v in cells[0::2]), True)]
    speedup = [Series(f"paper: {PLATFORM_ROW}", tuple(cells[1::2]), True)]
    tokens = [Series(f"paper: {PLATFORM_ROW}", _relative(costs[0::3]), True)]
    time = [Series(f"paper: {PLATFORM_ROW}", _relative(costs[2::3]), True)]
    for label, by_platform in _by_platform(metrics.groups).items():
        found = [by_platform.get(name) for name in PLATFORMS]
        accuracy.append(Series(label, tuple(s.clean_pass_rate if s else None for s in found)))
        speedup.append(Series(label, tuple(s.speedup if s else None for s in found)))
        if sum(s is not None for s in found) > 1:
            tokens.append(Series(label, _relative([float(s.tokens) if s else None for s in found])))
            time.append(Series(label, _relative([s.wall_s if s else None for s in found])))
    return Platforms(PLATFORMS, tuple(accuracy), tuple(speedup), tuple(tokens), tuple(time))


def divergence(metrics: Metrics) -> tuple[Point, ...]:
    """Accuracy and speedup over all operators, a point a method and model; the paper's are Table 2's."""
    points = []
    for row in published.TABLE_2:
        accuracy = _share(_number(row.cells[0]))
        assert accuracy is not None
        points.append(Point(row.label, row.section, accuracy, _number(row.cells[1]) or None, True))
    for group in metrics.groups:
        summary = group.summaries["overall"]
        if summary.clean_pass_rate is not None:
            points.append(Point(_named(group), "", summary.clean_pass_rate, summary.speedup))
    return tuple(points)


def ablation(metrics: Metrics, scope: str) -> tuple[Mode, ...]:
    """The value of execution feedback in one scope (`overall`, `aten`, `vllm`, `cublas`)."""
    at = 2 + 2 * SCOPES.index(scope)
    rows = {row.label: row.cells for row in published_appendix.TABLE_17}
    found = [
        Mode(
            f"paper: {ABLATION_MODEL}",
            tuple(_share(_number(rows[mode][at])) for mode in MODES),
            tuple(_number(rows[mode][at + 1]) for mode in MODES),
            True,
        )
    ]
    settings: dict[str, dict[str, Summary]] = {}
    for group in metrics.groups:
        if group.key.method in ABLATION and scope in group.summaries:
            label = f"{group.key.model or 'no model'} · {group.key.suite}/{group.key.platform}"
            settings.setdefault(label, {})[group.key.method] = group.summaries[scope]
    for label, by_method in settings.items():
        summaries = [by_method.get(method) for method in ABLATION]
        found.append(
            Mode(
                label,
                tuple(s.clean_pass_rate if s else None for s in summaries),
                tuple(s.speedup if s else None for s in summaries),
            )
        )
    return tuple(found)


def similarity(metrics: Metrics) -> tuple[Series, ...]:
    """Code similarity between rounds of the operators that reflection and no-reflection both failed (Table 18)."""
    each = [row for row in published_appendix.TABLE_18 if not row.label.startswith("Overall")]
    shares = [[_share(_number(row.cells[i].rstrip("%"))) for row in each] for i in (0, 1)]
    found = [
        Series("paper: reflection", tuple(shares[0]), True),
        Series("paper: no reflection", tuple(shares[1]), True),
    ]
    for reflection, other in similarity_pairs(metrics.groups):
        both = jointly_failed(reflection, other)
        key = reflection.key
        setting = f"{key.model or 'no model'} · {key.suite}/{key.platform}"
        if both:
            found.append(Series(f"reflection ({setting})", tuple(one for _, one, _ in both)))
            found.append(Series(f"no reflection ({setting})", tuple(two for _, _, two in both)))
    return tuple(found)


def _by_platform(groups: Sequence[GroupMetrics]) -> dict[str, dict[str, Summary]]:
    found: dict[str, dict[str, Summary]] = {}
    for group in groups:
        name = OUR_PLATFORMS.get(group.key.platform)
        if name is not None and "aten" in group.summaries:
            found.setdefault(f"{group.key.label} · {group.key.suite}", {})[name] = group.summaries["aten"]
    return found


def _row(table: Sequence[published.PublishedRow]) -> tuple[str, ...]:
    return next(row.cells for row in table if row.label == PLATFORM_ROW)


def _named(group: GroupMetrics) -> str:
    return f"{group.key.label} · {group.key.suite}/{group.key.platform}"


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _share(value: float | None) -> float | None:
    return None if value is None else value / 100


def _relative(values: Sequence[float | None]) -> Values:
    base = values[0]
    return tuple(None if v is None or not base else v / base for v in values)
