"""Product of int8 matrices with scales and zero points of a (vLLM `cutlass_scaled_mm_azp`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import scaled
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(
    make: Maker, *, m: int, n: int, k: int, out_dtype: torch.dtype, per_token: bool, use_bias: bool, padding: int = 0,
    row_scales: bool = True,
) -> Call:  # fmt: skip
    """One call, with zero points by token or one for all, which azp_adj then holds."""
    a = scaled.codes(make, (m, k), torch.int8, padding)
    b = scaled.codes(make, (n, k), torch.int8, padding).T
    by_a = scaled.scales(make, (m if row_scales else 1, 1), torch.int8)
    by_b = scaled.scales(make, (1, n if row_scales else 1), torch.int8)
    columns = b.int().sum(0, dtype=torch.int32)
    zero = make.integers((m,), torch.int32, low=-128, high=128)
    bias = make.normal((n,), out_dtype) if use_bias else None
    if per_token:
        return make.call(a, b, by_a, by_b, out_dtype, columns, zero, bias)
    return make.call(a, b, by_a, by_b, out_dtype, zero[:1] * columns, None, bias)


def product(arguments: Mapping[str, Any]) -> torch.Tensor:
    """The scaled product (M, N) without the zero points' part, float64."""
    zero = arguments.get("azp")
    correction = arguments["azp_adj"].double()[None, :] * (1.0 if zero is None else zero.double()[:, None])
    sums: torch.Tensor = arguments["a"].double() @ arguments["b"].double() - correction
    return sums * scaled.factor(arguments)


def oracle(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, out_dtype: torch.dtype,
    azp_adj: torch.Tensor, azp: torch.Tensor | None = None, bias: torch.Tensor | None = None,
) -> dict[str, Target]:  # fmt: skip
    """The scaled product and the bias."""
    return {"return": scaled.answer(product(locals()), locals())}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes."""
    sizes = {"m": rng.randint(1, 40), "n": 16 * rng.randint(1, 8), "k": 16 * rng.randint(2, 12)}
    return {**params, **sizes, "padding": 16 * rng.randint(0, 2)}


SHAPE = "m,n,k,use_bias,per_token"
PUBLISHED = (
    (32, 128, 128, False, False), (32, 128, 128, True, False), (128, 256, 256, False, True), (128, 256, 256, True, True),
    (128, 256, 256, False, False), (256, 512, 512, False, False), (256, 512, 512, True, True), (256, 512, 512, True, False),
)  # fmt: skip
_MORE: dict[str, Any] = {
    "out_dtype": ("float16", "bfloat16"), "use_bias": (False, True), "per_token": (False, True), "padding": (0, 16),
    "row_scales": (True, False),
}  # fmt: skip
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(SHAPE, [s for s in PUBLISHED if s[0] >= 128]), out_dtype=("float16",)),
        grids.product(**axes(SHAPE, [s for s in PUBLISHED if s[0] < 128]), out_dtype=("float16",)),
        grids.pairwise(
            origin="extra",
            **axes("m,n,k", ((32, 16, 64), (64, 64, 256), (128, 32, 128), (1, 4096, 4096), (1024, 2048, 1024))),
            **_MORE,
        ),
    ),
    "quick": (grids.pairwise(**axes("m,n,k", ((1, 16, 32), (5, 80, 144), (20, 64, 256), (40, 48, 64))), **_MORE),),
    "smoke": (
        grids.points(
            {SHAPE: (3, 32, 32, True, True), "out_dtype": "float16"}, {SHAPE: (2, 16, 48, False, False), "out_dtype": "bfloat16"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "cutlass_scaled_mm_azp(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, "
    "out_dtype: torch.dtype, azp_adj: torch.Tensor, azp: torch.Tensor | None = None, bias: torch.Tensor | None = None) "
    "-> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=scaled.compare(product),
    description=(
        "Returns scale_a * scale_b * (a @ b - c) + bias in out_dtype (fp16 or bf16) for int8 matrices, where c takes the "
        "zero points of a out of the sums."
    ),
    notes=(
        (
            "a is (M, K), its last stride 1; b is (K, N), column-major: stride(0) is 1, stride(1) at least K. K and N are "
            "multiples of 16. scale_a is fp32 (1, 1) or (M, 1), scale_b fp32 (1, 1) or (1, N), bias (N,) of out_dtype. "
            "Nothing is written."
        ),
        (
            "azp_adj is int32 (N,). With azp, int32 (M,): c[m, n] = azp[m] * azp_adj[n] (azp_adj holds the column sums "
            "of b). Without: c[m, n] = azp_adj[n] (the sums times the one zero point). a @ b and a @ b - c are int32."
        ),
        "answer = scale_a * (scale_b * fp32(a @ b - c)) + bias: judged by these roundings, the sums are exact.",
    ),
    family="scaled_mm",
)
