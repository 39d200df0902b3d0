"""Conversion of floating-point numbers to e4m3 bytes and back (vLLM `convert_fp8`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.grids import jitter_shape
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import Policy
from kgb_gym.operators.vllm.families import cache
from kgb_gym.operators.vllm.families.entry import entry


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, scale: float, kv_dtype: str = "fp8",
    direction: str = "to_fp8", std: float = 1.0,
) -> Call:  # fmt: skip
    """One call that writes bytes (`to_fp8`) or numbers of `dtype` (`from_fp8`, of any bytes)."""
    if direction == "to_fp8":
        return make.call(make.out(shape, torch.uint8), make.normal(shape, dtype, std=std), scale, kv_dtype)
    return make.call(make.out(shape, dtype), make.integers(shape, torch.uint8, low=0, high=256), scale, kv_dtype)


def oracle(
    output: torch.Tensor, input: torch.Tensor, scale: float = 1.0, kv_dtype: str = "fp8"
) -> dict[str, torch.Tensor]:
    """The output after the call."""
    factor = torch.tensor(scale, dtype=torch.float32)
    if output.dtype is torch.uint8:
        return {"output": cache.to_e4m3(input, factor)}
    return {"output": cache.from_e4m3(input, factor, output.dtype)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Another shape, scale and direction."""
    return {
        **params,
        "shape": jitter_shape(rng, params["shape"]),
        "scale": round(rng.uniform(0.05, 3.0), 4),
        "direction": rng.choice(("to_fp8", "from_fp8")),
    }


_PAPER: dict[str, Any] = {"dtype": ("float16", "bfloat16"), "kv_dtype": ("fp8", "fp8_e4m3"), "scale": (0.5, 1.0)}
_AWKWARD: dict[str, Any] = {
    "dtype": ("float16", "bfloat16", "float32"),
    "kv_dtype": ("fp8", "fp8_e4m3"),
    "scale": (0.5, 1.0, 0.1, 3.0),
    "direction": ("to_fp8", "from_fp8"),
    "std": (1.0, 0.003, 300.0),
}
GRIDS = {
    "paper": (
        grids.product(timed=True, shape=((1024, 4096), (5333, 8192)), **_PAPER),
        grids.product(shape=((1, 32), (128, 512)), **_PAPER),
        grids.pairwise(origin="extra", shape=((1, 1), (16, 16), (3, 1027), (4, 2, 64, 16), (7, 0), (256, 4096)), **_AWKWARD),
    ),
    "quick": (grids.pairwise(shape=((1, 1), (16, 16), (3, 1027), (4, 2, 8, 4), (5, 0)), **_AWKWARD),),
    "smoke": (
        grids.points(
            {"shape": (3, 40), "dtype": "float16", "scale": 0.5},
            {"shape": (16, 16), "dtype": "float32", "scale": 3.0, "direction": "from_fp8"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "convert_fp8(output: torch.Tensor, input: torch.Tensor, scale: float = 1.0, kv_dtype: str = 'fp8') -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("output",),
    compare=Exact(),
    description=(
        "Quantises to, or dequantises from, bytes that hold e4m3 numbers. output uint8: output = e4m3(float32(input) / "
        "scale). input uint8: output = e4m3 number * scale."
    ),
    notes=(
        (
            "input and output have the same shape and are contiguous; one is uint8, the other fp16, bf16 or fp32. Only "
            "output is written."
        ),
        (
            "To bytes: IEEE division in fp32, saturation at 448, rounding to nearest even. From bytes: an fp32 product, "
            "rounded to output's type; 0x7f and 0xff are NaN, 0x80 is -0. kv_dtype is 'fp8' or 'fp8_e4m3', which are the same."
        ),
    ),
    family="convert_fp8",
    policy=Policy(allow=frozenset({"alloc", "view", "metadata"})),
)
