"""Product with GPTQ weights of 2, 3, 4 or 8 bits (vLLM `gptq_gemm`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import packing, products
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(
    make: Maker, *, m: int, n: int, k: int, bit: int, group: int, order: str = "none", exllama: bool = True,
    v2: bool = False,
) -> Call:  # fmt: skip
    """One call. `order`: `none` (groups of neighbouring rows), `perm` (exllama: activations permuted) or `groups`
    (without exllama: rows belong to any group)."""
    a = make.normal((m, k), torch.float16)
    weights = packing.pack_rows(packing.random_codes(make, (k, n), bit), bit)
    group = k if group == -1 else group
    zeros = packing.pack_bits(packing.random_codes(make, (k // group, n), bit), bit)
    scales = make.uniform((k // group, n), torch.float16, low=0.002, high=0.02)
    index = torch.arange(k) // group
    if exllama:
        weights = packing.shuffle(weights, bit)
        index = make.permutation(k) if order == "perm" else torch.empty(0)
    elif order == "groups":
        index = index[make.permutation(k)]
    return make.call(a, weights, zeros, scales, index.to(torch.int32), exllama, v2, bit)


def factors(arguments: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Activations in the order of the weights' rows, and the weights, float64."""
    bit, index = arguments["bit"], arguments["b_g_idx"].long()
    a, words = arguments["a"].double(), arguments["b_q_weight"]
    zeros = packing.unpack_bits(arguments["b_gptq_qzeros"], bit) + (0 if arguments["use_v2_format"] else 1)
    k = a.shape[1]
    group = torch.arange(k) // (k // zeros.shape[0])
    if arguments["use_exllama"]:
        codes = packing.unshuffle(words, bit)
        a = a[:, index] if index.numel() else a
    else:
        codes, group = packing.unpack_rows(words, bit), index
    return a, (codes - zeros[group]).double() * arguments["b_gptq_scales"].double()[group]


def oracle(
    a: torch.Tensor, b_q_weight: torch.Tensor, b_gptq_qzeros: torch.Tensor, b_gptq_scales: torch.Tensor,
    b_g_idx: torch.Tensor, use_exllama: bool, use_v2_format: bool, bit: int,
) -> dict[str, Target]:  # fmt: skip
    """The product with the unpacked weights."""
    return {"return": products.answer(*factors(locals()), torch.float16)}


def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of weights rounded to fp16."""
    return products.rounded_weights(*factors(arguments), torch.float16)


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes."""
    group = rng.choice((32, 64, -1))
    k = abs(group) * rng.randint(1, 3) if group > 0 else 32 * rng.randint(1, 4)
    return {**params, "m": rng.randint(1, 40), "n": 32 * rng.randint(1, 4), "k": k, "group": group}


SIZES = "m,n,k"
PUBLISHED = ((1, 256, 256), (16, 256, 256), (32, 256, 256), (64, 512, 512))
BITS = (2, 3, 4, 8)
_EXLLAMA: dict[str, Any] = {"exllama": (True,), "order": ("none", "perm")}
_PLAIN: dict[str, Any] = {"exllama": (False,), "order": ("none", "groups")}
_LARGE = ((1, 640, 4096), (24, 640, 1024), (51, 1024, 512), (240, 512, 1024), (9, 128, 256))
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(SIZES, PUBLISHED), bit=(4,), group=(128,)),
        *(
            grids.pairwise(
                origin="extra", **axes(SIZES, _LARGE), bit=BITS, group=(32, 64, 128, -1), v2=(False, True), **kind
            )
            for kind in (_EXLLAMA, _PLAIN)
        ),
        grids.points({SIZES: (240, 6144, 4096), "bit": 4, "group": 128, "order": "perm"}),
    ),
    "quick": tuple(
        grids.pairwise(
            **axes(SIZES, ((1, 32, 128), (5, 96, 256), (18, 160, 128))), bit=BITS, group=(32, 64, -1), v2=(False, True),
            **kind,
        )
        for kind in (_EXLLAMA, _PLAIN)
    ),
    "smoke": (
        grids.points(
            {SIZES: (3, 64, 64), "bit": 4, "group": 32}, {SIZES: (2, 32, 64), "bit": 3, "group": 64, "order": "perm"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "gptq_gemm(a: torch.Tensor, b_q_weight: torch.Tensor, b_gptq_qzeros: torch.Tensor, b_gptq_scales: torch.Tensor, "
    "b_g_idx: torch.Tensor, use_exllama: bool, use_v2_format: bool, bit: int) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=products.Product(noise),
    description=(
        "Returns a @ W in fp16 with W[k, n] = (code[k, n] - zero[g, n]) * scale[g, n], codes and zeros of `bit` bits and "
        "g the group of row k."
    ),
    notes=(
        (
            "a is fp16 (M, K); b_gptq_scales is fp16 (G, N); b_q_weight is int32 (K * bit / 32, N); b_gptq_qzeros is "
            "int32 (G, N * bit / 32), packed along N from the lowest bits up; bit is 2, 3, 4 or 8 (three bits: 32 "
            "codes are one 96-bit number over three consecutive words, code i at its bits 3i to 3i + 2). zero is the "
            "stored value + 1, not reduced to `bit` bits again, or with use_v2_format the stored value. All are "
            "contiguous; K, N and K / G are multiples of 32. Nothing is written."
        ),
        (
            "use_exllama False: b_q_weight is plain GPTQ, packed along K like the zeros along N; b_g_idx (K,) int32 is "
            "the group of each row.\n"
            "use_exllama True: the group of row k is k // (K / G). b_g_idx is empty, or a permutation of 0..K-1: row k "
            "of W meets column b_g_idx[k] of a. Words hold their codes q0, q1, ... in this order:\n"
            "  bit 8   lowest byte first\n"
            "  bit 4   [ q7 q5 q3 q1 | q6 q4 q2 q0 ]              high half | low half, q0 lowest\n"
            "  bit 2   [ q15 q13 ... q1 | q14 q12 ... q0 ]\n"
            "  bit 3   of 32 codes in words w0, w1, w2, word j holds\n"
            "          [ c q[10j+9] q[10j+7] ... q[10j+1] | b q[10j+8] q[10j+6] ... q[10j] ]\n"
            "          with b = bit j of q30 at bit 15 and c = bit j of q31 at bit 31"
        ),
        products.JUDGED,
    ),
    family="gptq_gemm",
)
