"""The experts of each token by softmax (vLLM `topk_softmax`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close, Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm
from kgb_gym.operators.vllm.families.entry import entry
from kgb_gym.operators.vllm.families.judging import Each


def build(
    make: Maker, *, num_tokens: int, num_experts: int, top_k: int, renormalize: bool, dtype: torch.dtype,
    ids_dtype: torch.dtype = torch.int32, ties: bool = False, shift: float = 0.0,
) -> Call:  # fmt: skip
    """One call. Logits of a token are well apart, or (`ties`) many are equal; `shift` is added to all."""
    order = make.uniform((num_tokens, num_experts), torch.float32).argsort(1).float()
    jitter = make.uniform((num_tokens, num_experts), torch.float32, high=0.5)
    logits = (order // 2 if ties else order + jitter) * (8.0 / num_experts) - 4.0 + shift
    outs = [make.out((num_tokens, top_k), d) for d in (torch.float32, ids_dtype, torch.int32)]
    return make.call(*outs, logits.to(dtype), renormalize)


def oracle(
    topk_weights: torch.Tensor, topk_ids: torch.Tensor, token_expert_indices: torch.Tensor, gating_output: torch.Tensor,
    renormalize: bool = False,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Weights in float64, and both tables of indices; a stable sort puts the lower expert first."""
    tokens, top_k = topk_ids.shape
    p, order = gating_output.double().softmax(1).sort(dim=1, descending=True, stable=True)
    weights = p[:, :top_k]
    if renormalize:
        weights = weights / weights.sum(1, keepdim=True)
    places = torch.arange(top_k) * tokens + torch.arange(tokens)[:, None]
    return {
        "topk_weights": weights,
        "topk_ids": order[:, :top_k].to(topk_ids.dtype),
        "token_expert_indices": places.int(),
    }


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes, with and without ties."""
    experts = rng.randint(max(1, params["num_experts"] - 3), params["num_experts"] + 9)
    return {
        **params,
        "num_tokens": rng.randint(1, params["num_tokens"] + 5),
        "num_experts": experts,
        "top_k": rng.randint(1, min(8, experts)),
        "ties": rng.random() < 0.5,
    }


_PAPER = grids.product(
    renormalize=(False, True), top_k=(1, 2, 4), num_experts=(8, 16, 64), num_tokens=(1, 7, 32, 128, 1024, 4096),
    dtype=("float32",),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "renormalize": (False, True), "dtype": ("float32", "float16", "bfloat16"), "ids_dtype": ("int32", "int64"),
    "ties": (False, True),
}  # fmt: skip
_SINGLE = {"num_tokens": 5, "num_experts": 1, "top_k": 1, "renormalize": False, "dtype": "float32"}
_SHIFTED = [{**_SINGLE, "num_experts": 16, "top_k": 2, "shift": shift} for shift in (100.0, -120.0)]
"""Logits whose exponentials fp32 does not hold."""
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["num_tokens"] >= 1024),
        grids.pairwise(
            origin="extra", num_tokens=(3, 500), num_experts=(8, 60, 64, 192, 257, 512), top_k=(1, 2, 6, 8), **_AWKWARD
        ),
        grids.points(_SINGLE, *_SHIFTED),
    ),
    "quick": (
        grids.pairwise(num_tokens=(1, 5, 9), num_experts=(8, 60, 257), top_k=(1, 2, 8), **_AWKWARD),
        grids.points(_SINGLE, *_SHIFTED),
    ),
    "smoke": (
        grids.points(
            {"num_tokens": 4, "num_experts": 16, "top_k": 2, "renormalize": True, "dtype": "float32"},
            {"num_tokens": 3, "num_experts": 10, "top_k": 3, "renormalize": False, "dtype": "bfloat16", "ties": True},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "topk_softmax(topk_weights: torch.Tensor, topk_ids: torch.Tensor, token_expert_indices: torch.Tensor, gating_output: "
    "torch.Tensor, renormalize: bool = False) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("topk_weights", "topk_ids", "token_expert_indices"),
    compare=Each({"topk_weights": Close(slack=24.0)}, Exact()),
    description=(
        "Picks the k most probable experts of each token: the largest of softmax(gating_output) over the experts, in "
        "descending order; of equal ones the lower expert comes first. topk_weights are their probabilities, topk_ids "
        "the experts, token_expert_indices[t, j] = j * tokens + t."
    ),
    notes=(
        (
            "gating_output is (tokens, experts), contiguous, fp32, fp16 or bf16; any number of experts from 1 to 512, "
            "not only powers of two. Written: topk_weights (tokens, k) fp32, topk_ids (tokens, k) int32 or int64, "
            "token_expert_indices (tokens, k) int32. renormalize divides the weights by the sum of the k picked. Compute "
            "in fp32. Logits are equal or well apart."
        ),
    ),
    family="moe_topk",
)
