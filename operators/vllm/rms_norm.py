"""Root-mean-square normalisation over the last dimension (vLLM `rms_norm`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import UNIT, Close
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, weight_mode: str, epsilon: float,
    values: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One call: out (..., hidden) contiguous and NaN, input (..., hidden), weight (hidden,)."""
    source = norm.rows(make, shape, dtype, values, layout)
    return make.call(make.out(shape, dtype), source, norm.weight(make, shape[-1], dtype, weight_mode), epsilon)


def oracle(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> dict[str, torch.Tensor]:
    """The answer without intermediate roundings, in float64."""
    x = input.double()
    eps = torch.tensor(epsilon, dtype=torch.float32).double()
    answer: torch.Tensor = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight.double()
    return {"out": answer}


def scale(arguments: Mapping[str, Any]) -> torch.Tensor:
    """|answer|, and what lets the intermediate rounding of a subnormal, times the weight, through."""
    answer = oracle(**{n: arguments[n] for n in ("out", "input", "weight", "epsilon")})["out"].abs()
    dtype: torch.dtype = arguments["out"].dtype
    weight: torch.Tensor = arguments["weight"].double().abs()
    half_step = torch.finfo(dtype).smallest_normal * UNIT[dtype]
    return answer + weight * (half_step / (SLACK * UNIT[torch.float32] * (math.log2(1) + 4)))


SLACK = 8.0
FLOATS = ("float16", "bfloat16", "float32")
_PAPER = grids.product(
    weight_mode=("ones", "randn"),
    epsilon=(1e-6, 1e-5),
    dtype=FLOATS,
    shape=((1, 32), (71, 497), (128, 512), (1024, 4096), (5333, 8192)),
)


def _timed(params: Mapping[str, Any]) -> bool:
    rows, hidden = params["shape"]
    return bool(rows >= 1024 and hidden >= 4096 and params["dtype"] != "float32")


_SPECIAL = grids.points(
    *(
        {"shape": (6, 40), "dtype": kind, "weight_mode": "randn", "epsilon": 1e-5, "values": "special"}
        for kind in ("float16", "float32")
    )
)
GRIDS = {
    "paper": (
        Grid(_PAPER.where(_timed).points, timed=True),
        _PAPER.where(lambda p: not _timed(p)),
        grids.pairwise(
            origin="extra",
            shape=((7, 8), (83, 768), (83, 769), (7, 5120), (4096, 5125), (3, 7, 768), (2, 5, 4, 128), (1, 16384)),
            dtype=FLOATS,
            weight_mode=("randn",),
            epsilon=(1e-6, 1e-2),
            values=norm.VALUES,
            layout=norm.LAYOUTS,
        ),
        _SPECIAL,
    ),
    "quick": (
        grids.pairwise(
            shape=((1, 32), (5, 497), (3, 1), (2, 3, 769), (2, 2, 2, 64), (2, 5125)),
            dtype=FLOATS,
            weight_mode=("ones", "randn"),
            epsilon=(1e-6, 1e-5, 1e-2),
            values=norm.VALUES,
            layout=norm.LAYOUTS,
        ),
        _SPECIAL,
    ),
    "smoke": (
        grids.points(
            {"shape": (3, 20), "dtype": "float16", "weight_mode": "randn", "epsilon": 1e-6, "layout": "sliced"},
            {"shape": (2, 33), "dtype": "float32", "weight_mode": "randn", "epsilon": 1e-5},
            origin="paper",
        ),
    ),
}

OPERATOR = Operator(
    source="vllm",
    name="rms_norm",
    interfaces=(
        Interface(
            name="rms_norm",
            build=build,
            grids=GRIDS,
            jitter=norm.jitter,
            writes=("out",),
            signature="rms_norm(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None",
            returns_written=True,
            oracle=oracle,
        ),
    ),
    # Scaling and weighting each round to a 16-bit type; nothing grows with the row.
    compare=Close(scale=scale, slack=SLACK, intermediate=1.0),
    description=(
        "Root-mean-square normalisation over the last dimension: out = r(r(x * rsqrt(mean(x*x) + epsilon)) * weight), "
        "where r rounds to the tensors' type and everything else is computed in fp32."
    ),
    notes=(
        (
            "out is contiguous, with the shape of input. input has 1 to 4 dimensions and arbitrary strides "
            "(0 included) in all but the last, which is dense. weight is (hidden,). All three have the same type: fp16, "
            "bf16 or fp32."
        ),
    ),
    family="rms_norm",
)
