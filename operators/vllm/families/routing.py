"""Routing of tokens to experts: which slots each expert's tokens take, and when the order within an expert is free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from kgb_gym.operators.compare import Arguments, Check, Exact, Target
from kgb_gym.operators.maker import Maker


def chosen(make: Maker, tokens: int, experts: int, topk: int, skew: bool = False) -> torch.Tensor:
    """Experts (tokens, topk) int32, distinct within a token where there are enough; `skew`: of the first half only."""
    pool = min(experts, max(topk, experts // 2)) if skew else experts
    if topk > pool:
        return make.integers((tokens, topk), torch.int32, low=0, high=experts)
    return make.uniform((tokens, pool), torch.float32).argsort(1)[:, :topk].int().contiguous()


def aligned(
    ids: torch.Tensor, live: torch.Tensor, experts: int, block: int, length: int, idle: int
) -> dict[str, torch.Tensor]:
    """The slots of flat expert ids where `live`: sorted ids, experts of blocks (`idle` where unused), and how many."""
    flat, size = ids.reshape(-1).long(), ids.numel()
    slots = torch.full((length,), size, dtype=torch.int32)
    owners = torch.full((-(-length // block),), idle, dtype=torch.int32)
    segment = torch.full((length,), experts, dtype=torch.int64)
    at = 0
    for expert in range(experts):
        mine = ((flat == expert) & live.reshape(-1)).nonzero().flatten().int()
        end = at + -(-len(mine) // block) * block
        slots[at : at + len(mine)] = mine
        owners[at // block : end // block] = expert
        segment[at:end] = expert
        at = end
    return {"slots": slots, "owners": owners, "total": torch.tensor([at], dtype=torch.int32), "segment": segment}


@dataclass(frozen=True)
class AnyOrder:
    """Equal as multisets within each segment, which is a run of equal numbers in what `segments` gives."""

    segments: Callable[[Arguments], torch.Tensor]

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        segment = self.segments(arguments)
        plain = Target(target.name, _ordered(target.reference, segment))
        return Exact().check(plain, _ordered(got, segment), arguments)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict


def _ordered(slots: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
    order = slots.reshape(-1).argsort(stable=True)
    order = order[segment.reshape(-1)[order].argsort(stable=True)]
    return slots.reshape(-1)[order]
