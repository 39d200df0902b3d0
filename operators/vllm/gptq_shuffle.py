"""GPTQ weights in exllama's order of codes, rows permuted first, in place (vLLM `gptq_shuffle`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import packing
from kgb_gym.operators.vllm.families.entry import axes, entry

PERMS = ("empty", "identity", "random")


def build(make: Maker, *, k: int, n: int, bit: int, perm: str = "random") -> Call:
    """Weights of k rows of codes."""
    order = {"empty": torch.empty(0), "identity": torch.arange(k), "random": make.permutation(k)}[perm]
    return make.call(packing.random_words(make, (k * bit // 32, n)), order.to(torch.int32), bit)


def oracle(q_weight: torch.Tensor, q_perm: torch.Tensor, bit: int) -> dict[str, torch.Tensor]:
    """The weights after the call."""
    if q_perm.numel():
        q_weight = packing.pack_rows(packing.unpack_rows(q_weight, bit)[q_perm.long()], bit)
    return {"q_weight": packing.shuffle(q_weight, bit)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes, another permutation."""
    return {**params, "k": 32 * rng.randint(1, 8), "n": 2 * rng.randint(1, 40), "perm": rng.choice(PERMS)}


PUBLISHED = ((512, 512, 8), (1024, 1024, 8), (4096, 4096, 8), (256, 256, 4), (4096, 4096, 4), (8192, 4096, 4))
"""The published weights have 128, 256, 1024, 32, 512 and 1024 rows of words."""
BITS = (2, 3, 4, 8)
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes("k,n,bit", [s for s in PUBLISHED if s[1] >= 1024])),
        grids.product(**axes("k,n,bit", [s for s in PUBLISHED if s[1] < 1024])),
        grids.pairwise(origin="extra", **axes("k,n", ((1024, 8), (4096, 256), (32, 2), (96, 70))), bit=BITS, perm=PERMS),
    ),
    "quick": (
        grids.pairwise(**axes("k,n", ((32, 2), (128, 8), (64, 130))), bit=BITS, perm=PERMS),
        grids.points(*({"k": 96, "n": 6, "bit": bit, "perm": "random"} for bit in BITS)),
    ),
    "smoke": (
        grids.points(
            {"k": 64, "n": 8, "bit": 4, "perm": "random"}, {"k": 32, "n": 6, "bit": 3, "perm": "empty"}, origin="paper"
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "gptq_shuffle(q_weight: torch.Tensor, q_perm: torch.Tensor, bit: int) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("q_weight",),
    compare=Exact(),
    description=(
        "Reorders GPTQ weights in place: row k of the codes becomes the old row q_perm[k] (all rows stay where q_perm is "
        "empty), then the codes inside every word are put in the order from which exllama's kernels unpack them."
    ),
    notes=(
        (
            "q_weight is int32, (K * bit / 32, N), contiguous, N even, K a multiple of 32; bit is 2, 3, 4 or 8. Before "
            "the call code k of column n lies in word k * bit // 32, lowest bits first; 3-bit codes: 32 of them are one "
            "96-bit number over three consecutive rows, code i at bits 3i to 3i + 2 counted from the lowest bit of the "
            "first. q_perm is int32, a permutation of 0..K-1, or has no elements. Only q_weight is written."
        ),
        (
            "After the call, in each word (q0, q1, ... its codes from the lowest bits up before):\n"
            "  bit 8   unchanged\n"
            "  bit 4   [ q7 q5 q3 q1 | q6 q4 q2 q0 ]              high half | low half, q0 lowest\n"
            "  bit 2   [ q15 q13 ... q1 | q14 q12 ... q0 ]\n"
            "  bit 3   of 32 codes in words w0, w1, w2, word j holds\n"
            "          [ c q[10j+9] q[10j+7] ... q[10j+1] | b q[10j+8] q[10j+6] ... q[10j] ]\n"
            "          with b = bit j of q30 at bit 15 and c = bit j of q31 at bit 31"
        ),
    ),
    family="gptq_prepare",
)
