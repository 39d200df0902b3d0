"""The experts of each token, out of its best groups of experts (vLLM `grouped_topk`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Arguments, Comparison, Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.grids import Params
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm
from kgb_gym.operators.vllm.families.entry import axes, entry
from kgb_gym.operators.vllm.families.judging import Chosen, Each, Near, value

TIED = (4.0, 7.0, 13.0, 27.0)
"""Levels (in 1/32) of tied scores: the sums of any two are apart, and exact in every type."""


def build(
    make: Maker, *, num_tokens: int, num_experts: int, num_expert_group: int, topk_group: int, topk: int,
    renormalize: bool, routed_scaling_factor: float, scoring_func: int, dtype: torch.dtype, shift: int = 0,
    ties: bool = False, masked: bool = False,
) -> Call:  # fmt: skip
    """One call. What decides is far apart in any type, or (`ties`) equal. `shift`: added to every bias; `masked`: some
    scores are -inf, and without sigmoid all of the last token."""
    shape = num_tokens, num_expert_group, num_experts // num_expert_group
    bias = make.integers((num_experts,), torch.float64, low=-3, high=4) / 32
    if ties:
        bias = torch.zeros_like(bias) if scoring_func else bias
        biased = torch.tensor(TIED).double()[make.integers(shape, torch.int64, low=0, high=len(TIED))] / 32
        idle = torch.zeros(shape, dtype=torch.bool)
    else:
        biased, idle = _apart(make, shape, topk_group, topk)
    scores = biased.view(num_tokens, num_experts) - bias
    scores = torch.logit(scores) if scoring_func else scores
    if masked:
        drop = idle.view(num_tokens, num_experts) & (make.uniform(scores.shape, torch.float64) < 0.3)
        drop[-1] |= not scoring_func
        scores = torch.where(drop, float("-inf"), scores)
    return make.call(
        scores.to(dtype), num_expert_group, topk_group, topk, renormalize, routed_scaling_factor,
        (bias + shift).to(dtype), scoring_func,
    )  # fmt: skip


def _apart(make: Maker, shape: tuple[int, int, int], topk_group: int, topk: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Biased scores (tokens, groups, experts of a group) between 0.12 and 0.88, and which of them decide nothing.

    The `topk` + 1 best of the groups to take are at least 1/32 apart, for `topk` up to 8. Two of every such group are
    above 0.54; another group has one that is larger and no second, or none above a half.
    """
    tokens, groups, size = shape
    taken = (make.uniform((tokens, groups), torch.float64).argsort(1) < topk_group)[..., None].expand(shape)
    draw = make.uniform(shape, torch.float64) + 1.0 * ~taken
    place = draw.view(tokens, -1).argsort(1).argsort(1).view(shape)
    count = min(topk + 1, topk_group * size)
    inner = make.uniform(shape, torch.float64).argsort(2)
    spike = make.uniform((tokens, groups, 1), torch.float64) < 0.5
    noise = make.uniform(shape, torch.float64)
    lone = torch.where(inner == 0, 0.80 + 0.07 * noise, 0.125 + 0.03 * noise)
    answer = torch.where(~taken & spike, lone, 0.13 + 0.35 * noise)
    second = taken & (inner < 2)
    answer = torch.where(second, 0.54 + 0.03 * noise, answer)
    best = taken & (place < count)
    return torch.where(best, 0.866 - place * (0.25 / max(8, count - 1)) + 0.002 * noise, answer), ~(second | best)


