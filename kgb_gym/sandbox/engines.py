"""Engines by name. Who verifies something knows `protocols.Engine` and nothing more."""

from __future__ import annotations

from kgb_gym.sandbox.processes import EngineError
from kgb_gym.verification.protocols import Engine

ENGINES = ("local", "ray")


def make(name: str, *, workers: int, platform: str = "auto") -> Engine:
    """An engine, which the caller closes.

    Args:
        name: `local`: processes of this machine; `ray`: actors of a Ray cluster (extra `kgb-gym[ray]`).
        workers: verifications at once, at least 1.
        platform: `auto`, `cpu`, `nvidia`.

    Raises:
        EngineError: it can't be had here.
        ValueError: there is no such engine.
    """
    if name == "local":
        from kgb_gym.sandbox.engine import LocalEngine

        return LocalEngine(workers=workers, platform=platform)
    if name == "ray":
        from kgb_gym.sandbox.ray_engine import RayEngine

        return RayEngine(workers=workers, platform=platform)
    raise ValueError(f"unknown engine {name!r}: use {', '.join(ENGINES)}")


__all__ = ["ENGINES", "EngineError", "make"]
