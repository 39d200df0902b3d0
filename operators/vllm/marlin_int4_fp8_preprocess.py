"""Int4 weights made ready for products with fp8 activations (vLLM `marlin_int4_fp8_preprocess`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import packing
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(
    make: Maker, *, k: int, words: int, group: int = 0, inplace: bool = False, values: str = "random"
) -> Call:  # fmt: skip
    """Weights (k, words) and, where `group` is not 0, zero points for every `group` rows."""
    weight = packing.random_words(make, (k, words))
    if values == "equal":
        weight = weight[:1].expand(k, words).contiguous()
    zeros = packing.random_words(make, (k // group, words)) if group else None
    return make.call(weight, zeros, inplace)


def oracle(
    qweight: torch.Tensor, qzeros_or_none: torch.Tensor | None = None, inplace: bool = False
) -> dict[str, torch.Tensor]:
    """Sign and magnitude: the difference to the zero point where it is not negative, else the code's complement."""
    codes = packing.unpack_bits(qweight, 4)
    if qzeros_or_none is None:
        zero = torch.full_like(codes, 8)
    else:
        zeros = packing.unpack_bits(qzeros_or_none, 4)
        zero = zeros.repeat_interleave(codes.shape[0] // zeros.shape[0], 0)
    answer = packing.pack_bits(torch.where(codes >= zero, codes - zero, 15 - codes), 4)
    return {"qweight": answer, "return": qweight} if inplace else {"qweight": qweight, "return": answer}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes."""
    group = params.get("group", 0) and 32 * rng.randint(1, 4)
    groups = 8 * rng.randint(1, 3)
    return {
        **params,
        "k": group * groups if group else 32 * rng.randint(1, 8),
        "words": rng.randint(1, 40),
        "group": group,
        "inplace": rng.random() < 0.5,
    }


PUBLISHED = ((256, 256), (512, 256), (256, 512), (512, 512), (1024, 512), (512, 1024), (1024, 1024), (2048, 1024))
_SYMMETRIC: dict[str, Any] = {"inplace": (False, True), "values": ("random", "equal")}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes("k,words", [s for s in PUBLISHED if min(s) >= 512])),
        grids.product(**axes("k,words", [s for s in PUBLISHED if min(s) < 512])),
        grids.product(origin="extra", **axes("k,words", ((2048, 256), (32, 1), (96, 37))), **_SYMMETRIC),
        grids.product(
            origin="extra", inplace=(False, True), **axes("k,words,group", ((2048, 256, 128), (512, 96, 32), (1024, 3, 64)))
        ),
    ),
    "quick": (
        grids.product(**axes("k,words", ((32, 1), (64, 64), (96, 37))), **_SYMMETRIC),
        grids.product(inplace=(False, True), **axes("k,words,group", ((256, 5, 32), (512, 9, 64), (256, 16, 16)))),
    ),
    "smoke": (
        grids.points({"k": 32, "words": 8}, {"k": 256, "words": 3, "group": 32, "inplace": True}, origin="paper"),
    ),
}  # fmt: skip

OPERATOR = entry(
    "marlin_int4_fp8_preprocess(qweight: torch.Tensor, qzeros_or_none: torch.Tensor | None = None, "
    "inplace: bool = False) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("qweight",),
    compare=Exact(),
    description=(
        "Recodes the eight nibbles of every int32 word: a code v with zero point z becomes v - z where v >= z, and "
        "15 - v where v < z."
    ),
    notes=(
        (
            "qweight is int32, contiguous, (K, W). Without qzeros_or_none z is 8 everywhere. With it, an int32 tensor "
            "(G, W): the zero point of nibble i of qweight[k, w] is nibble i of qzeros_or_none[k // (K / G), w]; G "
            "divides K.\n"
            "  word  [ nibble 7 | nibble 6 | ... | nibble 0 ]   nibble 0 is the lowest 4 bits"
        ),
        (
            "inplace: qweight is overwritten and returned itself. Otherwise a fresh tensor of its shape is returned and "
            "qweight keeps its bits. The answer is compared bit by bit."
        ),
    ),
    family="marlin_prepare",
)