def oracle(
    scores: torch.Tensor, num_expert_group: int, topk_group: int, topk: int, renormalize: bool,
    routed_scaling_factor: float, bias: torch.Tensor, scoring_func: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Weights and ids by stable sorts in float64."""
    tokens = scores.shape[0]
    plain = scores.double().sigmoid() if scoring_func else scores.double()
    grouped = (plain + bias.double()).view(tokens, num_expert_group, -1)
    if grouped.shape[2] > 1:
        of_group = grouped.topk(2, dim=2).values.sum(2)
    else:
        of_group = torch.full((tokens, num_expert_group), float("-inf"), dtype=torch.float64)
    order = of_group.sort(dim=1, descending=True, stable=True).indices
    taken = torch.zeros_like(of_group, dtype=torch.bool).scatter_(1, order[:, :topk_group], True)
    biased = torch.where(taken[..., None], grouped, float("-inf")).view(tokens, -1)
    ids = biased.sort(dim=1, descending=True, stable=True).indices[:, :topk]
    weights = plain.gather(1, ids)
    if renormalize:
        weights = weights / (weights.sum(1, keepdim=True) + 1e-20)
    weights = weights * torch.tensor(routed_scaling_factor, dtype=torch.float32).double()
    none = ~of_group.isfinite().any(1, keepdim=True)
    weights = torch.where(none, 1 / topk, weights)
    ids = torch.where(none, torch.arange(topk), ids)
    return {"return": (value("weights", weights), ids.int())}


def weight_error(arguments: Arguments) -> Comparison:
    """Few units of fp32; those of the scores' type where a sigmoid may have been rounded to it."""
    dtype = arguments["scores"].dtype
    if not arguments.get("scoring_func", 0) or dtype is torch.float32:
        return Near(2.0**-18)
    return Near(2.0**-9 if dtype is torch.float16 else 2.0**-6)


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes, with and without ties and masks."""
    groups = rng.randint(1, 8)
    size = rng.randint(2, max(2, params["num_experts"] // groups) + 5)
    taken = rng.randint(1, groups)
    ties = rng.random() < 0.4
    return {
        **params,
        "num_tokens": rng.randint(1, params["num_tokens"] + 5),
        "num_experts": groups * size,
        "num_expert_group": groups,
        "topk_group": taken,
        "topk": rng.randint(1, min(8, taken * size)),
        "routed_scaling_factor": rng.choice((1.0, 2.5, 0.3)),
        "shift": rng.choice((0, -1)),
        "ties": ties,
        "masked": not ties and rng.random() < 0.5,
    }


def _possible(point: Params) -> bool:
    return bool(point["topk_group"] <= point["num_expert_group"])


_PAPER = grids.product(
    dtype=("float16", "bfloat16"), scoring_func=(0, 1), renormalize=(False, True), topk=(1, 2), topk_group=(1, 2),
    num_expert_group=(1, 2, 4), routed_scaling_factor=(1.0,), **axes("num_tokens,num_experts", ((1, 32), (128, 256), (1024, 512))),
).where(_possible)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "dtype": ("float32", "float16", "bfloat16"), "scoring_func": (0, 1), "renormalize": (False, True),
    "routed_scaling_factor": (1.0, 2.5), "shift": (0, -1),
    "ties,masked": ((False, False), (True, False), (False, True)),
    "num_expert_group,topk_group": ((1, 1), (4, 4), (8, 4), (8, 7)),
}  # fmt: skip
_LONELY = {
    "num_tokens": 3, "num_experts": 8, "num_expert_group": 8, "topk_group": 4, "topk": 3, "renormalize": False,
    "routed_scaling_factor": 2.5, "scoring_func": 1, "dtype": "float32",
}  # fmt: skip
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["num_tokens"] >= 1024),
        grids.pairwise(
            origin="extra", num_tokens=(3, 500), num_experts=(16, 48, 256, 384), topk=(1, 2, 4, 8), **_AWKWARD
        ),
        grids.points(_LONELY),
    ),
    "quick": (
        grids.pairwise(
            num_tokens=(1, 3, 6), num_experts=(16, 48, 264), topk=(1, 2, 8), **_AWKWARD
        ),
        grids.points(_LONELY),
    ),
    "smoke": (
        grids.points(
            {
                "num_tokens": 4, "num_experts": 16, "num_expert_group": 4, "topk_group": 2, "topk": 2,
                "renormalize": True, "routed_scaling_factor": 1.0, "scoring_func": 1, "dtype": "float16",
            },
            {
                "num_tokens": 3, "num_experts": 24, "num_expert_group": 2, "topk_group": 1, "topk": 3,
                "renormalize": False, "routed_scaling_factor": 2.5, "scoring_func": 0, "dtype": "bfloat16",
            },
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "grouped_topk(scores: torch.Tensor, num_expert_group: int, topk_group: int, topk: int, renormalize: bool, "
    "routed_scaling_factor: float, bias: torch.Tensor, scoring_func: int = 0) -> tuple[torch.Tensor, torch.Tensor]",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=Each({"return[0]": Chosen(weight_error)}, Exact()),
    description=(
        "Picks topk experts of each token out of its topk_group best groups. s = scores, or sigmoid(scores) if "
        "scoring_func is 1; c = s + bias. The experts lie in num_expert_group groups of neighbours; a group counts as much "
        "as the sum of its two largest c. Of the experts in the best groups, those with the largest c are taken, in "
        "descending order. Of equal groups or experts the lower comes first. Returns weights and ids: the weights are s "
        "(without the bias) times routed_scaling_factor, and with renormalize divided by 1e-20 + the sum of the s taken."
    ),
    notes=(
        (
            "scores is (tokens, experts), bias (experts,), contiguous, both fp32, fp16 or bf16. The number of experts is "
            "a multiple of num_expert_group, neither need be a power of two. Returned: weights (tokens, topk) fp32 and "
            "ids (tokens, topk) int32, both fresh. c may be negative throughout. Values that decide are equal or well "
            "apart. Compute in fp32."
        ),
        (
            "Scores may be -inf: without sigmoid such an expert is never taken, and a group with fewer than two others "
            "counts -inf; so does every group of one expert. A token all of whose groups count -inf gets the ids 0 to "
            "topk - 1 and the weights 1 / topk, whatever renormalize and routed_scaling_factor. Otherwise there are "
            "enough experts to take."
        ),
    ),
    family="moe_topk",
)
