"""Progress as JSON lines, for logs that programs read: one object an event, each with `event` and `at`."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from kgb_gym.runs.plan import Episode

if TYPE_CHECKING:
    from kgb_gym.runs.outcome import Outcome


class JsonProgress:
    """Events `start`, `begin`, `step`, `end`, `skip`, `stopping` and `close`, in the order in which they happen."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stderr
        self._lock = threading.Lock()

    def start(self, total: int, earlier: tuple[Outcome, ...], workers: int) -> None:
        self._say("start", episodes=total, finished=len(earlier), workers=workers)

    def begin(self, episode: Episode) -> None:
        self._say("begin", operator=episode.operator, sample=episode.sample)

    def step(self, episode: Episode, turn: int, status: str) -> None:
        self._say("step", operator=episode.operator, sample=episode.sample, turn=turn, status=status)

    def end(self, episode: Episode, outcome: Outcome) -> None:
        self._say("end", **asdict(outcome))

    def skip(self, episodes: int) -> None:
        self._say("skip", episodes=episodes)

    def stopping(self) -> None:
        self._say("stopping")

    def close(self) -> None:
        self._say("close")

    def _say(self, event: str, **values: Any) -> None:
        line = json.dumps({"event": event, "at": datetime.now(UTC).isoformat(timespec="milliseconds"), **values})
        with self._lock:
            print(line, file=self._file, flush=True)
