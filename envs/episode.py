"""One episode in progress: its account of submissions, tokens and rewards, and its rows for the record."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kgb_gym.envs.budgets import Budgets
from kgb_gym.envs.observation import Left
from kgb_gym.envs.reward import Score
from kgb_gym.operators import Operator
from kgb_gym.verdict import Verdict

_HEAVY = frozenset({"messages", "completion", "token_ids", "logprobs", "observation", "code", "tool_arguments"})


@dataclass
class Episode:
    """The state between two steps."""

    operator: Operator
    seed: int
    """Everything random of the episode derives from it; in [0, 2^63)."""
    prompt: str
    message: str
    """What the policy was last shown."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Columns of the record that the caller knows: method, model, sample, …"""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.monotonic)
    score: Score = field(default_factory=Score)
    turns: int = 0
    submissions: int = 0
    """Submissions that count: not those at which the harness failed."""
    tokens: int = 0
    best: Verdict | None = None
    """The scored submission with the largest potential; the earlier one if two are alike."""
    clean: bool = False
    over: bool = False
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """Scored verdicts by the SHA-256 of the source."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The steps' rows without their long texts: what the episode's row is summed up from."""

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.clock

    def left(self, budgets: Budgets) -> Left:
        """What remains of the budgets."""
        return Left(
            max(0, budgets.max_submissions - self.submissions),
            max(0, budgets.max_turns - self.turns),
            max(0, budgets.max_tokens - self.tokens),
        )

    def job_seed(self, source: bytes) -> int:
        """The seed of one verification, in [0, 2^63): from the episode's seed and the source, so that hidden cases
        differ between submissions and the episode's seed cannot be told from it."""
        text = f"kgb-job-v1/{self.seed}/{self.operator.id}/".encode()
        return int.from_bytes(hashlib.sha256(text + source).digest()[:8], "big") >> 1

    def remember(self, row: Mapping[str, Any]) -> None:
        """Keep what the episode's row needs of a step's row."""
        self.rows.append({k: v for k, v in row.items() if k not in _HEAVY})
