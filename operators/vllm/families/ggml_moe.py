"""Products of tokens with the quantised weights of their experts."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Target
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import ggml
from kgb_gym.operators.vllm.families.entry import axes

SLOTS = 4
"""Slots of one expert that lie together."""
SHAPE = "experts,tokens,top_k,k,row,kind"
PUBLISHED = (
    (4, 2, 2, 64, 32, 8), (4, 4, 2, 128, 64, 8), (8, 8, 2, 256, 128, 8), (8, 16, 2, 512, 256, 8), (8, 32, 2, 1024, 512, 8),
    (8, 64, 2, 2048, 1024, 8), (16, 32, 2, 4096, 2048, 8),
)  # fmt: skip


def suites(more: dict[str, Any]) -> dict[str, tuple[Grid, ...]]:
    """The grids, with further axes that one operator has."""
    timed = [p for p in PUBLISHED if p[0] * p[3] >= 4096]
    types: dict[str, Any] = {"kind": tuple(ggml.TYPES), "dtype": ggml.FLOATS, **more}
    return {
        "paper": (
            grids.product(timed=True, **axes(SHAPE, timed), dtype=("float16",)),
            grids.product(**axes(SHAPE, [p for p in PUBLISHED if p not in timed]), dtype=("float16",)),
            grids.pairwise(
                origin="extra", **axes("experts,tokens,top_k,k,row", ((8, 33, 3, 512, 100), (5, 7, 1, 1024, 33), (64, 100, 6, 256, 64))),
                **types,
            ),
        ),
        "quick": (
            grids.pairwise(**axes("experts,tokens,top_k,k,row", ((3, 2, 2, 256, 5),)), **axes("kind,dtype", ggml.EACH), **more),
            grids.points(
                {SHAPE: (4, 3, 1, 256, 3, 13), "dtype": "float32"},
                {SHAPE: (2, 5, 2, 96, 3, 8), "dtype": "float32"},
                {SHAPE: (3, 2, 2, 512, 33, 6), "dtype": "float16"},
            ),
        ),
        "smoke": (
            grids.points(
                {SHAPE: (3, 2, 2, 64, 9, 8), "dtype": "float16"}, {SHAPE: (2, 3, 1, 256, 3, 12), "dtype": "float32"},
                origin="paper",
            ),
        ),
    }  # fmt: skip


def inputs(
    make: Maker, experts: int, tokens: int, top_k: int, k: int, row: int, kind: int, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """X (tokens, k), W (experts, row, bytes) and each token's distinct experts (tokens, top_k), int32."""
    chosen = torch.stack([make.permutation(experts)[:top_k] for _ in range(tokens)]).int()
    weights = ggml.random_blocks(make, kind, experts * row, k).view(experts, row, -1)
    return make.normal((tokens, k), dtype), weights, chosen


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes of the same type."""
    return {
        **params,
        "experts": rng.randint(3, 6),
        "tokens": rng.randint(1, 5),
        "top_k": rng.randint(1, 3),
        "k": ggml.TYPES[params["kind"]][0] * rng.randint(1, 3),
        "row": rng.randint(1, 40),
    }


def products(X: torch.Tensor, W: torch.Tensor, experts: torch.Tensor, kind: int, top_k: int) -> torch.Tensor:
    """The product of every slot (float64): of its token with the weights of its expert."""
    out = torch.zeros(experts.numel(), W.shape[1], dtype=torch.float64)
    for expert in experts.unique().tolist():
        slots = (experts == expert).nonzero().flatten()
        out[slots] = X[slots // top_k].double() @ ggml.dequantized(W[expert], kind).T
    return out


def noise(X: torch.Tensor, W: torch.Tensor, experts: torch.Tensor, kind: int, top_k: int) -> torch.Tensor:
    """The noise of every slot."""
    out = torch.zeros(experts.numel(), W.shape[1], dtype=torch.float64)
    for expert in experts.unique().tolist():
        slots = (experts == expert).nonzero().flatten()
        out[slots] = ggml.eight_bit_noise(X[slots // top_k], W[expert], kind)
    return out


def target(precise: torch.Tensor, dtype: torch.dtype) -> dict[str, Target]:
    """What is returned."""
    return {"return": Target("", precise.to(dtype), precise)}
