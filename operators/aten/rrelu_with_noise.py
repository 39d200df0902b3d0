"""Leaky ReLU with a random slope an element (aten::rrelu_with_noise)."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kgb_gym.operators.aten.families import common, variates
from kgb_gym.operators.aten.families.common import LAYOUTS, buffer, suites, values
from kgb_gym.operators.compare import UNIT, Arguments, Check, Close, Exact, Target, describe
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.distribution import Distribution, Test
from kgb_gym.operators.grids import FLOATING, FLOATS, points, product
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import Policy


def _build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    lower: float | None = None,
    upper: float | None = None,
    training: bool = False,
    kind: str = "normal",
    layout: str = "contiguous",
    noise_layout: str = "contiguous",
    noise_shape: Sequence[int] | None = None,
    seeded: bool = True,
) -> Call:
    """`f(self, noise, lower, upper, training, generator)`; the bounds are both given or both left out. Some elements
    are 0. With the `kind` `negative` every slope is seen, so that samples that are too regular stand out."""
    tensor = values(make, shape, dtype, kind, layout)
    if tensor.numel() and layout != "expanded":
        make.sprinkle(tensor, [0.0, -0.0], share=0.02)
    noise = make.out(shape if noise_shape is None else noise_shape, dtype, layout=noise_layout)
    noise.fill_(7.0)
    keywords: dict[str, Any] = {"training": training}
    if seeded:
        keywords["generator"] = make.seeded()
    return make.call(tensor, noise, **keywords) if lower is None else make.call(tensor, noise, lower, upper, **keywords)


def _build_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    plain = _build(make, **params)
    return Call(plain.args, {**plain.kwargs, "out": buffer(make, params["shape"], out_dtype or params["dtype"], out)})


def _bounds(arguments: Arguments) -> tuple[float, float]:
    return float(arguments.get("lower", 0.125)), float(arguments.get("upper", 1 / 3))


def _noise_tests(arguments: Arguments, noise: torch.Tensor) -> Sequence[Test]:
    """1 beside positive elements; beside the others uniform between the bounds, and without correlation."""
    lower, upper = _bounds(arguments)
    positive = arguments["self"] > 0
    wrong = int((noise[positive] != 1).sum())
    tests = [Test("positive", 0.0 if wrong else 1.0, f"{wrong} slopes of positive elements are not 1")]
    slopes = noise[~positive]
    ends = torch.tensor([lower, upper], dtype=noise.dtype)
    outside = int((~((slopes >= ends[0]) & (slopes <= ends[1]))).sum())
    tests.append(Test("bounds", 0.0 if outside else 1.0, f"{outside} slopes are not within [{lower}, {upper}]"))
    if outside or lower == upper:
        return tests
    width = upper - lower
    return [
        *tests,
        *variates.continuous_tests(
            slopes, lambda x: ((x - lower) / width).clamp(0, 1), lambda q: lower + q * width, ~positive
        ),
    ]


@dataclass(frozen=True)
class _Slopes:
    """Without training the answer is one slope's and the noise stays; in training the noise is judged by its
    distribution, and the answer by the noise."""

    @property
    def exact(self) -> bool:
        return False

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        training, tensor = bool(arguments.get("training")), arguments["self"].double()
        if target.name == "noise":
            judge = Distribution(_noise_tests) if training else Exact()
            return judge.check(target, got, arguments, widen)
        if not training:
            precise = torch.where(tensor > 0, tensor, tensor * (sum(_bounds(arguments)) / 2))
            return Close().check(Target(target.name, precise.to(got.dtype), precise), got, arguments, widen)
        lower, upper = _bounds(arguments)
        noise = arguments.get("outputs", {}).get("noise")
        least = torch.full_like(tensor, lower) if noise is None else noise.double()
        most = torch.full_like(tensor, upper) if noise is None else noise.double()
        slack = 3 * UNIT[got.dtype] * tensor.abs() * most.abs() + torch.finfo(got.dtype).smallest_normal * 2
        between = (got.double() >= tensor * most - slack) & (got.double() <= tensor * least + slack)
        bad = ~torch.where(tensor > 0, got.double() == tensor, between)
        difference = describe(target.name, got, target.reference, bad)
        return Check(strict=difference is None, paper=difference is None, difference=difference)


def _jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape and layouts; errors are repaired."""
    new = common.jitter(rng, params)
    new.pop("noise_shape", None)
    new["noise_layout"] = rng.choice(LAYOUTS)
    if params.get("lower", 0) > params.get("upper", 1):
        new["lower"], new["upper"] = params["upper"], params["lower"]
    return new


