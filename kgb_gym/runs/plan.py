"""Which episodes a run consists of. The same configuration always gives the same list with the same seeds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from kgb_gym.runs.config import RunConfig


@dataclass(frozen=True)
class Episode:
    """One episode of a run: one independent sample of one operator."""

    operator: str
    """`source/name`."""
    sample: int
    """Index among the operator's samples, from 0."""
    seed: int
    """The environment's seed, in [0, 2^63)."""

    @property
    def key(self) -> tuple[str, int]:
        """What identifies the episode within its run."""
        return self.operator, self.sample

    def __str__(self) -> str:
        return self.operator if self.sample == 0 else f"{self.operator} #{self.sample + 1}"


def plan(config: RunConfig) -> tuple[Episode, ...]:
    """All episodes of a run, operator by operator, each operator's samples in order."""
    return tuple(
        Episode(operator, sample, _seed(config.seed, operator, sample))
        for operator in config.operators
        for sample in range(config.samples)
    )


def _seed(run_seed: int, operator: str, sample: int) -> int:
    """Independent of which other operators a run has, and of their order."""
    digest = hashlib.sha256(f"{run_seed}/{operator}/{sample}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
