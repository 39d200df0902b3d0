"""Chips that kernels can be compiled for without owning one: `cuda:90`, `hip:gfx942`.

Names are Triton's own, backend and architecture. Limits are those of the vendors' documentation for one program (block,
work-group): NVIDIA's compute-capability table, AMD's local data share.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One chip as a compiler knows it."""

    backend: str
    """`cuda` or `hip`."""
    arch: int | str
    """Compute capability times ten (90), or the name of the architecture (`gfx942`)."""
    warp: int
    """Lanes of a warp or wavefront."""
    shared_bytes: int
    """Shared memory that one program may use, in bytes."""
    chips: str
    """What is sold with it."""

    @property
    def name(self) -> str:
        return f"{self.backend}:{self.arch}"

    @property
    def alias(self) -> str:
        """As compilers call it: `sm_90`, `gfx942`."""
        return f"sm_{self.arch}" if self.backend == "cuda" else str(self.arch)


_KIB = 1 << 10

TARGETS = {
    t.name: t
    for t in (
        Target("cuda", 80, 32, 163 * _KIB, "A100"),
        Target("cuda", 86, 32, 99 * _KIB, "A40, RTX 30"),
        Target("cuda", 89, 32, 99 * _KIB, "L40, RTX 40"),
        Target("cuda", 90, 32, 227 * _KIB, "H100, H200"),
        Target("cuda", 100, 32, 227 * _KIB, "B200"),
        Target("cuda", 120, 32, 99 * _KIB, "RTX 50"),
        Target("hip", "gfx90a", 64, 64 * _KIB, "MI200"),
        Target("hip", "gfx942", 64, 64 * _KIB, "MI300"),
        Target("hip", "gfx950", 64, 160 * _KIB, "MI350"),
        Target("hip", "gfx1100", 32, 64 * _KIB, "Radeon RX 7900"),
        Target("hip", "gfx1201", 32, 64 * _KIB, "Radeon RX 9070"),
    )
}

PORTABLE = ("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx1100")
"""Two vendors, five generations: for these the portability of a kernel is measured."""


class UnknownTarget(ValueError):
    """No target has that name."""


def named(name: str) -> Target:
    """The target of a name, also as compilers spell it (`sm_90`, `gfx942`).

    Raises:
        UnknownTarget: there is none; the known ones are listed.
    """
    wanted = name.strip().lower()
    for target in TARGETS.values():
        if wanted in (target.name, target.alias):
            return target
    near = difflib.get_close_matches(wanted, [*TARGETS, *(t.alias for t in TARGETS.values())], n=1)
    raise UnknownTarget(
        f"unknown target {name!r}{f': did you mean {near[0]}?' if near else ''}; known are {', '.join(TARGETS)}"
    )


def listed(names: Iterable[str]) -> tuple[str, ...]:
    """Target names in Triton's spelling, each once, from names that may be joined by commas; `portable` stands for
    `PORTABLE`.

    Raises:
        UnknownTarget: one of them is none.
    """
    parts = [p for name in names for p in name.split(",") if p.strip()]
    wide = [p for part in parts for p in (PORTABLE if part.strip() == "portable" else (part,))]
    return tuple(dict.fromkeys(named(p).name for p in wide))
