"""Product with AWQ weights of 4 bits (vLLM `awq_gemm`)."""

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


def build(make: Maker, *, m: int, k: int, n: int, group: int, splits: int) -> Call:
    """One call; group -1: all of K."""
    groups = 1 if group == -1 else k // group
    return make.call(
        make.normal((m, k), torch.float16),
        packing.random_words(make, (k, n // 8)),
        make.uniform((groups, n), torch.float16, low=0.002, high=0.02),
        packing.random_words(make, (groups, n // 8)),
        splits,
    )


def factors(arguments: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Activations and weights, float64."""
    scales, words = arguments["scales"].double(), arguments["qweight"]
    group = torch.arange(words.shape[0]) // (words.shape[0] // scales.shape[0])
    codes, zeros = packing.unpack_awq(words), packing.unpack_awq(arguments["qzeros"])
    return arguments["input"].double(), (codes - zeros[group]).double() * scales[group]


def oracle(
    input: torch.Tensor, qweight: torch.Tensor, scales: torch.Tensor, qzeros: torch.Tensor, split_k_iters: int
) -> dict[str, Target]:
    """The product with the unpacked weights."""
    return {"return": products.answer(*factors(locals()), torch.float16)}


def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of weights rounded to fp16."""
    return products.rounded_weights(*factors(arguments), torch.float16)


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes."""
    group = rng.choice((32, 64, -1))
    k = 32 * rng.randint(1, 6) if group == -1 else group * rng.randint(1, 3)
    n = 64 * rng.randint(1, 3)
    return {**params, "m": rng.randint(1, 40), "n": n, "k": k, "group": group, "splits": rng.choice((1, 2, 8))}


SIZES = "m,k,n"
PUBLISHED = (
    (1, 256, 128), (16, 256, 128), (32, 512, 256), (64, 1024, 512), (128, 4096, 4096), (1, 4096, 11008),
    (32, 8192, 8192), (512, 4096, 11008),
)  # fmt: skip
_PUBLISHED_MORE: dict[str, Any] = {"group": (128,), "splits": (1,)}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(SIZES, [s for s in PUBLISHED if s[0] * s[1] >= 65536]), **_PUBLISHED_MORE),
        grids.product(**axes(SIZES, [s for s in PUBLISHED if s[0] * s[1] < 65536]), **_PUBLISHED_MORE),
        grids.pairwise(
            origin="extra", **axes(SIZES, ((2, 128, 64), (14, 1024, 192), (17, 2048, 704), (23, 256, 1088), (64, 8192, 256))),
            group=(32, 64, 128, -1), splits=(1, 8),
        ),
    ),
    "quick": (
        grids.pairwise(
            **axes(SIZES, ((1, 64, 64), (5, 128, 192), (18, 256, 64))), group=(32, 64, -1), splits=(1, 3, 8)
        ),
    ),
    "smoke": (grids.points({SIZES: (3, 64, 64), "group": 32, "splits": 1}, {SIZES: (17, 128, 64), "group": -1, "splits": 8}, origin="paper"),),
}  # fmt: skip

OPERATOR = entry(
    "awq_gemm(input: torch.Tensor, qweight: torch.Tensor, scales: torch.Tensor, qzeros: torch.Tensor, "
    "split_k_iters: int) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=products.Product(noise),
    description=(
        "Returns input @ W in fp16 with W[k, n] = (code[k, n] - zero[g, n]) * scale[g, n], 4-bit codes and zeros and g = "
        "k // (K / G) the group of row k."
    ),
    notes=(
        (
            "input is fp16 (M, K), qweight int32 (K, N / 8), scales fp16 (G, N), qzeros int32 (G, N / 8), all "
            "contiguous. K and K / G are multiples of 32, N of 64. Word c of a row of qweight or qzeros holds eight "
            "columns:\n"
            "  nibble (0 = lowest)   7     6     5     4     3     2     1     0\n"
            "  column 8c +           7     5     3     1     6     4     2     0"
        ),
        (
            "split_k_iters is a hint into how many parts K may be split; it does not change what is computed. Nothing is "
            "written."
        ),
        products.JUDGED,
    ),
    family="awq_gemm",
)
