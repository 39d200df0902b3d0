"""Penalties on the logits of tokens seen before, in place (vLLM `apply_repetition_penalties_cuda`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.grids import jitter_shape
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm
from kgb_gym.operators.vllm.families.entry import entry


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, penalties: str = "drawn", special: bool = False
) -> Call:  # fmt: skip
    """One call: logits (sequences, vocabulary), two masks, and penalties that are all 1.1 (`same`) or `drawn`."""
    logits = make.normal(shape, dtype, std=3.0)
    if special:
        make.sprinkle(logits, (0.0, float("inf"), float("-inf"), float("nan")), share=0.1)
    masks = [make.uniform(shape, torch.float32).lt(share) for share in (0.3, 0.2)]
    factors = (
        make.full(shape[:1], 1.1, dtype) if penalties == "same" else make.uniform(shape[:1], dtype, low=0.6, high=2.0)
    )
    return make.call(logits, *masks, factors)


def oracle(
    logits: torch.Tensor, prompt_mask: torch.Tensor, output_mask: torch.Tensor, repetition_penalties: torch.Tensor
) -> dict[str, torch.Tensor]:  # fmt: skip
    """The logits in float64."""
    wide, factor = logits.double(), repetition_penalties.double()[:, None]
    changed = torch.where(wide > 0, wide / factor, wide * factor)
    return {"logits": torch.where(prompt_mask | output_mask, changed, wide)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Another shape, drawn penalties."""
    return {**params, "shape": jitter_shape(rng, params["shape"]), "penalties": "drawn", "special": rng.random() < 0.5}


_PAPER = grids.product(
    dtype=("float32",), penalties=("same",),
    shape=((1, 32), (4, 100), (128, 512), (256, 1024), (512, 4096), (1024, 32000), (2048, 16000), (4096, 8000),
           (2048, 32000), (4096, 16000)),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "dtype": ("float32", "float16", "bfloat16"), "penalties": ("drawn", "same"), "special": (False, True),
}  # fmt: skip
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["shape"][0] >= 512),
        grids.pairwise(
            origin="extra", shape=((1, 17), (1025, 1019), (8, 151936), (3, 202048), (0, 40), (5, 1)), **_AWKWARD
        ),
    ),
    "quick": (grids.pairwise(shape=((1, 32), (5, 1019), (0, 40), (3, 2049), (4, 1)), **_AWKWARD),),
    "smoke": (
        grids.points(
            {"shape": (3, 40), "dtype": "float32"}, {"shape": (2, 65), "dtype": "float16", "special": True}, origin="paper"
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "apply_repetition_penalties_cuda(logits: torch.Tensor, prompt_mask: torch.Tensor, output_mask: torch.Tensor, "
    "repetition_penalties: torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("logits",),
    compare=Close(),
    description=(
        "Penalises, in place, the logits of tokens that stand in the prompt or in the output: where prompt_mask or "
        "output_mask holds, a logit l of sequence s becomes l / p if l > 0, else l * p, with p = repetition_penalties[s]."
    ),
    notes=(
        (
            "logits is (sequences, vocabulary), contiguous, fp32, fp16 or bf16, and the only argument that is written; "
            "both masks are bool of that shape; repetition_penalties is (sequences,) of logits' type. There may be no "
            "sequence. NaN stays NaN; infinities behave as in fp32 arithmetic."
        ),
    ),
    family="repetition_penalties",
)
