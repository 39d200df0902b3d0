"""Product with weights of 8 bits in AllSpark's order (vLLM `allspark_w8a16_gemm`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import allspark, products
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(
    make: Maker, *, m: int, n: int, k: int, dtype: torch.dtype, zeros: bool = False, threshold: int = 1024
) -> Call:
    """One call: random codes, scales and zero points, reordered."""
    scales = make.uniform((n,), dtype, low=0.002, high=0.02)
    zero = make.uniform((n,), dtype, low=-20.0, high=20.0)
    return make.call(
        make.normal((m, k), dtype),
        allspark.reorder(make.integers((k, n), torch.uint8, low=0, high=256)),
        allspark.reorder_columns(scales),
        allspark.reorder_columns(zero) if zeros else None,
        n, -1, 132, 90, threshold, zeros, True,
    )  # fmt: skip


def factors(arguments: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Activations and weights, float64."""
    n, zeros = arguments["n"], arguments["b_qzeros"]
    codes = allspark.restore(arguments["b_qweight"], n).double() - 128
    if zeros is not None:
        codes = codes - allspark.restore_columns(zeros, n).double()
    return arguments["a"].double(), codes * allspark.restore_columns(arguments["b_scales"], n).double()


def oracle(
    a: torch.Tensor, b_qweight: torch.Tensor, b_scales: torch.Tensor, b_qzeros: torch.Tensor | None, n: int,
    group_size: int, sm_count: int, sm_version: int, CUBLAS_M_THRESHOLD: int, has_zp: bool, n32k16_reorder: bool,
) -> dict[str, Target]:  # fmt: skip
    """The product with the weights in their own order."""
    return {"return": products.answer(*factors(locals()), a.dtype)}


def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of weights that are rounded twice where there are zero points: after them, and after the scale."""
    once = products.rounded_weights(*factors(arguments), arguments["a"].dtype)
    return once if arguments["b_qzeros"] is None else once * 1.5


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes."""
    sizes = {"m": rng.randint(1, 40), "n": 16 * rng.randint(1, 8), "k": 16 * rng.randint(2, 12)}
    return {**params, **sizes, "zeros": rng.random() < 0.5}


SIZES = "m,k,n"
PUBLISHED = (
    (1, 256, 128), (32, 256, 128), (64, 256, 256), (128, 512, 128), (256, 512, 256), (256, 512, 512), (256, 1024, 256),
    (256, 1024, 512), (512, 512, 256), (512, 512, 512), (512, 1024, 512), (1024, 512, 512), (1024, 1024, 512),
)  # fmt: skip
_TIMED = [s for s in PUBLISHED if s[0] >= 256 and s[1] >= 512 and s[2] >= 256]
HALVES = ("float16", "bfloat16")
_AWKWARD: dict[str, Any] = {"dtype": HALVES, "zeros": (False, True), "threshold": (1024, 1)}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(SIZES, _TIMED), dtype=("float16",)),
        grids.product(**axes(SIZES, [s for s in PUBLISHED if s not in _TIMED]), dtype=("float16",)),
        grids.pairwise(
            origin="extra",
            **axes(SIZES, ((1, 128, 64), (13, 176, 208), (26, 208, 272), (48, 1072, 592), (67, 1408, 64), (257, 208, 592),
                           (658, 1408, 272), (1033, 128, 208))),
            **_AWKWARD,
        ),
    ),
    "quick": (grids.pairwise(**axes(SIZES, ((1, 64, 32), (5, 80, 48), (20, 176, 64), (18, 48, 112))), **_AWKWARD),),
    "smoke": (
        grids.points(
            {SIZES: (3, 32, 32), "dtype": "float16"}, {SIZES: (2, 48, 48), "dtype": "bfloat16", "zeros": True}, origin="paper"
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "allspark_w8a16_gemm(a: torch.Tensor, b_qweight: torch.Tensor, b_scales: torch.Tensor, b_qzeros: torch.Tensor | None, "
    "n: int, group_size: int, sm_count: int, sm_version: int, CUBLAS_M_THRESHOLD: int, has_zp: bool, n32k16_reorder: bool) "
    "-> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=products.Product(noise),
    description=(
        "Returns a @ W in a's type with W[k, n] = (code[k, n] - 128 - zero[n]) * scale[n], unsigned 8-bit codes, and zero "
        "0 where b_qzeros is None."
    ),
    notes=(
        (
            "a is fp16 or bf16 (M, K), contiguous; K and n are multiples of 16. With N32 = n rounded up to 32: b_qweight "
            "is uint8 (N32, K), b_scales and b_qzeros are (1, N32) of a's type. group_size is -1. sm_count, sm_version, "
            "CUBLAS_M_THRESHOLD, has_zp and n32k16_reorder do not change what is computed. Nothing is written."
        ),
        (
            "b_qweight is reordered: with r = n % 32, k1 = k % 16, code[k, n] is byte\n"
            "  (8 * (n // 32) + r % 8) * 4K + 64 * (k // 16) + 16 * (k1 % 8 // 2) + 4 * (r // 8) + 2 * (k1 // 8) + k1 % 2\n"
            "of its flat memory. Scales and zeros: column n stands at 32 * (n // 32) + 4 * (r % 8) + r // 8. Columns "
            "beyond n are padding."
        ),
        products.JUDGED,
    ),
    family="allspark",
)
