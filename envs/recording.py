"""From a step of an environment to rows of the record."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kgb_gym.envs.actions import Action, BadAction
from kgb_gym.envs.budgets import Budgets
from kgb_gym.envs.episode import Episode
from kgb_gym.envs.reward import RewardConfig, RewardTerms
from kgb_gym.envs.scrub import Scrubber
from kgb_gym.envs.tokens import Spent
from kgb_gym.verdict import Verdict
from kgb_gym.verification.protocols import Limits

if TYPE_CHECKING:
    from kgb_gym.datasets.recorder import Recorder

ABOUT = ("episode_id", "method", "model", "synthetic", "sample", "samples", "rounds", "early_stop", "env_id")
"""Columns that a caller may set for an episode, with `reset(options={"record": {...}})`."""

_OF_STEPS = ("method", "model", "synthetic", "env_id")


@dataclass(frozen=True)
class Setting:
    """What makes the results of an environment comparable with others: the configuration of its record."""

    suite: str
    platform: str
    reward: RewardConfig
    budgets: Budgets
    limits: Limits

    def config(self) -> dict[str, Any]:
        """JSON-able data."""
        return asdict(self)


def open_recorder(record: str | os.PathLike[str], setting: Setting) -> Recorder:
    """The recorder of a folder.

    Raises:
        ValueError: the folder's run has another configuration.
    """
    from kgb_gym.datasets.recorder import Recorder

    return Recorder.open(record, config=setting.config())


@dataclass(frozen=True)
class Step:
    """All that one step came to."""

    action: Action | BadAction
    verdict: Verdict | None
    terms: RewardTerms
    reward_valid: bool
    spent: Spent
    message: str
    terminated: bool
    truncated: bool
    started_at: datetime


def step_row(episode: Episode, setting: Setting, step: Step) -> dict[str, Any]:
    """The row of `steps`. Texts are made valid Unicode, lone surrogates written as escapes, and scrubbed."""
    from kgb_gym.datasets import rows

    action = step.action
    transcript = action.transcript
    columns: dict[str, Any] = {name: episode.about.get(name) for name in _OF_STEPS}
    columns |= {
        "episode_id": episode.id,
        "step": episode.turns - 1,
        "operator": episode.operator.id,
        "suite": setting.suite,
        "platform": setting.platform,
        "seed": episode.seed,
        "completion": action.completion or None,
        "finish_reason": transcript.get("finish_reason"),
        "token_ids": transcript.get("token_ids"),
        "logprobs": transcript.get("logprobs"),
        "reward_valid": step.reward_valid,
        "terminated": step.terminated,
        "truncated": step.truncated,
        "observation": step.message,
        "prompt_tokens": step.spent.usage.prompt_tokens,
        "completion_tokens": step.spent.usage.completion_tokens,
        "cached_tokens": step.spent.usage.cached_tokens,
        "usage_source": step.spent.source,
        "tokens": step.spent.total,
        "started_at": step.started_at,
        "ended_at": datetime.now(UTC),
    }
    if columns["model"] is None:
        columns["model"] = transcript.get("model")
    arguments: Mapping[str, Any] | None = None
    if isinstance(action, Action) and action.kind == "submit":
        columns["code"] = action.code
    elif isinstance(action, Action):
        columns["tool"] = action.tool or "unknown"
        arguments = {k: v for k, v in action.arguments.items() if k != "code"}
        columns["code"] = action.arguments.get("code") if isinstance(action.arguments.get("code"), str) else None
    else:
        columns["tool"] = "unknown"
    if step.verdict is None:
        columns.setdefault("message", step.message)
    row = rows.step_row(
        step.verdict,
        reward_terms=step.terms.to_dict(),
        messages=transcript.get("messages"),
        tool_arguments=arguments,
        sampling=transcript.get("sampling"),
        **columns,
    )
    return _clean(row)


def episode_row(episode: Episode, setting: Setting) -> dict[str, Any]:
    """The row of `episodes`, ended now."""
    from kgb_gym.datasets import rows

    about = {k: v for k, v in episode.about.items() if k != "episode_id"}
    row = rows.episode_row(
        episode.rows,
        **about,
        episode_id=episode.id,
        operator=episode.operator.id,
        suite=setting.suite,
        platform=setting.platform,
        seed=episode.seed,
        started_at=episode.started_at,
        ended_at=datetime.now(UTC),
        wall_s=episode.elapsed_s,
    )
    return _clean(row)


def _clean(row: Mapping[str, Any]) -> dict[str, Any]:
    """Valid Unicode, without secrets and the home folder's name."""
    scrubber = Scrubber.of()
    return {name: _valid(value, scrubber, name != "code") for name, value in row.items()}


def _valid(value: Any, scrubber: Scrubber, home: bool) -> Any:
    if isinstance(value, str):
        value = scrubber.text(value, home=home)
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {k: _valid(v, scrubber, home) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        if value and isinstance(value[0], (int, float)):
            return value
        return [_valid(v, scrubber, home) for v in value]
    return value
