"""Slots of tokens sorted by expert for each adapter (vLLM `moe_lora_align_block_size`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import routing
from kgb_gym.operators.vllm.families.entry import axes, entry
from kgb_gym.operators.vllm.families.judging import Each


def build(
    make: Maker, *, num_tokens: int, topk: int, block_size: int, num_experts: int, max_loras: int,
    disabled: bool = False,
) -> Call:  # fmt: skip
    """One call. Some tokens have no adapter; `disabled`: one adapter is off and one entry of lora_ids is -1."""
    ids = routing.chosen(make, num_tokens, num_experts, topk)
    length = ids.numel() + num_experts * (block_size - 1)
    owner = make.integers((num_tokens,), torch.int32, low=-1, high=max_loras)
    active, lora_ids = make.full((max_loras + 1,), 1, torch.int32), make.permutation(max_loras).int()
    if disabled:
        active[int(lora_ids[0])] = 0
        lora_ids[1:2] = -1
    blocks = -(-length // block_size)
    outs = [make.out((n,), torch.int32) for n in (max_loras * length, max_loras * blocks, max_loras)]
    return make.call(ids, owner, num_experts, block_size, max_loras, length, blocks, *outs, active, lora_ids, None)


def _adapters(a: Mapping[str, Any]) -> list[int]:
    return [x for x in a["lora_ids"].tolist()[: a["max_loras"]] if x >= 0 and a["adapter_enabled"][x] != 0]


def _aligned(a: Mapping[str, Any], adapter: int) -> dict[str, torch.Tensor]:
    live = (a["token_lora_mapping"] == adapter)[:, None].expand(a["topk_ids"].shape)
    return routing.aligned(a["topk_ids"], live, a["num_experts"], a["block_size"], a["max_num_tokens_padded"], -1)


def oracle(**a: Any) -> dict[str, torch.Tensor]:
    """The three outputs, tokens of an expert in ascending order; rows of adapters that are off stay as they are."""
    slots, owners, total = (a[n].clone() for n in ("sorted_token_ids", "experts_ids", "num_tokens_post_pad"))
    for adapter in _adapters(a):
        found = _aligned(a, adapter)
        slots.view(a["max_loras"], -1)[adapter] = found["slots"]
        owners.view(a["max_loras"], -1)[adapter] = found["owners"]
        total[adapter] = found["total"][0]
    return {"sorted_token_ids": slots, "experts_ids": owners, "num_tokens_post_pad": total}


def _segments(a: Mapping[str, Any]) -> torch.Tensor:
    """Segments of all rows, apart from one another."""
    rows = torch.arange(a["max_loras"])[:, None] * (a["num_experts"] + 1)
    segment = torch.zeros(a["max_loras"], a["max_num_tokens_padded"], dtype=torch.int64)
    for adapter in _adapters(a):
        segment[adapter] = _aligned(a, adapter)["segment"]
    apart: torch.Tensor = segment + rows
    return apart


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes, with and without adapters that are off."""
    return {
        "num_tokens": max(1, params["num_tokens"] + rng.randint(-5, 9)),
        "topk": rng.randint(1, 3),
        "block_size": rng.choice((4, 8, 16)),
        "num_experts": rng.randint(3, 8),
        "max_loras": rng.randint(1, 4),
        "disabled": rng.random() < 0.5,
    }


GEOMETRY = "num_tokens,topk,block_size,num_experts,max_loras"
PUBLISHED = (
    (16, 2, 8, 4, 2), (32, 2, 8, 8, 4), (64, 4, 16, 4, 2), (128, 2, 16, 8, 4), (128, 4, 16, 4, 2), (32, 4, 8, 4, 2),
    (256, 4, 16, 8, 4), (256, 2, 16, 4, 2), (128, 2, 32, 8, 4), (64, 2, 8, 4, 2),
)  # fmt: skip
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 128])),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 128])),
        grids.product(
            origin="extra", **axes(GEOMETRY, [(n, 6, 16, e, m) for n in (100, 1024) for e in (64, 256) for m in (2, 8)]),
            disabled=(False, True),
        ),
        grids.points({GEOMETRY: (1, 1, 4, 3, 1)}),
    ),
    "quick": (
        grids.pairwise(
            num_tokens=(1, 13, 40), topk=(1, 2), block_size=(4, 8), num_experts=(3, 4), max_loras=(1, 2, 3), disabled=(False, True)
        ),
        grids.points({GEOMETRY: (700, 2, 16, 2, 1)}),
    ),
    "smoke": (
        grids.points({GEOMETRY: (9, 2, 4, 3, 2)}, {GEOMETRY: (12, 1, 8, 3, 3), "disabled": True}, origin="paper"),
    ),
}  # fmt: skip

OPERATOR = entry(
    "moe_lora_align_block_size(topk_ids: torch.Tensor, token_lora_mapping: torch.Tensor, num_experts: int, block_size: int, "
    "max_loras: int, max_num_tokens_padded: int, max_num_m_blocks: int, sorted_token_ids: torch.Tensor, experts_ids: "
    "torch.Tensor, num_tokens_post_pad: torch.Tensor, adapter_enabled: torch.Tensor, lora_ids: torch.Tensor, expert_map: "
    "torch.Tensor | None = None) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("sorted_token_ids", "experts_ids", "num_tokens_post_pad"),
    compare=Each({"sorted_token_ids": routing.AnyOrder(_segments)}, Exact()),
    description=(
        "For each adapter l in lora_ids that is not -1 and has adapter_enabled[l] != 0: sorts the entries of topk_ids of "
        "the tokens with token_lora_mapping == l by expert and pads each expert's part to a multiple of block_size. The "
        "flat indices go to row l of sorted_token_ids, the experts of blocks to row l of experts_ids, the number of slots "
        "used to num_tokens_post_pad[l]."
    ),
    notes=(
        (
            "topk_ids is (tokens, k) int32, token_lora_mapping (tokens,) int32 with -1 for no adapter, lora_ids (max_loras,) "
            "int32 in any order, adapter_enabled (max_loras + 1,) int32. Written, all int32: sorted_token_ids (max_loras * "
            "max_num_tokens_padded,), experts_ids (max_loras * max_num_m_blocks,), num_tokens_post_pad (max_loras,), as "
            "rows one after the other."
        ),
        (
            "Within an expert the order is free; experts ascend. Padding, also all of a row beyond the slots used, is "
            "tokens * k; blocks that are not used have expert -1. An expert without entries takes no block. Rows of "
            "adapters that are off or not in lora_ids keep their contents. expert_map is None."
        ),
    ),
    family="moe_align",
)
