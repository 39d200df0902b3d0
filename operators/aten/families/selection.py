"""Answers that are positions: right where the element they select is, since equal elements have no order."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kgb_gym.operators.compare import Arguments, Check, Exact, Target, describe, same_bits_or_nan


@dataclass(frozen=True)
class Selects:
    """Indices along `dim` (None: of the flat tensor): the elements they select must be those of the reference.

    Where one element alone is right, so is its index alone. NaN equals NaN.
    """

    @property
    def exact(self) -> bool:
        return False

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        tensor: torch.Tensor = arguments["self"]
        dim = arguments.get("dim")
        if dim is None or not tensor.dim():
            tensor, dim = tensor.reshape(-1), 0
        keeps = got.dim() == tensor.dim()
        if arguments.get("dim") is None or not arguments["self"].dim():
            indices, expected = got.reshape(-1), target.reference.reshape(-1)
        else:
            indices = got if keeps else got.unsqueeze(dim)
            expected = target.reference if keeps else target.reference.unsqueeze(dim)
        count = tensor.shape[dim]
        outside = (indices < 0) | (indices >= count)
        chosen = tensor.gather(dim, torch.where(outside, 0, indices))
        bad = outside | ~same_bits_or_nan(chosen, tensor.gather(dim, expected))
        difference = describe(target.name, got, target.reference, bad.reshape(got.shape))
        return Check(strict=difference is None, paper=difference is None, difference=difference)


@dataclass(frozen=True)
class Sorts:
    """Sorted values, exact, and their indices: exact where `stable` is asked for, else a permutation of every slice that
    brings those values into place."""

    @property
    def exact(self) -> bool:
        return False

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self.check(target, got, arguments, widen).strict

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        if target.name not in ("return[1]", "indices") or arguments.get("stable") or not got.numel():
            return Exact().check(target, got, arguments, widen)
        tensor: torch.Tensor = arguments["self"]
        dim = arguments.get("dim", -1) if tensor.dim() else 0
        tensor, indices, expected = (t.reshape(1) if not t.dim() else t for t in (tensor, got, target.reference))
        inside = torch.where((indices < 0) | (indices >= tensor.shape[dim]), 0, indices)
        bad = ~same_bits_or_nan(tensor.gather(dim, inside), tensor.gather(dim, expected)) | (inside != indices)
        seen = torch.zeros(indices.shape, dtype=torch.bool).scatter_(dim, inside, True)
        bad |= ~seen.all(dim, keepdim=True)
        difference = describe(target.name, got, target.reference, bad.reshape(got.shape))
        return Check(strict=difference is None, paper=difference is None, difference=difference)
