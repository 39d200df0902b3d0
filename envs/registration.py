"""Gymnasium ids: one an operator, and two that draw an operator at reset. Nothing is imported until `make`."""

from __future__ import annotations

from pathlib import Path

import gymnasium

ENTRY_POINT = "kgb_gym.envs.env:KernelEnv"
VECTOR_ENTRY_POINT = "kgb_gym.envs.vector:KernelVectorEnv"

SETS = {"kgb/ms-v0": "*", "kgb/mc-v0": "aten/*"}
"""Ids that stand for many operators, as the paper's two benchmarks do: globs of their pools."""

_SOURCES = ("aten", "vllm", "cublas")
_NOT_OPERATORS = frozenset({"__init__", "library"})
_OPERATORS = Path(__file__).resolve().parent.parent / "operators"


def ids() -> dict[str, str]:
    """Every id of this package with the globs of its pool.

    File names are the list, as in `kgb_gym.operators.names`, which would import torch; a test compares the two.
    """
    found = dict(SETS)
    for source in _SOURCES:
        for stem in sorted(p.stem for p in (_OPERATORS / source).glob("*.py") if p.stem not in _NOT_OPERATORS):
            found[f"kgb/{source}-{stem}-v0"] = f"{source}/{stem}"
    return found


def register() -> None:
    """Register every id with Gymnasium. May be called again: ids that are there are left alone.

    No spec carries extra wrappers: Gymnasium would refuse its vector entry point.
    """
    for env_id, pool in ids().items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id, entry_point=ENTRY_POINT, vector_entry_point=VECTOR_ENTRY_POINT, kwargs={"pool": pool}
            )
