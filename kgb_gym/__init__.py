"""KernelGenBench as trajectory-recording Gymnasium environments.

Importing this package registers the environments' ids (`kgb/aten-softmax-v0`, …, `kgb/ms-v0`, `kgb/mc-v0`) with
Gymnasium and does nothing else: torch and the operators are imported when they are first needed.

    import gymnasium, kgb_gym

    env = gymnasium.make("kgb/aten-softmax-v0")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(kgb_gym.submit(code))

Rooms: `kgb_gym.operators` (what is asked), `kgb_gym.platforms` (where it runs), `kgb_gym.verification` and
`kgb_gym.sandbox` (how a submission is judged), `kgb_gym.prompts`, `kgb_gym.envs`, `kgb_gym.baselines` (policies),
`kgb_gym.metrics` and `kgb_gym.report` (what records say), `kgb_gym.runs` and `kgb_gym.cli` (the `kgb` command).

`kgb_gym.datasets` has no docstring of its own, as it must be a namespace package: from the repository's root
`import datasets` has to give Hugging Face's library. It holds the trajectories: `schema` (both tables, every column
typed and described), `rows` (verdicts, steps and episodes as rows), `recorder` (`Recorder`: crash-safe journals that
become Parquet shards), `store` (reading, resuming, recovering) and `card` (the dataset card).
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from kgb_gym.envs import registration

if TYPE_CHECKING:
    from kgb_gym.envs.actions import call, submit
    from kgb_gym.envs.budgets import Budgets
    from kgb_gym.envs.env import KernelEnv
    from kgb_gym.envs.reward import RewardConfig
    from kgb_gym.envs.vector import KernelVectorEnv
    from kgb_gym.envs.wrappers import ChatWrapper
    from kgb_gym.operators.catalog import get as get_operator
    from kgb_gym.operators.catalog import names as list_operators
    from kgb_gym.operators.declaration import Operator
    from kgb_gym.verdict import Stage, Status, Verdict
    from kgb_gym.verification.protocols import Limits

_HOME = {
    "Budgets": "envs.budgets:Budgets",
    "ChatWrapper": "envs.wrappers:ChatWrapper",
    "KernelEnv": "envs.env:KernelEnv",
    "KernelVectorEnv": "envs.vector:KernelVectorEnv",
    "Limits": "verification.protocols:Limits",
    "Operator": "operators.declaration:Operator",
    "RewardConfig": "envs.reward:RewardConfig",
    "Stage": "verdict:Stage",
    "Status": "verdict:Status",
    "Verdict": "verdict:Verdict",
    "call": "envs.actions:call",
    "get_operator": "operators.catalog:get",
    "list_operators": "operators.catalog:names",
    "submit": "envs.actions:submit",
}

__all__ = [
    "Budgets", "ChatWrapper", "KernelEnv", "KernelVectorEnv", "Limits", "Operator", "RewardConfig", "Stage", "Status",
    "Verdict", "call", "get_operator", "list_operators", "submit",
]  # fmt: skip

try:
    __version__ = version("kgb-gym")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


registration.register()
