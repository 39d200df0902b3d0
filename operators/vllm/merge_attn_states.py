"""Merging of two partial attentions by their log-sum-exps (vLLM `merge_attn_states`)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm
from kgb_gym.operators.vllm.families.entry import entry
from kgb_gym.operators.vllm.families.judging import Each


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, infinities: bool = False, with_lse: bool = True,
    spread: float = 2.0, mean: float = 3.0, blank: bool = False,
) -> Call:  # fmt: skip
    """One call: outputs (tokens, heads, head size), log-sum-exps (heads, tokens), some infinite where asked for.
    `blank`: of each token one of both outputs is zero, so that the other shows however small its weight is."""
    tokens, heads, _ = shape
    prefix, suffix = make.normal(shape, dtype), make.normal(shape, dtype)
    if blank:
        prefix[::2], suffix[1::2] = 0, 0
    lses = [make.normal((heads, tokens), torch.float32, mean=mean, std=spread) for _ in range(2)]
    if infinities:
        lses = [make.sprinkle(x, (math.inf, -math.inf), share=0.3) for x in lses]
        lses[0][0, 0], lses[1][0, 0] = -math.inf, math.inf
    out_lse = make.out((heads, tokens), torch.float32) if with_lse else None
    return make.call(make.out(shape, dtype), prefix, lses[0], suffix, lses[1], out_lse)


def parts(arguments: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Of both sides: the log-sum-exps less the larger one and the weights, (tokens, heads, 1) in float64."""
    p, s = (arguments[n].double().T.unsqueeze(-1) for n in ("prefix_lse", "suffix_lse"))
    p, s = (torch.where(x.isinf(), -math.inf, x) for x in (p, s))
    top = torch.maximum(p, s)
    safe = torch.where(top.isinf(), 0.0, top)
    a, b = torch.exp(p - safe), torch.exp(s - safe)
    total = a + b
    a, b = torch.where(top.isinf(), 1.0, a / total), torch.where(top.isinf(), 0.0, b / total)
    return {"prefix": a, "suffix": b, "gap": (p - s).abs().nan_to_num(0.0, 0.0, 0.0), "lse": torch.log(total) + safe}


def oracle(
    output: torch.Tensor, prefix_output: torch.Tensor, prefix_lse: torch.Tensor, suffix_output: torch.Tensor,
    suffix_lse: torch.Tensor, output_lse: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Output and its log-sum-exp in float64."""
    part = parts({"prefix_lse": prefix_lse, "suffix_lse": suffix_lse})
    merged = prefix_output.double() * part["prefix"] + suffix_output.double() * part["suffix"]
    return {"output": merged, "output_lse": part["lse"].squeeze(-1).T}


def magnitudes(arguments: Mapping[str, Any]) -> torch.Tensor:
    """The sum on absolute values, and the condition of the exponential."""
    part = parts(arguments)
    prefix, suffix = (arguments[f"{n}_output"].double().abs() * part[n] for n in ("prefix", "suffix"))
    total: torch.Tensor = (prefix + suffix) * (1 + part["gap"])
    return total


def lse_magnitudes(arguments: Mapping[str, Any]) -> torch.Tensor:
    """|log-sum-exp| and what its sum carries."""
    lse: torch.Tensor = parts(arguments)["lse"].squeeze(-1).T.abs()
    return lse + 1


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other numbers of tokens and heads, another head size."""
    tokens, heads, size = params["shape"]
    return {
        **params,
        "shape": [rng.randint(1, tokens + 3), rng.randint(1, heads + 2), 8 * rng.randint(1, size // 8 + 2)],
        "infinities": rng.random() < 0.5,
        "with_lse": rng.random() < 0.5,
    }


FLOATS = ("float16", "bfloat16", "float32")
_PAPER = grids.product(
    dtype=FLOATS, shape=((1, 8, 64), (4, 8, 64), (4, 32, 128), (16, 8, 128), (16, 32, 64), (64, 32, 128))
)
_AWKWARD: dict[str, Any] = {
    "dtype": FLOATS, "infinities": (False, True), "with_lse": (False, True), "spread": (2.0, 0.1, 30.0),
}  # fmt: skip
_FAR = {"shape": (6, 4, 32), "dtype": "float32", "spread": 8.0}
_EXTREMES = grids.points({**_FAR, "mean": 200.0}, {**_FAR, "mean": -300.0}, {**_FAR, "blank": True})
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["shape"][0] >= 16),
        grids.pairwise(
            origin="extra",
            shape=((256, 4, 32), (613, 8, 48), (512, 64, 96), (4096, 16, 256), (1, 1, 8), (1024, 48, 128)),
            **_AWKWARD,
        ),
        _EXTREMES,
    ),
    "quick": (
        grids.pairwise(shape=((1, 1, 8), (5, 4, 32), (3, 8, 48), (13, 2, 256), (2, 3, 96)), **_AWKWARD),
        _EXTREMES,
    ),
    "smoke": (
        grids.points(
            {"shape": (3, 2, 16), "dtype": "float16", "infinities": True},
            {"shape": (2, 3, 24), "dtype": "float32"},
            origin="paper",
        ),
    ),
}

OPERATOR = entry(
    "merge_attn_states(output: torch.Tensor, prefix_output: torch.Tensor, prefix_lse: torch.Tensor, suffix_output: "
    "torch.Tensor, suffix_lse: torch.Tensor, output_lse: torch.Tensor | None = None) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("output", "output_lse"),
    compare=Each({"output_lse": Close(scale=lse_magnitudes)}, Close(scale=magnitudes)),
    description=(
        "Merges the attention over a prefix with that over a suffix. For each token and head, with log-sum-exps p and s "
        "and M = max(p, s): a = exp(p - M), b = exp(s - M), output = (prefix_output * a + suffix_output * b) / (a + b), "
        "output_lse = log(a + b) + M."
    ),
    notes=(
        (
            "output, prefix_output and suffix_output are (tokens, heads, head_size), contiguous, of one type: fp16, bf16 "
            "or fp32. prefix_lse, suffix_lse and output_lse are fp32 and the other way round: (heads, tokens). Only "
            "output is written, and output_lse unless it is None. A row of head_size elements is a multiple of 16 bytes."
        ),
        (
            "An infinite log-sum-exp of either sign counts as -inf: that side has weight 0. If both are infinite, output "
            "= prefix_output and output_lse = -inf. Compute in fp32."
        ),
    ),
    family="merge_attn_states",
)
