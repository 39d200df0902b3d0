"""Policies that need nothing, by name, imported when they are asked for. `kgb_gym.baselines.methods` has the others."""

from __future__ import annotations

import importlib
from typing import Any, cast

from kgb_gym.baselines.protocol import Policy

_HOME = {
    "gold": "kgb_gym.baselines.gold:GoldPolicy",
    "scripted": "kgb_gym.baselines.scripted:ScriptedPolicy",
}


def policies() -> tuple[str, ...]:
    """Names of all policies, sorted."""
    return tuple(sorted(_HOME))


def get_policy(name: str, **settings: Any) -> Policy:
    """A new policy.

    Args:
        name: one of `policies()`.
        **settings: as the policy's constructor takes them.

    Raises:
        ValueError: there is no policy of that name.
        TypeError: it has no such setting.
    """
    if name not in _HOME:
        raise ValueError(f"unknown policy {name!r}: use one of {', '.join(policies())}")
    module, _, attribute = _HOME[name].partition(":")
    return cast(Policy, getattr(importlib.import_module(module), attribute)(**settings))
