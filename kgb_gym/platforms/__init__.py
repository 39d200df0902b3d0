"""Where kernels run: one file a platform. `detect()` says which one this machine offers; it starts no driver and imports
no torch in this process.

A file in this folder that is no part of the machinery (`PARTS`) is a platform and exports `PLATFORM`: adding one needs no
list to be edited (docs/platforms.md).
"""

from __future__ import annotations

import importlib
import pkgutil

from kgb_gym.platforms import detection
from kgb_gym.platforms.declaration import Platform
from kgb_gym.platforms.detection import Ambiguous, Evidence, Machine
from kgb_gym.platforms.emulation import BASES, emulated

PARTS = frozenset({"declaration", "detection", "emulation", "fence", "guard", "interpreter", "libdevice"})
"""Modules of this package that are no platforms."""


def _declared() -> dict[str, Platform]:
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name not in PARTS)
    found = (importlib.import_module(f"kgb_gym.platforms.{name}").PLATFORM for name in names)
    return {p.name: p for p in found}


PLATFORMS = _declared()

__all__ = ["PLATFORMS", "Ambiguous", "Evidence", "Machine", "Platform", "detect", "evidence", "get", "offered"]


def get(name: str) -> Platform:
    """The platform of that name; `auto` is `detect()`. `emu-a` runs on the interpreter, `emu-a@nvidia` on a GPU.

    Raises:
        ValueError: there is none; or (`Ambiguous`) `auto` can't tell.
    """
    if name == "auto":
        return detect()
    plain, _, base = name.partition("@")
    found = PLATFORMS.get(plain)
    if found is None or (base and (found.emulation is None or base not in BASES)):
        raise ValueError(
            f"unknown platform {name!r}: use auto, {', '.join(PLATFORMS)}, or an emulation as emu-a@nvidia"
        )
    if base and found.emulation is not None:
        return emulated(plain.removeprefix("emu-"), PLATFORMS[base], found.emulation, found.bounds)
    return found


def detect(machine: Machine | None = None) -> Platform:
    """`KGB_PLATFORM` if it is set; else the platform whose devices are there, not hidden, and usable by this torch; else
    `cpu`.

    Raises:
        Ambiguous: more than one fits: `--platform` must say which.
        ValueError: `KGB_PLATFORM` names none.
    """
    machine = machine or Machine()
    if (chosen := machine.env.get("KGB_PLATFORM")) and chosen != "auto":
        return get(chosen)
    return detection.detect(tuple(PLATFORMS.values()), PLATFORMS["cpu"], machine)


def evidence(platform: Platform, machine: Machine | None = None) -> Evidence:
    """What speaks for a platform on the machine."""
    return detection.evidence(platform, machine or Machine())


def offered(platform: Platform, machine: Machine | None = None) -> bool:
    """Whether a platform can be used on the machine, as far as can be told without starting its driver."""
    machine = machine or Machine()
    if platform.interpreted or machine.env.get("KGB_PLATFORM") == platform.name:
        return True
    seen = detection.evidence(platform, machine)
    return seen.nodes and not seen.hidden and (seen.software or not platform.signs.needs_software)
