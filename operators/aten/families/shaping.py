"""Operators that lay tensors beside one another, turn them, or take differences: builders, error model and jitter."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import LAYOUTS, magnitude, values
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.grids import jitter_shape
from kgb_gym.operators.maker import Maker


def pieces(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    dim: int,
    sizes: Sequence[int] | None = None,
    count: int = 2,
    other_dtype: torch.dtype | None = None,
    layout: str = "contiguous",
    legacy: bool = False,
    wrong: str = "",
) -> Call:
    """`cat(tensors, dim)` or `stack(tensors, dim)`.

    Args:
        make: the source of values.
        shape: sizes of every piece.
        dtype: type of every first, third, … piece.
        dim: the dimension.
        sizes: for `cat`, what replaces the size along `dim`, piece by piece; None: `count` equal pieces.
        count: how many pieces, without `sizes`.
        other_dtype: type of the second, fourth, … piece.
        layout: layout of every first, third, … piece; the others are contiguous.
        legacy: whether an empty vector stands among pieces of another rank.
        wrong: `size`: the last piece is too long elsewhere; `rank`: it has a dimension more; `none`: there are none.
    """
    if wrong == "none":
        return make.call([], dim)
    shapes = [list(shape) for _ in range(count if sizes is None else len(sizes))]
    for piece, size in zip(shapes, sizes or (), strict=False):
        piece[dim if -len(piece) <= dim < len(piece) else 0] = size
    if wrong == "size":
        shapes[-1] = [n + 1 for n in shapes[-1]]
    if wrong == "rank":
        shapes[-1].append(1)
    tensors = [
        values(make, s, other_dtype or dtype) if number % 2 else values(make, s, dtype, layout=layout)
        for number, s in enumerate(shapes)
    ]
    if legacy:
        tensors.insert(1, torch.empty(0, dtype=dtype))
    return make.call(tensors, dim)


def joined(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of what `cat` gives."""
    tensors, dim = call.args
    whole = [t for t in tensors if t.shape != (0,)]
    shape = list(whole[0].shape) if whole else [0]
    shape[dim] = sum(t.shape[dim] for t in whole)
    return shape, _common(tensors)


