"""GPTQ weights of several experts in Marlin's tiles (vLLM `gptq_marlin_moe_repack`)."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import packing, repack

PERMS = ("identity", "none", "random")


def build(
    make: Maker, *, experts: int, k: int, n: int, bits: int, perm: str = "identity", a_8bit: bool = False
) -> Call:  # fmt: skip
    """One call; `perm` none: without elements."""
    order = {
        "none": torch.empty(experts, 0),
        "identity": torch.arange(k).expand(experts, k),
        "random": torch.stack([make.permutation(k) for _ in range(experts)]),
    }[perm]
    words = packing.random_words(make, (experts, k * bits // 32, n))
    return make.call(words, order.to(torch.int32).contiguous(), k, n, bits, a_8bit)


def codes(b_q_weight: torch.Tensor, perm: torch.Tensor, num_bits: int) -> Iterator[torch.Tensor]:
    """The codes (K, N) of each expert, rows permuted."""
    for words, order in zip(b_q_weight, perm, strict=True):
        unpacked = packing.unpack_rows(words, num_bits)
        yield unpacked[order.long()] if order.numel() else unpacked


OPERATOR = repack.operator(
    "gptq_marlin_moe_repack",
    build,
    codes,
    ({"perm": PERMS}, {"perm": ("none",), "a_8bit": (True,)}),
    "Repacks the GPTQ weights of E experts: unpacks codes, permutes their rows and stores them in Marlin's tiles.",
    (
        (
            "b_q_weight is int32, contiguous, (E, size_k * num_bits / 32, size_n); num_bits is 4 or 8. Code k of column n "
            "lies in word row k * num_bits // 32, lowest bits first. perm is int32, (E, size_k): row k of what is "
            "stored is row perm[e, k] of the codes; or (E, 0): rows stay where they are, always so with is_a_8bit. "
            "Returned: int32, (E, size_k / 16, size_n * num_bits / 2). size_k is a multiple of 32, size_n of 64."
        ),
    ),
)
