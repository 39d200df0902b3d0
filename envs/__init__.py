"""The Gymnasium environments. Importing this package is cheap: what needs torch is imported when it is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgb_gym.envs.actions import ActionDict, call, submit
    from kgb_gym.envs.budgets import Budgets
    from kgb_gym.envs.env import KernelEnv
    from kgb_gym.envs.reward import RewardConfig, RewardTerms
    from kgb_gym.envs.spaces import UnicodeText
    from kgb_gym.envs.tokens import Usage
    from kgb_gym.envs.tools import TOOLS, Tool
    from kgb_gym.envs.vector import KernelVectorEnv
    from kgb_gym.envs.wrappers import ChatWrapper

_HOME = {
    "ActionDict": "actions", "Budgets": "budgets", "ChatWrapper": "wrappers", "KernelEnv": "env",
    "KernelVectorEnv": "vector", "RewardConfig": "reward", "RewardTerms": "reward", "TOOLS": "tools", "Tool": "tools",
    "UnicodeText": "spaces", "Usage": "tokens", "call": "actions", "submit": "actions",
}  # fmt: skip

__all__ = [
    "TOOLS", "ActionDict", "Budgets", "ChatWrapper", "KernelEnv", "KernelVectorEnv", "RewardConfig", "RewardTerms",
    "Tool", "UnicodeText", "Usage", "call", "submit",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
