"""Eight multiples of every scale, for tables that turn int4 into fp8 (vLLM `cutlass_pack_scale_fp8`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.grids import jitter_shape
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families.entry import entry

KINDS = ("plain", "bytes", "small", "large")
"""`plain`: positive scales below 56; `bytes`: any number of the type; `small`: most products subnormal; `large`: most
products saturate."""


def build(make: Maker, *, shape: tuple[int, ...], kind: str = "plain") -> Call:
    """One call of scales of one kind."""
    if kind == "bytes":
        codes = make.integers(shape, torch.uint8, low=0, high=256)
        codes[(codes & 0x7F) == 0x7F] = 0
        return make.call(codes.view(torch.float8_e4m3fn))
    low, high = {"plain": (0.02, 56.0), "small": (-0.02, 0.02), "large": (-448.0, 448.0)}[kind]
    return make.call(make.uniform(shape, torch.float32, low=low, high=high).to(torch.float8_e4m3fn))


def oracle(scales: torch.Tensor) -> dict[str, torch.Tensor]:
    """The packed scales; products of e4m3 numbers with small integers are exact in fp32."""
    products = scales.reshape(-1, 1).float() * torch.arange(-8.0, 0.0)
    return {"return": products.clamp(-448.0, 448.0).to(torch.float8_e4m3fn).reshape(-1)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Another shape and kind."""
    return {**params, "shape": jitter_shape(rng, params["shape"]), "kind": rng.choice(KINDS)}


PUBLISHED = ((1, 4), (4, 4), (8, 8), (16, 16), (4, 16), (32, 8), (64, 16), (128, 32))
GRIDS = {
    "paper": (
        grids.product(shape=[s for s in PUBLISHED if s[0] * s[1] >= 64], timed=True),
        grids.product(shape=[s for s in PUBLISHED if s[0] * s[1] < 64]),
        grids.product(origin="extra", shape=((1, 1), (37, 29), (5, 3, 2), (1000,), (0, 8), (128, 4096)), kind=KINDS),
    ),
    "quick": (
        grids.product(shape=((4, 16),)),
        grids.product(origin="extra", shape=((1, 1), (37, 29), (5, 3, 2), (1000,), (0, 8)), kind=KINDS),
    ),
    "smoke": (grids.points({"shape": (4, 4)}, {"shape": (7, 5), "kind": "bytes"}, origin="paper"),),
}  # fmt: skip

OPERATOR = entry(
    "cutlass_pack_scale_fp8(scales: torch.Tensor) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=Exact(),
    description="Replaces every fp8 scale by its eight multiples -8s, -7s, ..., -1s.",
    notes=(
        (
            "scales is contiguous float8_e4m3fn of any shape; a one-dimensional float8_e4m3fn tensor of 8 * numel is "
            "returned, nothing is written:\n"
            "  scales    | s0                      | s1                      | ...\n"
            "  returned  | -8*s0 -7*s0 ... -1*s0   | -8*s1 -7*s1 ... -1*s1   | ..."
        ),
        (
            "Products are rounded to nearest even and saturate at +-448. Those of zero are zeros with the product's "
            "sign: -0 (0x80) for +0, +0 for -0. Compared byte by byte. No scale is NaN."
        ),
    ),
    family="fp8_pack",
)
