"""The paper's figures drawn by matplotlib: published values in grey, yours in colour.

Nothing global is touched: figures are made without pyplot, and drawing is the same every time. Needs the extra `plots`.
Not covered: interaction; the numbers stand in the tables.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgb_gym.metrics import Metrics
from kgb_gym.report import figures
from kgb_gym.report.figures import MODES, Mode, Point, Series
from kgb_gym.report.tables import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREYS = ("#8a8a8a", "#bdbdbd", "#5c5c5c")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's palette: told apart by the colour-blind as well."""
MARKERS = {"LLM Sampling Methods": "o", "Vanilla Agentic Frameworks": "s", "Kernel-Specialized Agents": "^"}
LONGEST = 60
"""Characters of a label that are drawn."""
FORMATS = ("svg", "png")
DPI = 110


class PlotsMissing(RuntimeError):
    """matplotlib is not installed."""


@dataclass(frozen=True)
class Plot:
    """One figure, ready to be drawn."""

    name: str
    """The file's name without its ending."""
    title: str
    about: str
    """What it shows, for who can't see it."""
    mine: int
    """How many of your series or points are in it; 0: the published ones alone."""
    draw: Callable[[], Figure]

    def render(self, form: str = "svg") -> bytes:
        """The picture's bytes: `svg`, `png` or another format that matplotlib writes."""
        import matplotlib

        target = io.BytesIO()
        # Ids of an SVG are made of this salt: the same figure gives the same bytes.
        with matplotlib.rc_context({"svg.hashsalt": self.name, "font.size": 9, "axes.spines.right": False,
                                    "axes.spines.top": False}):  # fmt: skip
            metadata = {"Date": None} if form == "svg" else {}
            self.draw().savefig(target, format=form, dpi=DPI, metadata=metadata)
        return target.getvalue()


def available() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def need() -> None:
    """Check that matplotlib is installed.

    Raises:
        PlotsMissing: it is not; the message says how to install it.
    """
    if not available():
        raise PlotsMissing("pictures need matplotlib: pip install 'kgb-gym[plots]'")


def pictures(metrics: Metrics) -> tuple[tuple[Plot, bytes], ...]:
    """The figures that hold something of yours, each with its SVG; none where matplotlib is not installed."""
    return tuple((p, p.render()) for p in plots(metrics) if p.mine) if available() else ()


def plots(metrics: Metrics) -> tuple[Plot, ...]:
    """Figures 2, 3, 4, 6 and 7 of the paper, with your numbers in them."""
    places, points = figures.platforms(metrics), figures.divergence(metrics)
    overall = figures.ablation(metrics, "overall")
    scopes = {scope: figures.ablation(metrics, scope) for scope in TITLES}
    similar = figures.similarity(metrics)
    return (
        Plot(
            "figure-2-platforms", "Platforms: accuracy and speedup, and what they cost (Figure 2)",
            "Radar of accuracy and speedup on ATen operators by platform; bars of tokens and time relative to NVIDIA.",
            _mine(places.accuracy), lambda: _platforms(places),
        ),
        Plot(
            "figure-3-accuracy-speedup", "Accuracy and speedup (Figure 3)",
            "Speedup over clean pass rate, a point a method and model, over all operators.",
            _mine(points), lambda: _divergence(points),
        ),
        Plot(
            "figure-4-ablation", "The value of execution feedback (Figure 4)",
            "Clean pass rate as bars and speedup as a line, by mode of the ablation, over all operators.",
            _mine(overall), lambda: _ablation({"overall": overall}),
        ),
        Plot(
            "figure-6-ablation-by-source", "The value of execution feedback by source (Figure 6)",
            "As Figure 4, for all operators and for each source.",
            max(_mine(modes) for modes in scopes.values()), lambda: _ablation(scopes),
        ),
        Plot(
            "figure-7-similarity", "Code similarity between rounds (Figure 7)",
            "Similarity between rounds of the operators that reflection and no reflection both failed.",
            _mine(similar), lambda: _similarity(similar),
        ),
    )  # fmt: skip


