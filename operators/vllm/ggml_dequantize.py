"""GGML's quantised weights as numbers (vLLM `ggml_dequantize`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import ggml
from kgb_gym.operators.vllm.families.entry import axes, entry
from kgb_gym.operators.vllm.families.products import Product


def build(make: Maker, *, m: int, n: int, kind: int, dtype: torch.dtype | None) -> Call:
    """One call of random blocks."""
    return make.call(ggml.random_blocks(make, kind, m, n), kind, m, n, dtype)


def oracle(W: torch.Tensor, quant_type: int, m: int, n: int, dtype: torch.dtype | None) -> dict[str, Target]:
    """The weights (m, n)."""
    precise = ggml.dequantized(W, quant_type)
    return {"return": Target("", precise.to(dtype or torch.float16), precise)}


def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of arithmetic in fp16, as vLLM's: a few roundings of either part."""
    main, offset = ggml.parts(arguments["W"], arguments["quant_type"])
    # In types with a fixed zero the difference is of integers.
    inexact = main.abs() + offset.abs() if arguments["quant_type"] in (3, 7, 10, 12, 13) else (main - offset).abs()
    return inexact * 2.0**-12


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes of the same type."""
    return {**params, "m": rng.randint(1, 9), "n": ggml.TYPES[params["kind"]][0] * rng.randint(1, 4)}


SHAPE = "m,n,kind,dtype"
PUBLISHED = (
    (32, 128, 8, "float16"), (64, 256, 8, "float16"), (128, 512, 8, "float16"), (256, 1024, 8, "float32"),
    (512, 2048, 8, "float16"), (1024, 4096, 8, "float16"), (4096, 4096, 8, "float16"), (4096, 11008, 8, "float32"),
)  # fmt: skip
_TYPES: dict[str, Any] = {"kind": tuple(ggml.TYPES), "dtype": ("float16", "bfloat16", "float32", None)}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(SHAPE, [s for s in PUBLISHED if s[0] * s[1] >= 65536])),
        grids.product(**axes(SHAPE, [s for s in PUBLISHED if s[0] * s[1] < 65536])),
        grids.product(origin="extra", **axes("m,n", ((7, 256), (33, 1024))), **_TYPES),
    ),
    "quick": (
        grids.pairwise(**axes("m,n", ((3, 256), (5, 512))), **axes("kind,dtype", ggml.EACH)),
        grids.points({SHAPE: (7, 96, 2, "float32")}, {SHAPE: (70, 32, 7, "float16")}, {SHAPE: (4, 256, 14, None)}),
    ),
    "smoke": (grids.points({SHAPE: (3, 64, 8, "float16")}, {SHAPE: (2, 256, 12, "float32")}, origin="paper"),),
}  # fmt: skip

OPERATOR = entry(
    "ggml_dequantize(W: torch.Tensor, quant_type: int, m: int, n: int, dtype: torch.dtype | None) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=Product(noise),
    description="Returns the (m, n) weights that the bytes of W stand for, in dtype (fp16, bf16, fp32; None: fp16).",
    notes=(
        (
            "W is uint8, contiguous, (m, bytes of a row of n weights); n is a multiple of a block's elements. Nothing is "
            "written."
        ),
        *ggml.LAYOUT,
        (
            "Arithmetic in fp16, as vLLM's, is as right as in fp32: an element may be off by a few fp16 roundings of the "
            "product and of what is added or taken away, and the mean error is bounded more tightly."
        ),
    ),
    family="ggml",
)
