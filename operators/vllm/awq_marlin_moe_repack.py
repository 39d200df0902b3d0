"""AWQ weights of several experts in Marlin's tiles (vLLM `awq_marlin_moe_repack`)."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import packing, repack


def build(
    make: Maker, *, experts: int, k: int, n: int, bits: int, perm: str = "none", a_8bit: bool = False
) -> Call:  # fmt: skip
    """One call; `perm`, of which nothing depends, has no elements, or random ones."""
    order = torch.empty(experts, 0)
    if perm == "random":
        order = torch.stack([make.permutation(k) for _ in range(experts)])
    words = packing.random_words(make, (experts, k, n * bits // 32))
    return make.call(words, order.to(torch.int32), k, n, bits, a_8bit)


def codes(b_q_weight: torch.Tensor, perm: torch.Tensor, num_bits: int) -> Iterator[torch.Tensor]:
    """The codes (K, N) of each expert."""
    for words in b_q_weight:
        yield packing.unpack_awq(words, num_bits)


OPERATOR = repack.operator(
    "awq_marlin_moe_repack",
    build,
    codes,
    ({"perm": ("none", "random"), "a_8bit": (False, True)},),
    "Repacks the AWQ weights of E experts: unpacks codes and stores them in Marlin's tiles.",
    (
        (
            "b_q_weight is int32, contiguous, (E, size_k, size_n * num_bits / 32); num_bits is 4 or 8. Word c of a row "
            "holds, from the lowest bits up, columns\n"
            "  4 bits  8c + (0, 2, 4, 6, 1, 3, 5, 7)\n"
            "  8 bits  4c + (0, 2, 1, 3)\n"
            "perm, int32, (E, size_k) or (E, 0), is ignored. Returned: int32, (E, size_k / 16, size_n * num_bits / 2). "
            "size_k is a multiple of 32, size_n of 64."
        ),
    ),
)
