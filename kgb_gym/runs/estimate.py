"""What a run will take at most, before anything is asked or verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kgb_gym import prompts
from kgb_gym.envs.tokens import count_cached
from kgb_gym.operators import get
from kgb_gym.runs.config import RunConfig
from kgb_gym.runs.plan import plan
from kgb_gym.runs.spending import Prices

FEEDBACK_TOKENS = 1500
"""Tokens of what a round is told of the one before, counted generously."""


@dataclass(frozen=True)
class Estimate:
    """Upper bounds: no early stop, every answer as long as it may be."""

    operators: int
    episodes: int
    requests: int
    """Answers of the model."""
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    """None without prices."""
    wall_hours: float
    """Of all episodes one after the other."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data."""
        return dict(vars(self))


def estimate(config: RunConfig, *, answer_tokens: int, remembers: bool, prices: Prices | None = None) -> Estimate:
    """Bounds for a method that asks a model.

    Args:
        config: the run.
        answer_tokens: tokens of one answer, at most.
        remembers: whether each round is sent the rounds before it again.
        prices: what tokens cost.
    """
    rounds = (
        min(config.budgets.max_turns, config.budgets.max_submissions)
        if config.prompt == "sampling"
        else (config.budgets.max_turns)
    )
    episodes = plan(config)
    asked = written = 0
    for episode in episodes:
        first = count_cached(prompts.render(get(episode.operator), config.platform, config.suite))
        again = (answer_tokens + FEEDBACK_TOKENS) * rounds * (rounds - 1) // 2 if remembers else 0
        cap = config.budgets.max_tokens
        asked += min(cap, first * rounds + again)
        written += min(cap, answer_tokens * rounds)
    return Estimate(
        operators=len(config.operators),
        episodes=len(episodes),
        requests=len(episodes) * rounds,
        prompt_tokens=asked,
        completion_tokens=written,
        usd=None if prices is None else prices.cost(asked, written),
        wall_hours=len(episodes) * config.budgets.wall_s / 3600,
    )
