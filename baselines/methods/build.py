"""From a method and what it needs to the policy that plays it."""

from __future__ import annotations

from dataclasses import replace

from kgb_gym.baselines.methods.asking import AskingPolicy
from kgb_gym.baselines.methods.catalog import Method
from kgb_gym.baselines.methods.conversing import ReflectionPolicy, ToolAgent
from kgb_gym.baselines.methods.sampling import SamplingPolicy, SingleStepAgent
from kgb_gym.baselines.models.protocol import Client, Sampling

_ASKING: dict[str, type[AskingPolicy]] = {
    "no-reflection": SamplingPolicy,
    "reflection": ReflectionPolicy,
    "single-step-agent": SingleStepAgent,
    "tool-agent": ToolAgent,
}


def asking(
    method: Method, client: Client, sampling: Sampling | None = None, *, synthetic: bool = False
) -> AskingPolicy:
    """A policy of a method that asks a model.

    Args:
        method: of kind `model`, from `find`.
        client: what answers; many policies may share it.
        sampling: by default greedy or at 0.8, as the paper does for the method.
        synthetic: a script stands behind the client, no model.

    Raises:
        ValueError: the method asks no model.
    """
    if method.kind != "model":
        raise ValueError(f"{method.name} asks no model through a client")
    chosen = sampling if sampling is not None else replace(Sampling(), temperature=method.temperature)
    policy = _ASKING.get(method.name, SamplingPolicy)
    return policy(method.name, client, chosen, wall_s=method.wall_s, synthetic=synthetic)
