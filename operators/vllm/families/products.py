"""Products with quantised weights: how they are judged.

An honest kernel unpacks weights, rounds them (or not) to the activations' type, sums in fp32 and rounds once or twice
at the end. Each rounding is a small random error, so what an output may be off follows from the root of the summed
squares of its terms, and the mean over all outputs is known far better than one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from kgb_gym.operators.compare import UNIT, Arguments, Check, Exact, Target, describe

ONE = 8.0
"""How many times its noise one output may be off: beyond what millions of random errors reach."""
MEAN = 1.5
"""How many times the mean noise the mean error may be: summation in 16 bits shows from some hundred terms on."""


@dataclass(frozen=True)
class Product:
    """Outputs within the noise of sensible roundings.

    `noise` gives the root mean square error of each output (float64) before it is rounded to its own type, from the
    call's arguments.
    """

    noise: Callable[[Arguments], torch.Tensor]

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        if target.precise is None:
            return Exact().check(target, got, arguments)
        if not got.numel():
            return Check(strict=True, paper=True)
        unit = UNIT[got.dtype]
        size = target.precise.abs()
        noise = self.noise(arguments) + 2.0**-22 * size
        error = (got.double() - target.precise).abs()
        bad = ~(error <= widen * (ONE * noise + 1.01 * unit * size)) & (got != target.reference)
        touched = target.touched if target.touched is not None else torch.ones_like(bad)
        bad = torch.where(touched, bad, got != target.reference)
        if not bool(bad.any()) and bool(touched.any()):
            limit = MEAN * noise + 0.5 * unit * size
            if bool(error[touched].mean() > widen * limit.broadcast_to(error.shape)[touched].mean()):
                bad = touched & (error > 0)
        difference = describe(target.name, got, target.reference, bad)
        return Check(strict=difference is None, paper=difference is None, difference=difference)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict


def rounded_weights(activations: torch.Tensor, weights: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The noise of weights rounded to `dtype`, or of products: sqrt(sum of squared terms) roundings, of which the root
    mean square is half a unit."""
    return (activations.double().square() @ weights.double().square()).sqrt() * (0.5 * UNIT[dtype])


def answer(activations: torch.Tensor, weights: torch.Tensor, dtype: torch.dtype) -> Target:
    """The target of a product (both float64) whose output has `dtype`."""
    precise = activations @ weights
    return Target("", precise.to(dtype), precise)


JUDGED = (
    "Sums are to be taken in fp32. One output may be off by what rounding each weight to the activations' type explains, "
    "and the mean error over all outputs is bounded more tightly; summation in 16 bits fails."
)
