"""Seeded makers of input tensors: the only source of values for a case.

A `Maker` turns one integer seed into the tensors of one call, on the CPU. The same seed gives the same call; the judge
makes one call for recording and another for playing from seeds that no submission sees.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from kgb_gym.operators.declaration import Call

LAYOUTS = ("contiguous", "transposed", "dilated", "sliced", "offset", "expanded")
"""`contiguous`; `transposed`: the last two dimensions swapped in memory; `dilated`: every second element of the last
dimension; `sliced`: rows of a wider buffer; `offset`: three elements into its storage; `expanded`: the first dimension
(of size > 1) has stride 0."""


FAR = {torch.int16: 2**15, torch.int32: 2**30, torch.int64: 2**45}
"""How far integers may reach: odd ones of such size are not exact in fp16; of 32 bits not in fp32, of 64 bits not in 32."""
TILE = 1 << 14
"""Elements of the block that a tiled maker repeats."""


@dataclass(frozen=True)
class Seeded:
    """Stands in a call for a `torch.Generator` seeded with `seed` on the device of the call."""

    seed: int


@dataclass(frozen=True)
class ScalarType:
    """An integer type of quantised weights, as vLLM's operators take it: a code stands for code - bias."""

    size_bits: int
    bias: int = 0

    @property
    def id(self) -> int:
        """vLLM's number of the type: no exponent, the mantissa's bits from bit 8 on, the bias from bit 17 on, NaN as in
        IEEE."""
        return self.size_bits << 8 | self.bias << 17 | 1 << 50


