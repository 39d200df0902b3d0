"""What came of an episode, and of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

FAILED = "error"
"""Outcome of an episode that ended in an exception of ours, of the policy or of the model's server: unscored, and not
recorded as ended."""


@dataclass(frozen=True)
class Outcome:
    """What came of one episode."""

    operator: str
    sample: int
    outcome: str
    """`passed`, or the best submission's status; `no_submission`; `error`."""
    clean: bool
    scored: bool
    """False: the harness failed, and the episode counts for nothing."""
    statuses: tuple[str, ...] = ()
    """Of the submissions in order; empty where an earlier call finished the episode."""
    turns: int = 0
    reward: float | None = None
    tokens: int = 0
    seconds: float = 0.0
    error: str = ""
    """What went wrong, in one line, where the outcome is `error`."""


@dataclass(frozen=True)
class Summary:
    """What came of a run so far."""

    folder: Path
    run_id: str
    total: int
    """Episodes of the plan, less those that an early stop made needless."""
    outcomes: tuple[Outcome, ...]
    """Of every finished episode, those of earlier calls included, in the order of the plan."""
    resumed: int
    """How many of them an earlier call finished."""
    interrupted: bool
    seconds: float
    stopped: str = ""
    """Why the run ended before its plan: a budget of the run, or a server that gives no answer. Empty: it didn't."""
    tokens: int = 0
    """Tokens charged in all, those of earlier calls included."""
    usd: float | None = None
    """What they cost; None without a price table."""

    @property
    def clean(self) -> int:
        return sum(o.clean for o in self.outcomes)

    @property
    def unscored(self) -> int:
        return sum(not o.scored for o in self.outcomes)

    @property
    def failed(self) -> int:
        """Episodes that ended without a clean pass, unscored ones included."""
        return len(self.outcomes) - self.clean

    @property
    def complete(self) -> bool:
        return len(self.outcomes) == self.total

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data."""
        return {
            "folder": str(self.folder),
            "run_id": self.run_id,
            "episodes": self.total,
            "finished": len(self.outcomes),
            "resumed": self.resumed,
            "clean": self.clean,
            "failed": self.failed,
            "unscored": self.unscored,
            "complete": self.complete,
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "tokens": self.tokens,
            "usd": self.usd,
            "seconds": round(self.seconds, 3),
            "outcomes": [_plain(o) for o in self.outcomes],
        }


def _plain(outcome: Outcome) -> dict[str, Any]:
    plain: dict[str, Any] = {
        name: getattr(outcome, name) for name in ("operator", "sample", "outcome", "clean", "scored")
    }
    return plain | ({"error": outcome.error} if outcome.error else {})
