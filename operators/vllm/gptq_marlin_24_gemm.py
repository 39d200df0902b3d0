"""Product with weights of which two of every four are kept (vLLM `gptq_marlin_24_gemm`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import UNIT, Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker, ScalarType
from kgb_gym.operators.vllm.families import marlin, packing, products
from kgb_gym.operators.vllm.families.entry import axes, entry

KEPT = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
ORDER = (0, 4, 1, 5, 2, 6, 3, 7)
"""Which of eight columns each stored scale belongs to, where there are groups."""


def build(make: Maker, *, m: int, n: int, k: int, bits: int = 4, group: int = 128) -> Call:
    """One call: random codes, of every four in a column two kept."""
    groups = 1 if group == -1 else k // group
    scales = make.uniform((groups, n), torch.float16, low=0.002, high=0.02)
    if groups > 1:
        scales = scales.view(groups, -1, 8)[..., ORDER].reshape(groups, n)
    codes = packing.random_codes(make, (k // 2, n), bits)
    words = marlin.pack(codes, marlin.sparse_places(k, n, bits), bits, k // 32)
    kept = torch.tensor(KEPT)[make.integers((k // 4, n), torch.int64, low=0, high=6)]
    return make.call(
        make.normal((m, k), torch.float16), words, metadata(kept), scales, torch.zeros(max(n // 128, 1) * 64, dtype=torch.int32),
        ScalarType(bits, 1 << (bits - 1)), m, n, k,
    )  # fmt: skip


def metadata(kept: torch.Tensor) -> torch.Tensor:
    """The int16 (K / 32, 2N) of the positions (K / 4, N, 2) that are kept."""
    quads, n = kept.shape[:2]
    fields = (kept[..., 0] + 4 * kept[..., 1]).view(quads // 4, 4, n) << torch.arange(0, 16, 4)[:, None]
    elements = fields.sum(1)
    flat = torch.empty(elements.numel(), dtype=torch.int16)
    flat[marlin.metadata_places(4 * quads, n).flatten()] = (
        (elements - (elements >= 1 << 15) * (1 << 16)).short().flatten()
    )
    return flat.view(quads // 8, 2 * n)


def positions(meta: torch.Tensor, k: int, n: int) -> torch.Tensor:
    """Inverse of `metadata`."""
    elements = meta.flatten()[marlin.metadata_places(k, n)].long() & 0xFFFF
    quads = (elements[:, None] >> torch.arange(0, 16, 4)[:, None] & 15).reshape(k // 4, n)
    return torch.stack((quads & 3, quads >> 2), -1)


def factors(arguments: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Activations and weights, float64."""
    k, n, kind = arguments["size_k"], arguments["size_n"], arguments["b_q_type"]
    bits, scales = kind.size_bits, arguments["b_scales"].double()
    codes = marlin.unpack(arguments["b_q_weight"], marlin.sparse_places(k, n, bits), bits) - kind.bias
    kept = positions(arguments["b_meta"], k, n)
    dense = torch.zeros(k // 4, 4, n, dtype=torch.float64)
    dense.scatter_(1, kept.permute(0, 2, 1), codes.double().view(k // 4, 2, n))
    if scales.shape[0] > 1:
        back = torch.tensor(ORDER).argsort()
        scales = scales.view(scales.shape[0], -1, 8)[..., back].reshape(-1, n)
    group = torch.arange(k) // (k // scales.shape[0])
    return arguments["a"].double(), dense.view(k, n) * scales[group]


def oracle(
    a: torch.Tensor, b_q_weight: torch.Tensor, b_meta: torch.Tensor, b_scales: torch.Tensor, workspace: torch.Tensor,
    b_q_type: ScalarType, size_m: int, size_n: int, size_k: int,
) -> dict[str, Target]:  # fmt: skip
    """The product with the unpacked weights."""
    return {"return": products.answer(*factors(locals()), torch.float16)}


def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of rounded weights, or of one more rounding of the output."""
    a, weights = factors(arguments)
    return products.rounded_weights(a, weights, torch.float16) + 0.5 * UNIT[torch.float16] * (a @ weights).abs()


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes."""
    return {**params, "m": rng.randint(1, 16), "n": 128 * rng.randint(1, 2), "k": 128 * rng.randint(1, 3)}


SIZES = "m,k,n"
PUBLISHED = (
    (1, 128, 256), (64, 128, 256), (128, 256, 256), (256, 256, 512), (128, 512, 256), (256, 512, 512), (128, 256, 512),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {"bits": (4, 8), "group": (128, -1)}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(SIZES, [s for s in PUBLISHED if s[0] >= 128])),
        grids.product(**axes(SIZES, [s for s in PUBLISHED if s[0] < 128])),
        grids.product(
            origin="extra", **axes(SIZES, ((1, 128, 512), (26, 1024, 1024), (257, 1408, 512), (1, 1664, 1536), (16, 256, 128))),
            **_AWKWARD,
        ),
    ),
    "quick": (grids.product(**axes(SIZES, ((1, 128, 128), (5, 256, 128), (18, 128, 256))), **_AWKWARD),),
    "smoke": (grids.points({SIZES: (3, 128, 128)}, {SIZES: (2, 256, 128), "bits": 8, "group": -1}, origin="paper"),),
}  # fmt: skip

OPERATOR = entry(
    "gptq_marlin_24_gemm(a: torch.Tensor, b_q_weight: torch.Tensor, b_meta: torch.Tensor, b_scales: torch.Tensor, "
    "workspace: torch.Tensor, b_q_type: ScalarType, size_m: int, size_n: int, size_k: int) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=products.Product(noise),
    description=(
        "Returns a @ W in fp16. Of every four neighbouring rows 4q to 4q + 3 of W two are kept in each column: W = (code - "
        "b_q_type.bias) * scale there, and 0 elsewhere. Sizes: a is (M, K), W is (K, N)."
    ),
    notes=(
        (
            "a is fp16, contiguous. b_q_type has size_bits (4 or 8) and bias. b_q_weight is int32 (K / 32, N * size_bits / "
            "2), b_meta int16 (K / 32, 2N), b_scales fp16 (G, N) with G = K / 128 or 1; row k has scale k // (K / G). K "
            "and N are multiples of 128. Nothing is written; workspace (int32 zeros) may be ignored."
        ),
        (
            "The kept codes of a column, in order of rows, are column n of a matrix (K / 2, N). With n1 = n % 64, t = 4 * "
            "(n1 // 8) + k % 8 // 2, h = n1 % 8 // 4, j = n1 % 4, i = 2 * (k % 16 // 8) + k % 2, its code (k, n) lies in "
            "row k // 16 of b_q_weight at\n"
            "  4 bits  word 128 * (n // 64) + 4 * t + j, with e = i + 4h nibble e // 2 + 4 * (e % 2)\n"
            "  8 bits  word 256 * (n // 64) + 8 * t + 2 * j + h, byte 2 * (i % 2) + i // 2"
        ),
        (
            "Rows 16c to 16c + 15 of column n have one 16-bit element of b_meta: its bits 4t to 4t + 3 are rows 16c + 4t "
            "to 16c + 4t + 3, the lower two bits the position 0..3 of the first kept row, the upper two that of the "
            "second. It lies, in flat b_meta, at (C // 2) * 2N + 2R + C % 2 where\n"
            "  r = 64 * (n // 64) + 2 * (n % 2) + n % 8 // 4 + 32 * (n % 4 // 2) + 4 * (n % 64 // 8)\n"
            "  s = 1 if r is even and c odd, -1 if r is odd and c even, else 0;  R = r + s, C = c - s"
        ),
        ("Where G > 1, the scale of column n stands at 8 * (n // 8) + 2 * (n % 4) + n % 8 // 4; where G is 1, at n."),
        products.JUDGED,
    ),
    family="marlin_gemm",
)