class Maker:
    """Makes the tensors of one call.

    Args:
        seed: the only source of randomness.
        tiled: repeat one block of values through large tensors: cheap, for recording, where only shapes matter.
    """

    def __init__(self, seed: int, *, tiled: bool = False) -> None:
        self._generator = torch.Generator().manual_seed(seed & (2**63 - 1))
        self._tiled = tiled
        self.rng = random.Random(seed)

    @staticmethod
    def call(*args: object, **kwargs: object) -> Call:
        """A `Call` of exactly these arguments."""
        return Call(args, kwargs)

    def seeded(self) -> Seeded:
        """A generator for a random operator."""
        return Seeded(self.rng.getrandbits(31))

    def normal(
        self,
        shape: Sequence[int],
        dtype: torch.dtype,
        *,
        mean: float = 0.0,
        std: float = 1.0,
        layout: str = "contiguous",
    ) -> torch.Tensor:
        """Normally distributed values; complex dtypes get independent real and imaginary parts."""
        if dtype.is_complex:
            parts = [self.normal(shape, torch.float64, mean=mean, std=std) for _ in range(2)]
            return lay(torch.complex(*parts).to(dtype), layout)
        size = math.prod(shape)
        if self._tiled and size > TILE and dtype.is_floating_point:
            block = torch.randn(TILE, generator=self._generator, dtype=torch.float32).mul_(std).add_(mean).to(dtype)
            return lay(block.repeat(size // TILE + 1)[:size].view(tuple(shape)), layout)
        values = torch.randn(tuple(shape), generator=self._generator, dtype=torch.float32)
        if dtype is torch.float64:
            values = values.double() + torch.randn(tuple(shape), generator=self._generator, dtype=torch.float64) * 1e-8
        return lay(values.mul_(std).add_(mean).to(dtype), layout)

    def uniform(
        self, shape: Sequence[int], dtype: torch.dtype, *, low: float = 0.0, high: float = 1.0,
        layout: str = "contiguous",
    ) -> torch.Tensor:  # fmt: skip
        """Uniform values in [low, high)."""
        values = torch.rand(tuple(shape), generator=self._generator, dtype=torch.float64)
        return lay(values.mul_(high - low).add_(low).to(dtype), layout)

    def integers(
        self, shape: Sequence[int], dtype: torch.dtype, *, low: int = -100, high: int = 100, layout: str = "contiguous",
        far: bool = False,
    ) -> torch.Tensor:  # fmt: skip
        """Integers in [low, high), clipped to what `dtype` holds; for bool: fair coins. `far`: every eighth or so is one
        that no narrower type holds (see `FAR`)."""
        if dtype is torch.bool:
            low, high = 0, 2
        elif not dtype.is_floating_point and not dtype.is_complex:
            info = torch.iinfo(dtype)
            low, high = max(low, info.min), min(high, info.max)
        values = torch.randint(low, high, tuple(shape), generator=self._generator, dtype=torch.int64)
        if far and dtype in FAR:
            wide = torch.randint(-FAR[dtype], FAR[dtype], tuple(shape), generator=self._generator, dtype=torch.int64)
            values = torch.where(wide & 7 == 0, wide | 1, values)
        return lay(values.to(dtype), layout)

    def any(self, shape: Sequence[int], dtype: torch.dtype, *, layout: str = "contiguous") -> torch.Tensor:
        """Normal values with mean 0.5 for floating and complex dtypes, integers, small and far, or coins for the others."""
        if dtype.is_floating_point or dtype.is_complex:
            return self.normal(shape, dtype, mean=0.5, layout=layout)
        return self.integers(shape, dtype, layout=layout, far=True)

    def permutation(self, n: int) -> torch.Tensor:
        """A random permutation of 0..n-1, int64."""
        return torch.randperm(n, generator=self._generator)

    def full(
        self, shape: Sequence[int], value: float, dtype: torch.dtype, *, layout: str = "contiguous"
    ) -> torch.Tensor:
        """One value everywhere."""
        return lay(torch.full(tuple(shape), value, dtype=dtype), layout)

    def out(self, shape: Sequence[int], dtype: torch.dtype, *, layout: str = "contiguous") -> torch.Tensor:
        """A buffer to be written: NaN for floating point, the smallest value for integers, random for bool."""
        if dtype is torch.bool:
            return self.integers(shape, dtype, layout=layout)
        if dtype.is_floating_point or dtype.is_complex:
            return self.full(shape, float("nan"), dtype, layout=layout)
        return self.full(shape, torch.iinfo(dtype).min, dtype, layout=layout)

    def sprinkle(self, tensor: torch.Tensor, values: Sequence[float], share: float = 0.05) -> torch.Tensor:
        """Put `values` (such as NaN and infinities) at random places, at least one place each; in place, returned."""
        flat_size = tensor.numel()
        if flat_size:
            for value in values:
                count = max(1, int(flat_size * share / len(values)))
                where = torch.randint(0, flat_size, (count,), generator=self._generator)
                tensor[torch.unravel_index(where, tensor.shape)] = value
        return tensor


def lay(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """The same values and shape in another memory layout (see `LAYOUTS`); the gaps hold other values.

    Raises:
        ValueError: the layout's name is unknown.
    """
    if layout == "contiguous":
        return tensor
    if layout == "transposed":
        return tensor.mT.contiguous().mT if tensor.dim() >= 2 else lay(tensor, "dilated")
    if layout == "dilated":
        return _inside(tensor, (*tensor.shape[:-1], tensor.shape[-1] * 2), -1, 2, 0) if tensor.dim() else tensor
    if layout == "sliced":
        return _inside(tensor, (*tensor.shape[:-1], tensor.shape[-1] + 3), -1, 1, 0) if tensor.dim() else tensor
    if layout == "offset":
        buffer = _filler(tensor, (tensor.numel() + 3,))
        view = buffer[3:].view(tensor.shape)
        view.copy_(tensor)
        return view
    if layout == "expanded":
        return tensor[:1].expand(tensor.shape) if tensor.dim() and tensor.shape[0] > 1 else tensor
    raise ValueError(f"unknown layout {layout!r}: use one of {', '.join(LAYOUTS)}")


def _inside(tensor: torch.Tensor, shape: Sequence[int], dim: int, step: int, start: int) -> torch.Tensor:
    view = _filler(tensor, shape)[..., start : start + tensor.shape[dim] * step : step]
    view.copy_(tensor)
    return view


def _filler(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    value = 7 if tensor.dtype is not torch.bool else True
    return torch.full(tuple(shape), value, dtype=torch.float32).to(tensor.dtype)
