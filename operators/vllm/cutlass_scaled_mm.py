"""Product of int8 or fp8 matrices with scales and a bias (vLLM `cutlass_scaled_mm`)."""

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

SCALES = ("all_scalar", "row_a_col_b", "row_a", "col_b", "blocks")
"""Which of a and b have one scale a row or column; `blocks`: one for every 128 (a) or 128 x 128 (b) elements."""


def build(
    make: Maker, *, m: int, n: int, k: int, dtype: torch.dtype, out_dtype: torch.dtype, scale_case: str,
    bias_mode: str | None = None, padding: int = 0, batch: int = 0,
) -> Call:  # fmt: skip
    """One call; `batch` matrices of m rows where it is not 0."""
    rows = (batch, m) if batch else (m,)
    a = scaled.codes(make, (*rows, k), dtype, padding)
    b = scaled.codes(make, (n, k), dtype, padding).T
    count = m * max(1, batch)
    if scale_case == "blocks":
        # Column by column, as vLLM's kernel has them.
        by_a = scaled.scales(make, (k // scaled.BLOCK, count), dtype).T
        by_b = scaled.scales(make, (n // scaled.BLOCK, k // scaled.BLOCK), dtype).T
    else:
        by_a = scaled.scales(make, (count if "row_a" in scale_case else 1, 1), dtype)
        columns = n if "col_b" in scale_case else 1
        by_b = scaled.scales(make, (1, columns) if k % 16 == n % 16 == 0 else (columns, 1), dtype)
    bias = make.normal((n,), out_dtype) if bias_mode else None
    return make.call(a, b, by_a, by_b, out_dtype, bias)


def product(arguments: Mapping[str, Any]) -> torch.Tensor:
    """The scaled product (rows, N), float64."""
    a, b, left = scaled.matrices(arguments)
    return (a @ b) * left


def oracle(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, out_dtype: torch.dtype,
    bias: torch.Tensor | None = None,
) -> dict[str, Target]:  # fmt: skip
    """The scaled product and the bias."""
    return {"return": scaled.answer(product(locals()), locals())}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes."""
    step = 128 if params["scale_case"] == "blocks" else 16
    sizes = {"m": rng.randint(1, 40), "n": step * rng.randint(1, 256 // step), "k": step * rng.randint(2, 256 // step)}
    return {**params, **sizes, "padding": 16 * rng.randint(0, 2)}


SHAPE = "m,n,k"
PUBLISHED = ((1, 128, 128), (71, 512, 256), (128, 512, 512), (1024, 4096, 4096))
HALVES = ("float16", "bfloat16")
TYPES = ("int8", "float8_e4m3fn")
_PUBLISHED_MORE: dict[str, Any] = {
    "bias_mode": (None, "vector"), "scale_case": ("all_scalar", "row_a_col_b"), "out_dtype": HALVES, "dtype": ("int8",),
}  # fmt: skip
_MORE: dict[str, Any] = {
    "dtype": TYPES, "out_dtype": HALVES, "scale_case": SCALES[:4], "bias_mode": (None, "vector"), "padding": (0, 16),
    "batch": (0, 2),
}  # fmt: skip
_BLOCKS: dict[str, Any] = {
    "dtype": ("float8_e4m3fn",), "out_dtype": HALVES, "scale_case": ("blocks",), "padding": (0, 16),
}  # fmt: skip
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(SHAPE, [s for s in PUBLISHED if max(s) >= 1024]), **_PUBLISHED_MORE),
        grids.product(**axes(SHAPE, [s for s in PUBLISHED if max(s) < 1024]), **_PUBLISHED_MORE),
        grids.pairwise(
            origin="extra",
            **axes(SHAPE, ((1, 256, 128), (16, 1024, 496), (33, 256, 1024), (100, 496, 4096), (512, 2048, 128),
                           (1024, 4096, 4096), (17, 50, 64), (33, 64, 100))),
            **_MORE,
        ),
        grids.pairwise(origin="extra", **axes(SHAPE, ((1, 256, 128), (71, 512, 1024), (512, 2048, 4096))), **_BLOCKS),
    ),
    "quick": (
        grids.pairwise(**axes(SHAPE, ((1, 16, 32), (5, 80, 144), (20, 64, 496), (3, 20, 50), (40, 48, 64))), **_MORE),
        grids.pairwise(**axes(SHAPE, ((1, 256, 128), (5, 128, 256))), **_BLOCKS),
    ),
    "smoke": (
        grids.points(
            {SHAPE: (3, 32, 32), "dtype": "int8", "out_dtype": "float16", "scale_case": "row_a_col_b", "bias_mode": "vector"},
            {SHAPE: (2, 128, 256), "dtype": "float8_e4m3fn", "out_dtype": "bfloat16", "scale_case": "blocks"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "cutlass_scaled_mm(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, "
    "out_dtype: torch.dtype, bias: torch.Tensor | None = None) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=scaled.compare(product),
    description=(
        "Returns scale_a * scale_b * (a @ b) + bias in out_dtype (fp16 or bf16) for matrices of int8 or float8_e4m3fn."
    ),
    notes=(
        (
            "a is (..., K), its last stride 1, rows evenly spaced; b is (K, N) of the same type, column-major: stride(0) "
            "is 1, stride(1) at least K. The answer is (..., N). scale_a and scale_b are fp32. Nothing is written."
        ),
        (
            "scale_a has one element, or one for each row of a, shaped (rows, 1); scale_b has one, or one for each column "
            "of b, shaped (1, N), or (N, 1) where K or N is no multiple of 16. int8 is summed in int32, e4m3 in fp32; "
            "answer = scale_a * (scale_b * fp32(sum)) + bias, rounded once, or before and after the bias. bias is (N,) "
            "of out_dtype."
        ),
        (
            "Blockwise, for e4m3 only and without bias: scale_b is (K / 128, N / 128), scale_a (rows, K / 128), both in "
            "column-major memory; answer[m, n] = sum over blocks j of scale_a[m, j] * scale_b[j, n // 128] * (product "
            "over the 128 columns of block j). It is blockwise exactly where scale_b has that shape and more than one "
            "element."
        ),
        (
            "int8 is judged by the roundings after an exact sum; e4m3 by an accumulator of some 14 bits, which is what "
            "fp8 tensor cores may have."
        ),
    ),
    family="scaled_mm",
)
