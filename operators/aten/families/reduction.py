"""Functions along one or several dimensions: builders, error models and jitter."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import common
from kgb_gym.operators.aten.families.common import buffer, magnitude, promoted, values
from kgb_gym.operators.compare import UNIT, Arguments
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker

ALL = "all"
"""The value of `dim` that stands for `None` given as an argument."""


def along(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    dim: int,
    to: torch.dtype | None = None,
    layout: str = "contiguous",
    kind: str = "normal",
) -> Call:
    """`f(self, dim[, dtype])`: a function that keeps the shape, such as softmax. Kind `masked` puts -inf into a fifth
    of the elements and, of two dimensions, through the whole first row."""
    tensor = _input(make, shape, dtype, kind, layout)
    return make.call(tensor, dim) if to is None else make.call(tensor, dim, to)


def along_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    """The `out=` twin of `along`."""
    plain = along(make, **params)
    tensor = plain.args[0]
    dtype = out_dtype or params.get("to") or promoted(tensor.dtype)
    return Call(plain.args, {"out": buffer(make, tensor.shape, dtype, out)})


def whole(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    to: torch.dtype | None = None,
    layout: str = "contiguous",
    kind: str = "normal",
) -> Call:
    """`f(self[, dtype=])`: everything into one value."""
    tensor = _input(make, shape, dtype, kind, layout)
    return make.call(tensor) if to is None else make.call(tensor, dtype=to)


def over(make: Maker, *, dim: int | Sequence[int] | str, keepdim: bool | None = None, **params: Any) -> Call:
    """`f(self, dim[, keepdim][, dtype=])` with a list of dimensions, none (`[]`) or `None` (`"all"`)."""
    plain = whole(make, **params)
    dims = None if isinstance(dim, str) else [dim] if isinstance(dim, int) else list(dim)
    args = (*plain.args, dims) if keepdim is None else (*plain.args, dims, keepdim)
    return Call(args, plain.kwargs)


def with_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    """The `out=` twin of `over` (where `dim` is given) and of `whole`. Sums of integers are int64."""
    plain = over(make, **params) if "dim" in params else whole(make, **params)
    tensor = plain.args[0]
    shape = reduced_shape(tensor.shape, plain.args[1] if len(plain.args) > 1 else None, bool(params.get("keepdim")))
    own = tensor.dtype if tensor.dtype.is_floating_point or tensor.dtype.is_complex else torch.int64
    dtype = out_dtype or params.get("to") or own
    return Call(plain.args, {**plain.kwargs, "out": buffer(make, shape, dtype, out)})


def reduced_dims(rank: int, dims: int | Sequence[int] | None) -> tuple[int, ...]:
    """The dimensions reduced, sorted; `None` and the empty list mean all. Out-of-range ones are taken modulo the rank."""
    if dims is None or (not isinstance(dims, int) and not len(dims)):
        return tuple(range(rank))
    return tuple(sorted({d % max(1, rank) for d in ([dims] if isinstance(dims, int) else dims)} & set(range(rank))))


def reduced_shape(shape: Sequence[int], dims: int | Sequence[int] | None, keepdim: bool) -> tuple[int, ...]:
    """The shape of the answer."""
    gone = reduced_dims(len(shape), dims)
    if keepdim:
        return tuple(1 if d in gone else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in gone)


def terms(arguments: Arguments) -> int:
    """How many elements are combined into one element of the answer."""
    tensor = arguments["self"]
    return math.prod(tensor.shape[d] for d in reduced_dims(tensor.dim(), arguments.get("dim")))


def sum_of_magnitudes(arguments: Arguments) -> torch.Tensor:
    """Σ|self| over the reduced dimensions."""
    tensor = magnitude(arguments["self"])
    dims = reduced_dims(tensor.dim(), arguments.get("dim"))
    return tensor.sum(dims, keepdim=bool(arguments.get("keepdim", False))) if dims else tensor


def softmax_error(arguments: Arguments) -> torch.Tensor:
    """What the error of y = exp(x - max) / Σ is measured by, in units of roundoff.

    exp(d) carries a relative error of about u · (1 + |d|), from rounding d and its product with log2(e); the sum
    carries the mean of those, weighted by y, and its own accumulation. The last term is there for results that a GPU
    flushes to zero.
    """
    tensor: torch.Tensor = arguments["self"].double()
    dim = arguments["dim"]
    count = tensor.shape[dim] if tensor.dim() else 1
    if not tensor.numel():
        return tensor
    shift = (tensor - tensor.amax(dim, keepdim=True)).nan_to_num(nan=0.0, neginf=-1e6)
    share = torch.softmax(shift, dim)
    spread = (share * shift.abs()).sum(dim, keepdim=True)
    flushed = torch.finfo(torch.float32).tiny / UNIT[torch.float32]
    return share * (1 + shift.abs() + spread + math.log2(max(1, count))) + flushed


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: another shape and layout; dimensions as they are, except that an error is repaired."""
    new = common.jitter(rng, params)
    rank = len(new["shape"])
    dims = params.get("dim")
    if isinstance(dims, int) and not -max(1, rank) <= dims < max(1, rank):
        new["dim"] = 0
    elif isinstance(dims, list) and len({d % max(1, rank) for d in dims}) < len(dims):
        new["dim"] = dims[:1]
    return new


