"""Processes for verification: warm templates, fences, judges, and the local engine that keeps them busy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgb_gym.sandbox.engine import LocalEngine, shared_engine
    from kgb_gym.sandbox.fences import Fence, doctor

__all__ = ["Fence", "LocalEngine", "doctor", "shared_engine"]


def __getattr__(name: str) -> Any:
    if name in {"LocalEngine", "shared_engine"}:
        from kgb_gym.sandbox import engine

        return getattr(engine, name)
    if name in {"Fence", "doctor"}:
        from kgb_gym.sandbox import fences

        return getattr(fences, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
