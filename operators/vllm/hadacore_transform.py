"""Hadamard transform of the last dimension (vLLM `hadacore_transform`)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close, Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families.entry import entry


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, inplace: bool = True, std: float = 1.0, special: bool = False
) -> Call:  # fmt: skip
    """One call; the last size is a power of two. `special`: a NaN somewhere."""
    x = make.normal(shape, dtype, mean=0.1 * std, std=std)
    if special:
        make.sprinkle(x, (float("nan"),), share=0.0)
    return make.call(x, inplace)


def transform(x: torch.Tensor) -> torch.Tensor:
    """x H / sqrt(n), by the recursion H(2n) = [[H(n), H(n)], [H(n), -H(n)]]."""
    n = x.shape[-1]
    y: torch.Tensor = x.double().reshape(-1, n)
    span = 1
    while span < n:
        a, b = y.view(-1, n // (2 * span), 2, span).unbind(2)
        y = torch.stack((a + b, a - b), 2).view(-1, n)
        span *= 2
    return (y / math.sqrt(n)).reshape(x.shape)


def oracle(x: torch.Tensor, inplace: bool = True) -> dict[str, Any]:
    """What is returned, and x after the call."""
    y = transform(x)
    if inplace:
        return {"x": y, "return": x}
    return {"x": x, "return": Target("", y.to(x.dtype), y)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Another number of rows, another power of two."""
    n = 1 << rng.randint(0, 11)
    rows = rng.randint(1, max(2, 4096 // n))
    return {**params, "shape": [rows, n], "inplace": rng.random() < 0.5}


def size(arguments: Mapping[str, Any]) -> int:
    """How many terms a sum has."""
    return int(arguments["x"].shape[-1])


def magnitude(arguments: Mapping[str, Any]) -> torch.Tensor:
    """The root mean square of each row, which the transform keeps."""
    x: torch.Tensor = arguments["x"]
    return x.double().square().mean(-1, keepdim=True).sqrt()


PUBLISHED = ((1, 32), (16, 128), (128, 512), (1024, 4096), (4096, 1024), (5333, 8192), (2, 8192), (777, 32))
HALVES = ("float16", "bfloat16")
_POWERS = tuple((rows, 1 << bits) for bits, rows in enumerate((1, 3, 32, 777, 2, 1, 5, 32, 3, 17, 2, 3, 7, 2, 1, 3)))
_SPECIAL = {"shape": (4, 64), "dtype": "float16", "special": True}
GRIDS = {
    "paper": (
        grids.product(timed=True, shape=[s for s in PUBLISHED if s[0] * s[1] >= 1 << 18], dtype=HALVES),
        grids.product(shape=[s for s in PUBLISHED if s[0] * s[1] < 1 << 18], dtype=HALVES),
        grids.product(origin="extra", shape=(*_POWERS, (2, 3, 64), (0, 64), (64,)), dtype=HALVES, inplace=(False, True)),
        grids.product(origin="extra", shape=((5, 256),), dtype=HALVES, std=(1e-3, 50.0)),
        grids.points(_SPECIAL),
    ),
    "quick": (
        grids.pairwise(
            shape=((1, 1), (3, 2), (37, 4), (5, 64), (2, 3, 256), (2, 2048), (0, 64), (64,)), dtype=HALVES,
            inplace=(False, True), std=(1.0, 1e-3, 50.0),
        ),
        grids.points({"shape": (1, 32768), "dtype": "float16"}, _SPECIAL),
    ),
    "smoke": (
        grids.points(
            {"shape": (2, 32), "dtype": "float16"}, {"shape": (3, 8), "dtype": "bfloat16", "inplace": False}, origin="paper"
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "hadacore_transform(x: torch.Tensor, inplace: bool = True) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("x",),
    compare=Close(depth=size, scale=magnitude, own=3.0),
    description=(
        "The orthonormal Hadamard transform of the last dimension: y[j] = sum over i of (-1)**popcount(i & j) * x[i] / "
        "sqrt(n), with n the last size."
    ),
    notes=(
        "x is fp16 or bf16, contiguous, of any rank; n is a power of two from 1 to 32768; there may be no rows.",
        (
            "inplace: x is overwritten with y and returned itself. Otherwise a fresh tensor is returned and x keeps its "
            "bits."
        ),
        "Judged as sums in fp32 that are rounded once: an error may be three roundings of a row's root mean square.",
    ),
    family="hadamard",
)
