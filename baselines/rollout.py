"""Plays one episode of a policy in an environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium

from kgb_gym.baselines.protocol import Policy
from kgb_gym.envs.actions import ActionDict
from kgb_gym.envs.observation import ObservationDict
from kgb_gym.verdict import Status, Verdict


@dataclass(frozen=True)
class EpisodeSummary:
    """What one episode came to."""

    operator: str
    method: str
    model: str | None
    synthetic: bool
    outcome: str
    """`passed`, or the best submission's status; `no_submission`."""
    clean: bool
    """Some submission was a clean pass."""
    best: Verdict | None
    """The best submission's verdict; None if nothing was scored."""
    statuses: tuple[str, ...]
    """Of the submissions, in order."""
    steps: int
    submissions: int
    reward: float
    """Sum of the rewards, which is the episode's score."""
    reward_valid: bool
    """False: the harness failed at every submission, and the episode is unscored."""
    tokens: int
    terminated: bool
    truncated: bool


def rollout(
    env: gymnasium.Env[ObservationDict, ActionDict],
    policy: Policy,
    *,
    operator: str | None = None,
    seed: int | None = None,
    record: Mapping[str, Any] | None = None,
) -> EpisodeSummary:
    """Reset the environment and let the policy act until the episode is over.

    Args:
        env: from `gymnasium.make("kgb/…")`.
        policy: what acts.
        operator: one of the environment's operators; None: it draws one.
        seed: of the environment, and of the policy's own choices; None: the environment goes on with its generator.
        record: further columns of the record, as for `KernelEnv.reset`.

    Raises:
        Exception: whatever the policy raises; the environment then records the episode as far as it came, at its next
            reset or when it is closed.
    """
    about = {"method": policy.method, "model": policy.model, "synthetic": policy.synthetic, **(record or {})}
    options: dict[str, Any] = {"record": about}
    if operator is not None:
        options["operator"] = operator
    observation, info = env.reset(seed=seed, options=options)
    try:
        policy.reset(info["operator"], 0 if seed is None else seed)
        return _play(env, policy, observation, info)
    finally:
        policy.close()


def _play(
    env: gymnasium.Env[ObservationDict, ActionDict],
    policy: Policy,
    observation: ObservationDict,
    info: Mapping[str, Any],
) -> EpisodeSummary:
    terminated = truncated = False
    reward, steps, tokens = 0.0, 0, 0
    verdicts: list[Verdict] = []
    best: Verdict | None = None
    while not (terminated or truncated):
        observation, gained, terminated, truncated, info = env.step(policy.act(observation, info))
        reward, steps, tokens = reward + float(gained), steps + 1, tokens + info["tokens"]
        verdict = info["verdict"]
        if verdict is not None and info["action"] == "submit":
            verdicts.append(verdict)
            if info["reward_valid"] and (best is None or info["reward_terms"]["potential"] > 0):
                best = verdict
    valid = not verdicts or best is not None
    return EpisodeSummary(
        operator=info["operator"],
        method=policy.method,
        model=policy.model,
        synthetic=policy.synthetic,
        outcome=best.status.value if best else Status.HARNESS_ERROR.value if verdicts else "no_submission",
        clean=info["clean"],
        best=best,
        statuses=tuple(v.status.value for v in verdicts),
        steps=steps,
        submissions=len(verdicts),
        reward=reward,
        reward_valid=valid,
        tokens=tokens,
        terminated=terminated,
        truncated=truncated,
    )