def write_plots(folder: str | os.PathLike[str], metrics: Metrics, formats: Sequence[str] = FORMATS) -> tuple[Path, ...]:
    """Write every figure into a folder, which is made where it is not there; gives the files.

    Raises:
        PlotsMissing: matplotlib is not installed.
        OSError: a file can't be written.
    """
    need()
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for plot in plots(metrics):
        for form in formats:
            path = target / f"{plot.name}.{form}"
            path.write_bytes(plot.render(form))
            written.append(path)
    return tuple(written)


def _mine(items: Sequence[Series] | Sequence[Point] | Sequence[Mode]) -> int:
    return sum(not item.published for item in items)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def _colours(items: Sequence[Any]) -> list[str]:
    """Greys for what is published, colours for the rest, each in its order."""
    found, greys, own = [], 0, 0
    for item in items:
        if item.published:
            found.append(GREYS[greys % len(GREYS)])
            greys += 1
        else:
            found.append(COLOURS[own % len(COLOURS)])
            own += 1
    return found


def _text(label: str) -> str:
    """A label as it is drawn: names of models are recorded text, so nothing in them is taken for a formula."""
    shown = label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"
    return "".join(c if c.isprintable() else "?" for c in shown).replace("$", r"\$")


def _legend(axes: Axes, **where: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(handles, labels, frameon=False, fontsize=8, **where)


def _platforms(places: figures.Platforms) -> Figure:
    figure = _figure(10, 5)
    parts: Any = figure.subfigures(1, 2, width_ratios=(1.15, 1))
    left, right = parts
    radar: Any = left.add_subplot(projection="polar")
    angles = [2 * math.pi * i / len(places.names) for i in range(len(places.names))]
    short = [name.replace("Platform ", "") for name in places.names]
    for kind, series, dashes in (("accuracy", places.accuracy, "-"), ("speedup", places.speedup, "--")):
        for one, colour in zip(series, _colours(series), strict=True):
            known = [(a, v) for a, v in zip(angles, one.values, strict=True) if v is not None]
            whole = len(known) == len(angles)
            closed = [*known, known[0]] if whole else known
            radar.plot([a for a, _ in closed], [v for _, v in closed], linestyle=dashes if whole else "", color=colour,
                       marker="o" if kind == "accuracy" else "D", markersize=4,
                       label=_text(one.label) if kind == "accuracy" else None)  # fmt: skip
    radar.set_xticks(angles, short)
    radar.set_theta_zero_location("N")
    highest = max((v for s in (*places.accuracy, *places.speedup) for v in s.values if v is not None), default=1.0)
    radar.set_ylim(0, max(1.0, math.ceil(highest * 4) / 4))
    radar.set_rlabel_position(30)
    radar.tick_params(axis="y", labelsize=7)
    left.suptitle("ATen: accuracy as a share (circles, solid), speedup (diamonds, dashed)", fontsize=9)
    left.legend(*radar.get_legend_handles_labels(), loc="outside lower center", frameon=False, fontsize=8)
    bars = right.subplots(2, 1, sharex=True)
    for axes, what, series in ((bars[0], "Tokens", places.tokens), (bars[1], "Time", places.time)):
        _bars(axes, [(s.label, s.values, c) for s, c in zip(series, _colours(series), strict=True)])
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set_ylabel(f"{what} / NVIDIA's")
        axes.set_xticks(range(len(short)), short)
    _legend(bars[0], loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _bars(axes: Axes, series: Sequence[tuple[str, figures.Values, str]]) -> None:
    """Groups of bars side by side; what cannot be told has none."""
    wide = 0.8 / max(1, len(series))
    for i, (label, values, colour) in enumerate(series):
        known = [(x, v) for x, v in enumerate(values) if v is not None]
        at = [x + (i - (len(series) - 1) / 2) * wide for x, _ in known]
        axes.bar(at, [v for _, v in known], wide * 0.92, color=colour, label=_text(label))


def _divergence(points: Sequence[Point]) -> Figure:
    figure = _figure(8, 4.8)
    axes = figure.subplots()
    for section, marker in MARKERS.items():
        found = [p for p in points if p.section == section and p.speedup is not None]
        axes.scatter([100 * p.accuracy for p in found], [p.speedup or 0 for p in found], marker=marker, s=26,
                     color=GREYS[0], alpha=0.8, label=f"paper: {section}")  # fmt: skip
    own = [p for p in points if not p.published]
    for point, colour in zip(own, _colours(own), strict=True):
        if point.speedup is None:
            axes.axvline(100 * point.accuracy, 0, 0.06, color=colour, linewidth=3,
                         label=_text(f"{point.label} (no speed)"))  # fmt: skip
        else:
            axes.scatter([100 * point.accuracy], [point.speedup], marker="*", s=170, color=colour,
                         edgecolors="black", linewidths=0.5, label=_text(point.label), zorder=3)  # fmt: skip
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
    axes.set_xlim(-2, 102)
    fastest = max((p.speedup for p in points if p.speedup is not None), default=1.0)
    axes.set_ylim(0, max(1.5, fastest * 1.1))
    axes.set_xlabel("Clean pass rate (%)")
    axes.set_ylabel("Speedup (×)")
    _legend(axes, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _ablation(scopes: dict[str, tuple[Mode, ...]]) -> Figure:
    single = len(scopes) == 1
    figure = _figure(8, 4.2) if single else _figure(10, 7)
    grid = figure.subplots(1, 1, squeeze=False) if single else figure.subplots(2, 2, sharex=True)
    seconds = []
    for axes, (scope, modes) in zip(grid.flat, scopes.items(), strict=True):
        colours = _colours(modes)
        _bars(axes, [(m.label, tuple(None if a is None else 100 * a for a in m.accuracy), c)
                     for m, c in zip(modes, colours, strict=True)])  # fmt: skip
        axes.set_ylim(0, 100)
        axes.set_ylabel("Clean pass rate (%), bars")
        axes.set_xticks(range(len(MODES)), [m.replace(" ", "\n") for m in MODES], fontsize=8)
        axes.tick_params(axis="x", labelbottom=True)
        second = axes.twinx()
        second.spines["right"].set_visible(True)
        for mode, colour in zip(modes, colours, strict=True):
            known = [(x, v) for x, v in enumerate(mode.speedup) if v is not None]
            second.plot([x for x, _ in known], [v for _, v in known], marker="o", markersize=4, linewidth=1.2,
                        color="black" if mode.published else colour, markeredgecolor="black")  # fmt: skip
        second.set_ylabel("Speedup (×), line")
        seconds.append(second)
        if not single:
            axes.set_title(TITLES[scope], fontsize=10)
    fastest = max((v for modes in scopes.values() for m in modes for v in m.speedup if v is not None), default=1.0)
    for second in seconds:
        second.set_ylim(0, max(1.0, fastest * 1.15))
    first = grid.flat[0]
    figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    return figure


def _similarity(series: Sequence[Series]) -> Figure:
    figure = _figure(8, 1.2 + 0.6 * len(series))
    axes = figure.subplots()
    for at, (one, colour) in enumerate(zip(series, _colours(series), strict=True)):
        known = [100 * v for v in one.values if v is not None]
        if len(known) > 1:
            axes.boxplot(known, positions=[at], widths=0.55, orientation="horizontal", showfliers=False,
                         medianprops={"color": "black"})  # fmt: skip
        # The same spread of heights every time, so that equal values stay apart.
        axes.scatter(known, [at + 0.16 * math.sin(2.4 * i) for i in range(len(known))], s=16, color=colour, alpha=0.85)
    counts = [sum(v is not None for v in one.values) for one in series]
    axes.set_yticks(range(len(series)), [_text(f"{s.label}, n={n}") for s, n in zip(series, counts, strict=True)])
    axes.set_ylim(len(series) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.set_xlabel("Similarity between rounds (%), an operator a point")
    return figure
