"""How a run's progress is shown: a live display on a terminal, plain lines elsewhere.

Every method may be called from any worker thread.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TextIO

from kgb_gym.runs.plan import Episode

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from kgb_gym.runs.outcome import Outcome


class Progress(Protocol):
    """Hears what a run does."""

    def start(self, total: int, earlier: tuple[Outcome, ...], workers: int) -> None:
        """The run begins: `total` episodes, of which an interrupted call before this one finished some."""
        ...

    def begin(self, episode: Episode) -> None:
        """A worker takes an episode up."""
        ...

    def step(self, episode: Episode, turn: int, status: str) -> None:
        """An episode's turn (from 1) is over."""
        ...

    def end(self, episode: Episode, outcome: Outcome) -> None:
        """An episode is over."""
        ...

    def skip(self, episodes: int) -> None:
        """So many episodes needn't be played: their operators are solved."""
        ...

    def stopping(self) -> None:
        """No further episode or turn will be begun."""
        ...

    def close(self) -> None:
        """The run is over."""
        ...


@dataclass
class Tally:
    """Counts of a run so far."""

    total: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    clean: int = 0
    scored: int = 0
    here: int = 0
    """Episodes finished by this call."""
    started: float = field(default_factory=time.monotonic)

    def add(self, outcome: Outcome, *, here: bool = True) -> None:
        """Count one finished episode."""
        self.outcomes[outcome.outcome] += 1
        self.clean += outcome.clean
        self.scored += outcome.scored
        self.here += here

    @property
    def done(self) -> int:
        return sum(self.outcomes.values())

    @property
    def elapsed_s(self) -> float:
        """Wall seconds since this call began."""
        return time.monotonic() - self.started

    @property
    def left_s(self) -> float | None:
        """Wall seconds until the end at the pace so far; None before the first episode is over."""
        if not self.here:
            return None
        return self.elapsed_s / self.here * (self.total - self.done)

    @property
    def rate(self) -> str:
        """Clean passes among the scored episodes."""
        return f"{100 * self.clean / self.scored:.0f}%" if self.scored else "-"

    def line(self) -> str:
        """Counts, pass rate and time left, in one line."""
        text = f"{self.done}/{self.total} episodes · {self.clean} clean ({self.rate})"
        others = {k: n for k, n in sorted(self.outcomes.items()) if k != "passed"}
        text += "".join(f" · {n} {name}" for name, n in others.items())
        left = "-" if self.left_s is None else clock(self.left_s)
        return f"{text} · {clock(self.elapsed_s)} gone, {left} left"


class PlainProgress:
    """One line an episode, for logs."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stderr
        self._lock = threading.Lock()
        self._tally = Tally()

    def start(self, total: int, earlier: tuple[Outcome, ...], workers: int) -> None:
        self._tally = Tally(total)
        for outcome in earlier:
            self._tally.add(outcome, here=False)
        if earlier:
            self._say(f"{len(earlier)} of {total} episodes were finished before")

    def begin(self, episode: Episode) -> None:
        pass

    def step(self, episode: Episode, turn: int, status: str) -> None:
        pass

    def end(self, episode: Episode, outcome: Outcome) -> None:
        with self._lock:
            self._tally.add(outcome)
            width = len(str(self._tally.total))
            mark = "clean" if outcome.clean else outcome.outcome
            mark += f" ({outcome.error})" if outcome.error else ""
            turns = f"{outcome.turns} turn{'s' if outcome.turns != 1 else ''}"
            left = "" if self._tally.left_s is None else f", {clock(self._tally.left_s)} left"
            self._say(
                f"[{self._tally.done:{width}}/{self._tally.total}] {episode}: {mark} after {turns}, "
                f"{outcome.seconds:.1f} s ({self._tally.clean} clean so far{left})"
            )

    def skip(self, episodes: int) -> None:
        with self._lock:
            self._tally.total -= episodes

    def stopping(self) -> None:
        self._say("stopping: turns that have begun are finished first; Ctrl-C again to stop at once")

    def close(self) -> None:
        if self._tally.total:
            self._say(self._tally.line())

    def _say(self, text: str) -> None:
        print(text, file=self._file, flush=True)


@dataclass
class _Running:
    turn: int = 0
    status: str = "starting"
    since: float = field(default_factory=time.monotonic)


class LiveProgress:
    """A bar with counts, pass rate and time left, and one line for each episode in work."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = console or Console(stderr=True, highlight=False)
        self._lock = threading.Lock()
        self._tally = Tally()
        self._running: dict[Episode, _Running] = {}
        self._stopping = False
        self._live = Live(console=self._console, get_renderable=self._render, refresh_per_second=4)

    def start(self, total: int, earlier: tuple[Outcome, ...], workers: int) -> None:
        self._tally = Tally(total)
        for outcome in earlier:
            self._tally.add(outcome, here=False)
        if earlier:
            self._console.print(f"{len(earlier)} of {total} episodes were finished before", style="dim")
        self._live.start()

    def begin(self, episode: Episode) -> None:
        with self._lock:
            self._running[episode] = _Running()

    def step(self, episode: Episode, turn: int, status: str) -> None:
        with self._lock:
            if (running := self._running.get(episode)) is not None:
                running.turn, running.status = turn, status

    def end(self, episode: Episode, outcome: Outcome) -> None:
        with self._lock:
            self._running.pop(episode, None)
            self._tally.add(outcome)
        from rich.markup import escape

        mark = "[green]✓[/]" if outcome.clean else "[yellow]![/]" if not outcome.scored else "[red]✗[/]"
        path = " → ".join(outcome.statuses) or outcome.error or outcome.outcome
        self._live.console.print(f"{mark} {episode!s:30} [dim]{escape(path)}, {outcome.seconds:.1f} s[/]")

    def skip(self, episodes: int) -> None:
        with self._lock:
            self._tally.total -= episodes

    def stopping(self) -> None:
        self._stopping = True

    def close(self) -> None:
        with self._lock:
            self._running.clear()
        if self._live.is_started:
            self._live.stop()

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        with self._lock:
            tally, running = self._tally, list(self._running.items())
            head = Table.grid(padding=(0, 1))
            head.add_row(ProgressBar(total=max(tally.total, 1), completed=tally.done, width=24), tally.line())
            now = time.monotonic()
            lines = [
                Text(f"  … {e!s:30} turn {r.turn + 1}, {clock(now - r.since)}, last: {r.status}", style="dim")
                for e, r in running
            ]
        if self._stopping:
            lines.append(Text("stopping: turns that have begun are finished first; Ctrl-C again to stop at once"))
        return Group(*lines, head)


def clock(seconds: float) -> str:
    """`1:05` or `2:03:04`."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