def _input(make: Maker, shape: Sequence[int], dtype: torch.dtype, kind: str, layout: str) -> torch.Tensor:
    if kind != "masked":
        return values(make, shape, dtype, kind, layout)
    tensor = make.sprinkle(make.normal(shape, dtype, layout=layout), [float("-inf")], share=0.2)
    if len(shape) >= 2:
        tensor[0] = float("-inf")
    return tensor


def maybe_over(make: Maker, *, dim: int | Sequence[int] | None = None, **params: Any) -> Call:
    """`f(self[, dim[, keepdim]])`: as `over` where `dim` is given, else over everything."""
    return whole(make, **params) if dim is None else over(make, dim=dim, **params)


def at_one(make: Maker, *, dim: int | str | None = None, keepdim: bool | None = None, **params: Any) -> Call:
    """`f(self[, dim[, keepdim]])` with one dimension, or `None` (`"all"`)."""
    plain = whole(make, **params)
    if dim is None:
        return plain
    args = (*plain.args, None if isinstance(dim, str) else dim)
    return make.call(*args) if keepdim is None else make.call(*args, keepdim)


def at_one_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype = torch.int64, **params: Any) -> Call:
    """The `out=` twin of `at_one`, for answers that are indices."""
    plain = at_one(make, **params)
    dim = params.get("dim")
    shape = reduced_shape(plain.args[0].shape, None if isinstance(dim, str) else dim, bool(params.get("keepdim")))
    return Call(plain.args, {"out": buffer(make, shape, out_dtype, out)})


def mean_of_magnitudes(arguments: Arguments) -> torch.Tensor:
    """The mean of |self| over the reduced dimensions."""
    return sum_of_magnitudes(arguments) / max(1, terms(arguments))


def along_flag(make: Maker, *, half_to_float: bool = False, **params: Any) -> Call:
    """`f(self, dim, half_to_float)`: see `along`."""
    return make.call(*along(make, **params).args, half_to_float)


def along_flag_out(make: Maker, *, out: str = "same", **params: Any) -> Call:
    """The `out=` twin of `along_flag`."""
    plain = along_flag(make, **params)
    return Call(plain.args, {"out": buffer(make, plain.args[0].shape, plain.args[0].dtype, out)})


def scan(make: Maker, *, to: torch.dtype | None = None, **params: Any) -> Call:
    """`f(self, dim[, dtype=])`: see `along`."""
    plain = along(make, **params)
    return plain if to is None else Call(plain.args, {"dtype": to})


def scan_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    """The `out=` twin of `scan`; sums of integers are int64."""
    plain = scan(make, **params)
    tensor = plain.args[0]
    own = tensor.dtype if tensor.dtype.is_floating_point else torch.int64
    return Call(
        plain.args, {**plain.kwargs, "out": buffer(make, tensor.shape, out_dtype or params.get("to") or own, out)}
    )


def running_magnitudes(arguments: Arguments) -> torch.Tensor:
    """The running sum of |self| along `dim`."""
    return magnitude(arguments["self"]).cumsum(arguments["dim"])
