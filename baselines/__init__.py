"""Policies: what produces submissions, and the loop that plays them."""

from kgb_gym.baselines.protocol import Policy
from kgb_gym.baselines.registry import get_policy, policies
from kgb_gym.baselines.rollout import EpisodeSummary, rollout

__all__ = ["EpisodeSummary", "Policy", "get_policy", "policies", "rollout"]