_BOUNDS = ((0.125, 1 / 3), (0.1, 0.4))
_PAPER: dict[str, Any] = {
    "shape": ((2, 3), (128, 256), (512, 512)),
    "dtype": FLOATS,
    "training": (False, True),
    "lower,upper": _BOUNDS,
}
_QUICK: dict[str, Any] = {"shape": ((60, 40),), "dtype": FLOATS, "training": (False, True), "lower,upper": _BOUNDS[1:]}
_AWKWARD = points(
    {"shape": (0, 3), "dtype": "float32", "training": True},
    {"shape": (), "dtype": "float32", "training": True},
    {"shape": (50, 30), "dtype": "float32", "training": True, "layout": "offset", "noise_layout": "offset"},
    {"shape": (50, 30), "dtype": "float32", "layout": "dilated", "noise_layout": "sliced"},
    {"shape": (50, 30), "dtype": "float64", "training": True, "seeded": False, "kind": "negative"},
    {"shape": (50, 30), "dtype": "float64", "lower": 0.2, "upper": 0.7, "layout": "offset"},
    {"shape": (70,), "dtype": "float32", "training": True, "lower": 0.25, "upper": 0.25},
    {"shape": (2, 3), "dtype": "float32", "lower": 0.3, "upper": 0.1},
    {"shape": (2, 3), "dtype": "float32", "lower": 0.3, "upper": 0.1, "training": True, "origin": "beyond"},
    {"shape": (2, 3), "dtype": "float32", "noise_shape": (2,), "training": True, "origin": "beyond"},
)
_OUT = points(
    {"shape": (60, 40), "dtype": "float32", "training": True, "lower": 0.1, "upper": 0.4},
    {"shape": (60, 40), "dtype": "bfloat16", "training": True, "out": "dilated"},
    {"shape": (60, 40), "dtype": "float16", "training": True},
    {"shape": (9, 33), "dtype": "float32", "out": "empty"},
    {"shape": (9, 33), "dtype": "float32", "out_dtype": "float64", "origin": "beyond"},
)
_STRIDED = points(
    {"shape": (50, 30), "dtype": "float32", "training": True, "layout": "transposed", "noise_layout": "dilated"},
    {"shape": (50, 30), "dtype": "float16", "training": True, "layout": "sliced", "noise_layout": "transposed"},
)
"""Training with strides; hidden cases have them as well. The native operator on the CPU takes these tensors for contiguous
ones: its own samples are wrong, and only their shapes are used."""
_SMOKE = points(
    {"shape": (30, 11), "dtype": "float32", "training": True}, {"shape": (9, 11), "dtype": "float16", "training": False}
)

OPERATOR = Operator(
    source="aten",
    name="rrelu_with_noise",
    interfaces=(
        Interface(
            "rrelu_with_noise",
            _build,
            suites(
                paper=(
                    product(**_PAPER, timed=True),
                    product(**{**_PAPER, "shape": ((2048, 1024),), "lower,upper": _BOUNDS[:1]}, origin="extra"),
                    _AWKWARD,
                    _STRIDED,
                ),
                quick=(product(**_QUICK), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            _jitter,
        ),
        Interface(
            "rrelu_with_noise.out",
            _build_out,
            suites(paper=(product(**_PAPER), _OUT), quick=(_OUT,), smoke=(_SMOKE,)),
            _jitter,
        ),
    ),
    compare=_Slopes(),
    description=(
        "Positive elements stay; the others are multiplied by a slope: (lower + upper) / 2 without `training`, in "
        "training one for every element, uniform in [lower, upper] and independent of the others."
    ),
    notes=(
        "In training `noise` gets the slopes that were used: 1 beside positive elements, the drawn one beside all others.",
        "An element that is 0 is one of the others. Without training `noise` is left alone.",
        "`noise` has the shape of `self`, `out` its type, and in training `lower` is at most `upper`; else an error.",
        "16-bit inputs are computed in fp32 and rounded once.",
        "The same generator state gives the same answer, and every call in training advances the generator.",
        "Draw one seed with `torch.randint(0, 2**31 - 1, (1,), generator=generator, device=…)`; load it in the kernel.",
    ),
    random=True,
    policy=Policy(allow=Policy().allow | {"draw"}),
    usual=FLOATING,
    family="random",
)
