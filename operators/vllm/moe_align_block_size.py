"""Slots of tokens sorted by expert and padded to blocks (vLLM `moe_align_block_size`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm, routing
from kgb_gym.operators.vllm.families.entry import entry
from kgb_gym.operators.vllm.families.judging import Each


def build(
    make: Maker, *, num_tokens: int, num_experts: int, topk: int, block_size: int, dtype: torch.dtype,
    mapped: bool = False, skew: bool = False,
) -> Call:  # fmt: skip
    """One call; `mapped`: half of the experts live elsewhere."""
    ids = routing.chosen(make, num_tokens, num_experts, topk, skew)
    size = ids.numel()
    length = size + num_experts * (block_size - 1)
    if size < num_experts:
        length = min(length, size * block_size)
    expert_map = None
    if mapped:
        expert_map = torch.full((num_experts,), -1, dtype=torch.int32)
        here = make.permutation(num_experts)[: (num_experts + 1) // 2].sort().values
        expert_map[here] = torch.arange(len(here), dtype=torch.int32)
    outs = [make.out((n,), torch.int32) for n in (length, -(-length // block_size), 1)]
    return make.call(ids.to(dtype), num_experts, block_size, *outs, expert_map)


def _aligned(a: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    ids, moved = a["topk_ids"], a["expert_map"]
    ids = ids if moved is None else moved[ids.long()]
    return routing.aligned(ids, ids >= 0, a["num_experts"], a["block_size"], a["sorted_token_ids"].numel(), 0)


def oracle(**arguments: Any) -> dict[str, torch.Tensor]:
    """The three outputs, tokens of an expert in ascending order."""
    found = _aligned(arguments)
    return {"sorted_token_ids": found["slots"], "experts_ids": found["owners"], "num_tokens_post_pad": found["total"]}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes, with and without a map."""
    return {
        **params,
        "num_tokens": max(1, params["num_tokens"] + rng.randint(-5, 9)),
        "num_experts": rng.randint(1, params["num_experts"] + 3),
        "topk": rng.randint(1, 4),
        "block_size": rng.choice((4, 8, 16, 32)),
        "mapped": rng.random() < 0.5,
    }


_PAPER = grids.product(
    dtype=("int32",), topk=(2, 4, 10), block_size=(8, 16, 32, 64), num_experts=(4, 8, 16, 32, 64),
    num_tokens=(128, 1024, 4096, 6152, 11575, 16384),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {"dtype": ("int32", "int64"), "mapped": (False, True), "skew": (False, True)}
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["num_tokens"] >= 1024),
        grids.pairwise(
            origin="extra", num_tokens=(1, 3, 256, 2256), num_experts=(32, 160, 257), topk=(1, 2, 16), block_size=(32, 128), **_AWKWARD
        ),
    ),
    "quick": (
        grids.pairwise(num_tokens=(1, 3, 29), num_experts=(3, 5, 8), topk=(1, 2, 4), block_size=(4, 8, 16), **_AWKWARD),
        grids.points({"num_tokens": 700, "num_experts": 2, "topk": 2, "block_size": 32, "dtype": "int32"}),
    ),
    "smoke": (
        grids.points(
            {"num_tokens": 5, "num_experts": 3, "topk": 2, "block_size": 4, "dtype": "int32"},
            {"num_tokens": 6, "num_experts": 4, "topk": 1, "block_size": 8, "dtype": "int32", "mapped": True},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "moe_align_block_size(topk_ids: torch.Tensor, num_experts: int, block_size: int, sorted_token_ids: torch.Tensor, "
    "experts_ids: torch.Tensor, num_tokens_post_pad: torch.Tensor, expert_map: torch.Tensor | None = None) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("sorted_token_ids", "experts_ids", "num_tokens_post_pad"),
    compare=Each({"sorted_token_ids": routing.AnyOrder(lambda a: _aligned(a)["segment"])}, Exact()),
    description=(
        "Sorts the entries of topk_ids by expert and pads each expert's part to a multiple of block_size. In ascending "
        "order of experts, sorted_token_ids holds the flat indices of the expert's entries in topk_ids, in any order, "
        "then padding; experts_ids holds the expert of each block of block_size slots; num_tokens_post_pad the number of "
        "slots used."
    ),
    notes=(
        (
            "topk_ids is (tokens, k) int32 or int64, contiguous; the outputs are int32 and the only arguments written:\n"
            "  sorted_token_ids (length,)      e0 e0 e0 P | e2 P P P | e3 e3 e3 e3 | P P P P ...     P = tokens * k\n"
            "  experts_ids (ceil(length / block_size),)   0 | 2 | 3 | 0 ...\n"
            "  num_tokens_post_pad (1,)        12\n"
            "Padding, also all beyond the slots used, is tokens * k. Blocks that are not used have expert 0. An expert "
            "without entries takes no block. length is large enough and need not be a multiple of block_size."
        ),
        (
            "expert_map, where given, is (num_experts,) int32: entry e counts as of expert expert_map[e], and not at all "
            "where that is -1. Experts' order and experts_ids are of the mapped numbers."
        ),
    ),
    family="moe_align",
)
