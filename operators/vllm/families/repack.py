"""Weights of several experts brought into Marlin's tiles."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.vllm.families import marlin
from kgb_gym.operators.vllm.families.entry import axes, entry

GEOMETRY = "experts,k,n,bits"
PUBLISHED = (
    (4, 256, 256, 4), (8, 256, 512, 4), (4, 512, 256, 4), (16, 256, 256, 4), (4, 256, 256, 8), (8, 512, 512, 4),
    (8, 512, 512, 8), (16, 512, 512, 4), (16, 512, 512, 8), (8, 1024, 512, 4),
)  # fmt: skip
_TIMED = [g for g in PUBLISHED if g[0] >= 8 and min(g[1:3]) >= 512]
_SIZES = ((2, 640, 256), (3, 1024, 448), (1, 1408, 832), (2, 128, 64))


def suites(extra: tuple[dict[str, Any], ...]) -> dict[str, tuple[Grid, ...]]:
    """The grids, with the kinds of call that one operator has beside the published one."""
    return {
        "paper": (
            grids.product(timed=True, **axes(GEOMETRY, _TIMED)),
            grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g not in _TIMED])),
            *(grids.product(origin="extra", **axes("experts,k,n", _SIZES), bits=(4, 8), **kind) for kind in extra),
        ),
        "quick": tuple(
            grids.product(**axes("experts,k,n", ((1, 64, 64), (2, 32, 192))), bits=(4, 8), **kind) for kind in extra
        ),
        "smoke": (
            grids.points(
                {GEOMETRY: (2, 32, 64, 4)}, {GEOMETRY: (1, 32, 64, 8), **{n: v[-1] for n, v in extra[0].items()}},
                origin="paper",
            ),
        ),
    }  # fmt: skip


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes."""
    return {**params, "experts": rng.randint(1, 3), "k": 32 * rng.randint(1, 4), "n": 64 * rng.randint(1, 3)}


def operator(
    name: str, build: Callable[..., Call], codes: Callable[..., Iterator[torch.Tensor]], extra: tuple[dict[str, Any], ...],
    description: str, notes: tuple[str, ...],
) -> Operator:  # fmt: skip
    """The operator whose weights `codes(b_q_weight, perm, num_bits)` reads, expert by expert."""

    def oracle(
        b_q_weight: torch.Tensor, perm: torch.Tensor, size_k: int, size_n: int, num_bits: int, is_a_8bit: bool = False
    ) -> dict[str, torch.Tensor]:
        tiles = [marlin.repack(c, num_bits, is_a_8bit) for c in codes(b_q_weight, perm, num_bits)]
        return {"return": torch.stack(tiles)}

    return entry(
        f"{name}(b_q_weight: torch.Tensor, perm: torch.Tensor, size_k: int, size_n: int, num_bits: int, "
        "is_a_8bit: bool = False) -> torch.Tensor",
        build=build,
        oracle=oracle,
        grids=suites(extra),
        jitter=jitter,
        compare=Exact(),
        description=description,
        notes=(*notes, marlin.TILES, marlin.WIDE_TILES, "Nothing is written. Compared bit by bit."),
        family="marlin_moe_repack",
    )
