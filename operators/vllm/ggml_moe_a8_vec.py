"""Products of tokens with GGML weights of their experts, token by token (vLLM `ggml_moe_a8_vec`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators.compare import Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import ggml, ggml_moe
from kgb_gym.operators.vllm.families.entry import entry
from kgb_gym.operators.vllm.families.products import Product


def build(
    make: Maker, *, experts: int, tokens: int, top_k: int, k: int, row: int, kind: int, dtype: torch.dtype
) -> Call:  # fmt: skip
    """One call."""
    x, weights, chosen = ggml_moe.inputs(make, experts, tokens, top_k, k, row, kind, dtype)
    return make.call(x, weights, chosen, top_k, kind, row, tokens)


def oracle(
    X: torch.Tensor, W: torch.Tensor, topk_ids: torch.Tensor, top_k: int, quant_type: int, row: int, tokens: int
) -> dict[str, Target]:
    """Every slot's product."""
    return ggml_moe.target(ggml_moe.products(X, W, topk_ids.flatten(), quant_type, top_k), X.dtype)


def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of X in 8 bits."""
    experts = arguments["topk_ids"].flatten()
    return ggml_moe.noise(arguments["X"], arguments["W"], experts, arguments["quant_type"], arguments["top_k"])


OPERATOR = entry(
    "ggml_moe_a8_vec(X: torch.Tensor, W: torch.Tensor, topk_ids: torch.Tensor, top_k: int, quant_type: int, row: int, "
    "tokens: int) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=ggml_moe.suites({}),
    jitter=ggml_moe.jitter,
    compare=Product(noise),
    description=(
        "Multiplies each token with the quantised weights of its experts: row t * top_k + j of the answer (tokens * top_k, "
        "row), in X's type, is weights[topk_ids[t, j]] @ X[t]."
    ),
    notes=(
        (
            "X is fp16, bf16 or fp32, (tokens, K), contiguous; W is uint8, contiguous, (experts, row, bytes of a row of K "
            "weights); topk_ids is int32 (tokens, top_k). K is a multiple of a block's elements. Nothing is written."
        ),
        *ggml.LAYOUT,
        ggml.JUDGED,
    ),
    family="ggml",
)
