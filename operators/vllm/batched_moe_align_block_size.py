"""Slots of tokens that are batched by expert, padded to blocks (vLLM `batched_moe_align_block_size`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(make: Maker, *, batches: int, block_size: int, max_tokens: int, zeros: bool = False) -> Call:
    """One call; `zeros`: every third batch is empty."""
    counts = make.integers((batches,), torch.int32, low=0 if zeros else 1, high=max_tokens + 1)
    if zeros:
        counts[::3] = 0
    blocks = batches * -(-max_tokens // block_size)
    outs = [make.out((n,), torch.int32) for n in (blocks * block_size, blocks, 1)]
    return make.call(max_tokens, block_size, counts, *outs)


def oracle(
    max_tokens_per_batch: int, block_size: int, expert_num_tokens: torch.Tensor, sorted_ids: torch.Tensor,
    expert_ids: torch.Tensor, num_tokens_post_pad: torch.Tensor,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """The three outputs."""
    slots = torch.full_like(sorted_ids, max_tokens_per_batch * len(expert_num_tokens))
    owners, at = torch.full_like(expert_ids, -1), 0
    for batch, count in enumerate(expert_num_tokens.tolist()):
        end = at + -(-count // block_size) * block_size
        slots[at : at + count] = batch * max_tokens_per_batch + torch.arange(count)
        owners[at // block_size : end // block_size] = batch
        at = end
    return {"sorted_ids": slots, "expert_ids": owners, "num_tokens_post_pad": torch.full_like(num_tokens_post_pad, at)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes, empty batches."""
    return {
        "batches": rng.randint(1, params["batches"] + 3),
        "block_size": rng.choice((2, 4, 8, 16)),
        "max_tokens": max(1, params["max_tokens"] + rng.randint(-5, 9)),
        "zeros": rng.random() < 0.7,
    }


GEOMETRY = "batches,block_size,max_tokens"
PUBLISHED = (
    (4, 4, 32), (8, 8, 64), (16, 4, 128), (8, 4, 256), (32, 8, 128), (32, 8, 64), (64, 8, 128), (64, 16, 256),
    (128, 16, 256),
)  # fmt: skip
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 16 and g[2] >= 128])),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 16 or g[2] < 128])),
        grids.product(
            origin="extra", batches=(8, 64), block_size=(8, 16, 64), max_tokens=(13, 16, 512), zeros=(True,)
        ),
    ),
    "quick": (
        grids.pairwise(batches=(1, 5, 8), block_size=(4, 8, 16), max_tokens=(1, 13, 33, 300), zeros=(False, True)),
    ),
    "smoke": (
        grids.points(
            {"batches": 3, "block_size": 4, "max_tokens": 9}, {"batches": 4, "block_size": 8, "max_tokens": 13, "zeros": True},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "batched_moe_align_block_size(max_tokens_per_batch: int, block_size: int, expert_num_tokens: torch.Tensor, sorted_ids: "
    "torch.Tensor, expert_ids: torch.Tensor, num_tokens_post_pad: torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("sorted_ids", "expert_ids", "num_tokens_post_pad"),
    compare=Exact(),
    description=(
        "For tokens that are batched by expert: batch b contributes the indices b * max_tokens_per_batch + i, i < "
        "expert_num_tokens[b], in order, padded to a multiple of block_size. sorted_ids holds them batch after batch, "
        "expert_ids the batch of each block, num_tokens_post_pad the number of slots used."
    ),
    notes=(
        (
            "With B batches and m = max_tokens_per_batch: expert_num_tokens is (B,) int32 with values from 0 to m. The "
            "outputs are int32 and the only arguments written: sorted_ids (B * ceil(m / block_size) * block_size,), "
            "padding and everything beyond the slots used is B * m; expert_ids (B * ceil(m / block_size),), -1 for blocks "
            "that are not used; num_tokens_post_pad (1,). An empty batch takes no block. B is at most 1024."
        ),
    ),
    family="moe_align",
)
