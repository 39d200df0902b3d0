"""Where kernels run. `detect()` says which platform this machine offers; it starts no driver and imports no torch."""

from __future__ import annotations

import os
from pathlib import Path

from kgb_gym.platforms import cpu, nvidia
from kgb_gym.platforms.declaration import Platform

PLATFORMS = {p.name: p for p in (nvidia.PLATFORM, cpu.PLATFORM)}

__all__ = ["PLATFORMS", "Platform", "detect", "get"]


def get(name: str) -> Platform:
    """The platform of that name; `auto` is `detect()`.

    Raises:
        ValueError: there is none.
    """
    if name == "auto":
        return detect()
    if name not in PLATFORMS:
        raise ValueError(f"unknown platform {name!r}: use auto, {', '.join(PLATFORMS)}")
    return PLATFORMS[name]


def detect() -> Platform:
    """`KGB_PLATFORM` if it is set, else `nvidia` where the driver's device nodes are there and not all hidden, else
    `cpu`."""
    if chosen := os.environ.get("KGB_PLATFORM"):
        return get(chosen)
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in {"", "-1", "NoDevFiles"}
    present = any(Path("/dev").glob("nvidia[0-9]*")) and Path("/dev/nvidiactl").exists()
    return PLATFORMS["nvidia"] if present and not hidden else PLATFORMS["cpu"]