def stacked(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of what `stack` gives."""
    tensors, dim = call.args
    shape = list(tensors[0].shape)
    shape.insert(dim % (len(shape) + 1), len(tensors))
    return shape, _common(tensors)


def pieces_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape, other sizes along the dimension, another layout, and no error."""
    new = {**params, "wrong": "", "layout": rng.choice(LAYOUTS)}
    new["shape"] = jitter_shape(rng, params["shape"], max(1024, math.prod(params["shape"]) // 64))
    rank = len(new["shape"])
    if params.get("sizes") is not None:
        new["sizes"] = [rng.randint(1, 9) for _ in params["sizes"]]
    if not -rank <= params["dim"] < rank:
        new["dim"] = 0 if params.get("wrong") or params["dim"] > rank else params["dim"]
    return new


def stacking_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """`pieces_jitter`, where a dimension may also be the new one."""
    new = pieces_jitter(rng, params)
    rank = len(new["shape"]) + 1
    return {**new, "dim": params["dim"] if -rank <= params["dim"] < rank else 0, "count": rng.randint(2, 5)}


def rotation(
    make: Maker, *, shape: Sequence[int], dtype: torch.dtype, k: int, dims: Sequence[int], layout: str = "contiguous"
) -> Call:
    """`rot90(self, k, dims)`."""
    return make.call(values(make, shape, dtype, layout=layout), k, list(dims))


def rotated(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of a rotation."""
    tensor, k, dims = call.args
    shape = list(tensor.shape)
    if k % 2:
        a, b = dims
        shape[a], shape[b] = shape[b], shape[a]
    return shape, tensor.dtype


def rotation_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape and layout, and no error."""
    new = {**params, "layout": rng.choice(LAYOUTS)}
    new["shape"] = jitter_shape(rng, params["shape"], max(2048, math.prod(params["shape"]) // 16))
    rank = len(new["shape"])
    if rank < 2:
        new["shape"] = [*new["shape"], 3, 2][:2]
        rank = 2
    if (
        len(params["dims"]) != 2
        or len({d % rank for d in params["dims"]}) < 2
        or not all(-rank <= d < rank for d in params["dims"])
    ):
        new["dims"] = [0, 1]
    return new


def selected_gradient(
    make: Maker,
    *,
    input_sizes: Sequence[int],
    dtype: torch.dtype,
    dim: int,
    index: int | str,
    layout: str = "contiguous",
) -> Call:
    """`select_backward(grad_output, input_sizes, dim, index)`; `index` may be `first`, `mid` or `neg1`."""
    rank = len(input_sizes)
    size = input_sizes[dim] if -rank <= dim < rank else 1
    at = {"first": 0, "mid": size // 2, "neg1": -1}[index] if isinstance(index, str) else index
    shape = [n for d, n in enumerate(input_sizes) if d != dim % rank]
    return make.call(values(make, shape, dtype, layout=layout), list(input_sizes), dim, at)


def unselected(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of the gradient."""
    return call.args[1], call.args[0].dtype


def gradient_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Other sizes, another index and layout, and no error."""
    sizes = jitter_shape(rng, params["input_sizes"] or (9,), max(2048, math.prod(params["input_sizes"]) // 16))
    rank = len(sizes)
    dim = params["dim"] if -rank <= params["dim"] < rank else 0
    return {**params, "input_sizes": sizes, "dim": dim, "index": rng.randint(-sizes[dim], sizes[dim] - 1),
            "layout": rng.choice(LAYOUTS)}  # fmt: skip


def differences(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    n: int,
    dim: int,
    prepend: int | None = None,
    append: int | None = None,
    other_dtype: torch.dtype | None = None,
    layout: str = "contiguous",
    wrong: str = "",
) -> Call:
    """`diff(self, n, dim[, prepend=, append=])`.

    Args:
        make: the source of values.
        shape: sizes of `self`.
        dtype: its type.
        n: the order.
        dim: the dimension.
        prepend: length along `dim` of what is put in front; None: not passed.
        append: likewise behind.
        other_dtype: type of both, if it is another.
        layout: layout of `self`.
        wrong: `rank`: `prepend` has a dimension more; `size`: it is longer elsewhere.
    """

    def piece(length: int | None) -> torch.Tensor | None:
        if length is None:
            return None
        sizes = [n + 1 if wrong == "size" else n for n in shape] + [2] * (wrong == "rank")
        sizes[dim] = length
        return values(make, sizes, other_dtype or dtype)

    given = {k: v for k, v in {"prepend": piece(prepend), "append": piece(append)}.items() if v is not None}
    return make.call(values(make, shape, dtype, layout=layout), n, dim, **given)


def differed(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of the differences."""
    tensor, n, dim = call.args
    parts = [tensor, *call.kwargs.values()]
    shape = list(tensor.shape)
    shape[dim] = max(0, sum(p.shape[dim] for p in parts) - n)
    return shape, _common(parts)


def difference_magnitudes(arguments: Arguments) -> torch.Tensor:
    """The same differences with every minus a plus: what their error is measured by."""
    dim = arguments.get("dim", -1)
    parts = [arguments.get(name) for name in ("prepend", "self", "append")]
    total = torch.cat([magnitude(p) for p in parts if p is not None], dim)
    for _ in range(min(arguments.get("n", 1), total.shape[dim])):
        length = total.shape[dim] - 1
        total = total.narrow(dim, 0, length) + total.narrow(dim, 1, length)
    return total


def differences_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape and layout, and no error."""
    new = {**params, "wrong": "", "layout": rng.choice(LAYOUTS), "n": max(0, params["n"])}
    new["shape"] = jitter_shape(rng, params["shape"] or (9,), max(2048, math.prod(params["shape"]) // 16))
    rank = len(new["shape"])
    if not -rank <= params["dim"] < rank:
        new["dim"] = 0
    for name in ("prepend", "append"):
        if params.get(name) is not None:
            new[name] = rng.randint(1, 5)
    return new


def _common(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    return functools.reduce(torch.promote_types, (t.dtype for t in tensors))
