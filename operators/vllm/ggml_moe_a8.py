"""Products of tokens with GGML weights of their experts, sorted by expert (vLLM `ggml_moe_a8`)."""

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
    make: Maker, *, experts: int, tokens: int, top_k: int, k: int, row: int, kind: int, dtype: torch.dtype, more: int = 0
) -> Call:  # fmt: skip
    """One call; `more`: rows of X beyond the tokens, and further blocks of slots beyond those in use."""
    x, weights, chosen = ggml_moe.inputs(make, experts, tokens + more, top_k, k, row, kind, dtype)
    slots, owners = aligned(chosen[:tokens].flatten(), experts)
    used = torch.tensor([slots.numel()], dtype=torch.int32)
    # Sizes may not depend on values: as many blocks as any choice of experts could need.
    spare = (tokens * top_k + experts * (ggml_moe.SLOTS - 1)) // ggml_moe.SLOTS + 1 + more - owners.numel()
    slots = torch.cat((slots, torch.full((ggml_moe.SLOTS * spare,), tokens * top_k, dtype=torch.int32)))
    owners = torch.cat((owners, torch.full((spare,), -1, dtype=torch.int32)))
    return make.call(x, weights, slots, owners, used, kind, row, top_k, tokens)


def aligned(chosen: torch.Tensor, experts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The slots of each expert, filled up to a multiple of four, and each block's expert (int32)."""
    slots: list[int] = []
    owners: list[int] = []
    for expert in range(experts):
        mine = (chosen == expert).nonzero().flatten().tolist()
        mine += [chosen.numel()] * (-len(mine) % ggml_moe.SLOTS)
        slots += mine
        owners += [expert] * (len(mine) // ggml_moe.SLOTS)
    return torch.tensor(slots, dtype=torch.int32), torch.tensor(owners, dtype=torch.int32)


def owner_of_slots(
    sorted_token_ids: torch.Tensor, expert_ids: torch.Tensor, num_tokens_post_padded: torch.Tensor, slots: int
) -> torch.Tensor:
    """The expert of every slot."""
    used = int(num_tokens_post_padded[0])
    ids = sorted_token_ids[:used].long()
    owners = torch.full((slots + 1,), -1)
    owners[ids.clamp(max=slots)] = expert_ids[: used // ggml_moe.SLOTS].long().repeat_interleave(ggml_moe.SLOTS)
    return owners[:slots]


def oracle(
    X: torch.Tensor, W: torch.Tensor, sorted_token_ids: torch.Tensor, expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor, quant_type: int, row: int, top_k: int, tokens: int,
) -> dict[str, Target]:  # fmt: skip
    """Every slot's product."""
    owners = owner_of_slots(sorted_token_ids, expert_ids, num_tokens_post_padded, tokens * top_k)
    return ggml_moe.target(ggml_moe.products(X, W, owners, quant_type, top_k), X.dtype)


def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of X in 8 bits."""
    slots, experts, used = (arguments[n] for n in ("sorted_token_ids", "expert_ids", "num_tokens_post_padded"))
    owners = owner_of_slots(slots, experts, used, arguments["tokens"] * arguments["top_k"])
    return ggml_moe.noise(arguments["X"], arguments["W"], owners, arguments["quant_type"], arguments["top_k"])


OPERATOR = entry(
    "ggml_moe_a8(X: torch.Tensor, W: torch.Tensor, sorted_token_ids: torch.Tensor, expert_ids: torch.Tensor, "
    "num_tokens_post_padded: torch.Tensor, quant_type: int, row: int, top_k: int, tokens: int) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=ggml_moe.suites({"more": (0, 2)}),
    jitter=ggml_moe.jitter,
    compare=Product(noise),
    description=(
        "Multiplies each token with the quantised weights of its experts, whose slots lie together: row s of the answer "
        "(tokens * top_k, row), in X's type, is weights[expert of slot s] @ X[s // top_k]."
    ),
    notes=(
        (
            "X is fp16, bf16 or fp32, (at least tokens, K), contiguous; W is uint8, contiguous, (experts, row, bytes of a "
            "row of K weights). K is a multiple of a block's elements. Nothing is written."
        ),
        (
            "sorted_token_ids (int32) holds slots in blocks of four; the expert of slots 4b to 4b + 3 is expert_ids[b] "
            "(int32):\n"
            "  sorted_token_ids  | s0 s1 s2 P | s3 P P P | ...       P >= tokens * top_k: padding, no slot\n"
            "  expert_ids        | 0          | 2        | ...\n"
            "Only the first num_tokens_post_padded[0] entries (a multiple of four) count; what follows is padding, its "
            "experts negative. Every slot below tokens * top_k occurs once."
        ),
        *ggml.LAYOUT,
        ggml.JUDGED,
    ),
    family="ggml",
)
