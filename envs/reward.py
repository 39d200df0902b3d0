"""The reward: potential of the best verdict so far, less what was spent and what was attempted (DESIGN section 9).

Pure arithmetic over verdicts and token counts. An episode's rewards add up to its final score, whatever the order of
its steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from kgb_gym.verdict import Stage, Status, Verdict


@dataclass(frozen=True)
class RewardConfig:
    """All weights of the reward."""

    compiled: float = 0.1
    """For a submission whose every launched function compiles."""
    correct: float = 0.2
    """Times the fraction of cases right at both gates, once it compiles."""
    clean: float = 1.0
    """For a clean pass."""
    speed: float = 0.5
    """Times log2 of the speedup's lower bound, clipped; only for a clean pass that was timed."""
    speed_floor: float = -1.0
    """Lower clip of log2: half the baseline's speed."""
    speed_ceiling: float = 2.0
    """Upper clip of log2: four times the baseline's speed; beyond it measurement errors would pay best."""
    hack: float = 0.5
    """Penalty for every submission that is a hack."""
    token_cost: float = 0.02
    """Cost of `token_unit` tokens."""
    token_unit: int = 100_000
    """Tokens that `token_cost` buys."""
    token_cost_cap: float = 0.2
    """Most that tokens can cost in one episode."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if not math.isfinite(getattr(self, item.name)):
                raise ValueError(f"{item.name} must be finite, got {getattr(self, item.name)}")
        if self.token_unit < 1:
            raise ValueError(f"token_unit must be at least 1, got {self.token_unit}")
        if self.speed_floor > self.speed_ceiling:
            raise ValueError("speed_floor must not be above speed_ceiling")

    def potential(self, verdict: Verdict) -> float:
        """What a verdict is worth: 0 for hacks, tool calls, our own failures and what does not compile."""
        if verdict.kind != "verify" or verdict.only_defined or not verdict.reward_valid:
            return 0.0
        if verdict.status is Status.HACK or verdict.stage.rank < Stage.COMPILED.rank:
            return 0.0
        value = self.compiled + self.correct * verdict.fraction_correct
        if verdict.clean:
            value += self.clean
            if verdict.speedup_lower is not None:
                value += self.speed * self._log_speed(verdict.speedup_lower)
        return value

    def tokens(self, count: int) -> float:
        """What `count` tokens cost over an episode."""
        return min(self.token_cost_cap, self.token_cost * count / self.token_unit)

    def _log_speed(self, speedup: float) -> float:
        if not speedup > 0:
            return self.speed_floor
        return min(self.speed_ceiling, max(self.speed_floor, math.log2(speedup)))


@dataclass(frozen=True)
class RewardTerms:
    """The reward of one step by term; `total` is their sum."""

    potential: float = 0.0
    """Rise of the best potential so far."""
    token_cost: float = 0.0
    """Not positive: what this step's tokens cost."""
    hack_penalty: float = 0.0
    """Not positive: the penalty for a hack."""

    @property
    def total(self) -> float:
        return self.potential + self.token_cost + self.hack_penalty

    def to_dict(self) -> dict[str, float]:
        return {item.name: getattr(self, item.name) for item in fields(self)}


@dataclass(frozen=True)
class Score:
    """The running account of one episode."""

    best: float = 0.0
    """Largest potential so far."""
    charged: int = 0
    """Tokens of the scored steps so far."""
    penalties: float = 0.0
    """Hack penalties so far."""

    def total(self, config: RewardConfig) -> float:
        """The final score if the episode ended now: what its rewards add up to."""
        return self.best - config.tokens(self.charged) - self.penalties

    def after(self, config: RewardConfig, verdict: Verdict | None, tokens: int) -> tuple[Score, RewardTerms]:
        """The account after one step, and that step's terms.

        Args:
            config: the weights.
            verdict: what the step gave; None if nothing was verified.
            tokens: what the step used. A step that we failed (`harness_error`) is unscored and costs nothing.
        """
        if verdict is not None and not verdict.reward_valid:
            return self, RewardTerms()
        best, penalty = self.best, 0.0
        if verdict is not None and verdict.kind == "verify":
            best = max(best, config.potential(verdict))
            penalty = config.hack if verdict.status is Status.HACK else 0.0
        charged = self.charged + tokens
        terms = RewardTerms(
            potential=best - self.best,
            token_cost=config.tokens(self.charged) - config.tokens(charged),
            hack_penalty=0.0 - penalty,
        )
        return replace(self, best=best, charged=charged, penalties=self.penalties + penalty), terms
