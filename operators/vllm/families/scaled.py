"""Products of 8-bit matrices with scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from kgb_gym.operators.compare import Close, Comparison, Target
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families.judging import Chosen
from kgb_gym.operators.vllm.families.products import Product

BLOCK = 128


def codes(make: Maker, shape: tuple[int, ...], dtype: torch.dtype, padding: int = 0) -> torch.Tensor:
    """A matrix of 8-bit numbers whose rows lie `padding` elements further apart than they need be."""
    wide = (*shape[:-1], shape[-1] + padding)
    if dtype is torch.int8:
        return make.integers(wide, dtype, low=-128, high=128)[..., padding:]
    return make.normal(wide, torch.float32).to(dtype)[..., padding:]


def scales(make: Maker, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Scales that leave products of codes of `dtype` far from fp16's limits."""
    high = 0.01 if dtype is torch.int8 else 0.2
    return make.uniform(shape, torch.float32, low=high / 10, high=high)


def factor(arguments: Mapping[str, Any]) -> torch.Tensor:
    """scale_a * scale_b of every output, float64."""
    by_a, by_b = arguments["scale_a"].double(), arguments["scale_b"].double()
    return torch.outer(by_a.flatten(), by_b.flatten())


def blockwise(arguments: Mapping[str, Any]) -> bool:
    """Whether there is a scale for every 128 columns of a, and for every 128 x 128 block of b."""
    rows, columns = arguments["a"].shape[-1] // BLOCK, arguments["b"].shape[1] // BLOCK
    return bool(arguments["scale_b"].shape == (rows, columns) and rows * columns > 1)


def matrices(arguments: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | float]:
    """a and b (float64), where blockwise already scaled, and the factor that is left."""
    a, b = arguments["a"].float().double().flatten(0, -2), arguments["b"].float().double()
    if not blockwise(arguments):
        return a, b, factor(arguments)
    by_a = arguments["scale_a"].double().repeat_interleave(BLOCK, 1)
    by_b = arguments["scale_b"].double().repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
    return a * by_a, b * by_b, 1.0


def answer(product: torch.Tensor, arguments: Mapping[str, Any]) -> Target:
    """The target: with the bias, in the shape of a's rows."""
    bias = arguments.get("bias")
    precise = product + (0.0 if bias is None else bias.double())
    precise = precise.reshape(*arguments["a"].shape[:-1], -1)
    return Target("", precise.to(arguments["out_dtype"]), precise)


def compare(product: Callable[[Mapping[str, Any]], torch.Tensor]) -> Comparison:
    """Sums of int8 are exact: judged by the few roundings after them. Those of e4m3 may be taken by hardware that keeps
    some 14 bits of a running sum."""

    def magnitude(arguments: Mapping[str, Any]) -> torch.Tensor:
        bias = arguments.get("bias")
        size = product(arguments).abs() + (0.0 if bias is None else bias.double().abs())
        return size.reshape(*arguments["a"].shape[:-1], -1)

    def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
        a, b, left = matrices(arguments)
        spread = (a.square() @ b.square()).sqrt() * left * 2.0**-9
        return spread.reshape(*arguments["a"].shape[:-1], -1)

    exact_sums = Close(scale=magnitude, own=1.0)
    return Chosen(lambda arguments: exact_sums if arguments["a"].dtype is torch.int8 else Product(noise))
