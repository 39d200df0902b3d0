"""Selecting and placing by tensors of indices along one dimension: builders, error model and jitter."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import LAYOUTS, magnitude, values
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.grids import jitter_shape
from kgb_gym.operators.maker import Maker, lay


def places(
    make: Maker, shape: Sequence[int], size: int, dtype: torch.dtype = torch.int64, layout: str = "contiguous"
) -> torch.Tensor:
    """Indices into a dimension of `size`, duplicates among them."""
    if not math.prod(shape):
        return torch.zeros(tuple(shape), dtype=dtype)
    return lay(make.integers(shape, torch.int64, low=0, high=max(1, size)).to(dtype), layout)


def distinct(make: Maker, shape: Sequence[int], dim: int, size: int, dtype: torch.dtype) -> torch.Tensor:
    """Indices into a dimension of `size`, none twice along `dim`; `shape` has at most `size` elements there."""
    if not len(shape):
        return torch.zeros((), dtype=dtype)
    dim %= len(shape)
    whole = (*shape[:dim], size, *shape[dim + 1 :])
    return make.uniform(whole, torch.float64).argsort(dim).narrow(dim, 0, shape[dim]).contiguous().to(dtype)


def embedding(
    make: Maker,
    *,
    rows: int,
    width: int,
    indices: Sequence[int],
    dtype: torch.dtype,
    padding_idx: int | None = None,
    by_freq: bool | None = None,
    index_dtype: torch.dtype = torch.int64,
    layout: str = "contiguous",
    index_layout: str = "contiguous",
    wrong: str = "",
) -> Call:
    """`embedding(weight, indices[, padding_idx, scale_grad_by_freq])`.

    Args:
        make: the source of values.
        rows: rows of the weight.
        width: its columns.
        indices: shape of the indices.
        dtype: type of the weight.
        padding_idx: passed if given; without effect on the answer, as is `by_freq`.
        by_freq: passed if given, after `padding_idx`.
        index_dtype: type of the indices.
        layout: layout of the weight.
        index_layout: layout of the indices.
        wrong: `rank`: the weight has three dimensions; `type`: the indices are floating point.
    """
    weight = values(make, (rows, width) if wrong != "rank" else (rows, width, 2), dtype, layout=layout)
    where = places(make, indices, rows, index_dtype if wrong != "type" else torch.float32, index_layout)
    keywords: dict[str, Any] = {} if padding_idx is None else {"padding_idx": padding_idx}
    return make.call(weight, where, **keywords, **({} if by_freq is None else {"scale_grad_by_freq": by_freq}))


def embedded(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of an embedding."""
    weight, where = call.args
    return (*where.shape, weight.shape[-1]), weight.dtype


def embedding_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Other sizes and layouts, and no error."""
    new = {**params, "wrong": ""}
    new["rows"], new["width"] = jitter_shape(rng, (params["rows"], params["width"]), 1 << 15)
    new["indices"] = jitter_shape(rng, params["indices"], 24)
    new["layout"], new["index_layout"] = rng.choice(LAYOUTS), rng.choice(LAYOUTS)
    return new


def selection(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    dim: int,
    count: int | None = None,
    index_dtype: torch.dtype = torch.int64,
    layout: str = "contiguous",
    index_layout: str = "contiguous",
    wrong: str = "",
) -> Call:
    """`index_select(self, dim, index)`.

    Args:
        make: the source of values.
        shape: sizes of `self`.
        dtype: its type.
        dim: the dimension.
        count: length of the index; None: 0.8 of the dimension, as published; -1: the index is 0-d.
        index_dtype: its type.
        layout: layout of `self`.
        index_layout: layout of the index.
        wrong: `rank`: the index is a matrix.
    """
    size = shape[dim] if -len(shape) <= dim < len(shape) else 1
    length = (int(size * 0.8),) if count is None else () if count < 0 else (count,)
    where = places(make, (2, 2) if wrong == "rank" else length, size, index_dtype, index_layout)
    return make.call(values(make, shape, dtype, layout=layout), dim, where)


def selected(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of a selection."""
    tensor, dim, where = call.args
    shape = list(tensor.shape)
    if shape and -len(shape) <= dim < len(shape):
        shape[dim] = where.numel()
    return shape, tensor.dtype


def selection_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape, layout and number of indices, and no error."""
    new = _moved(rng, params)
    if params.get("count") is not None and params["count"] > 0 and new["shape"]:
        new["count"] = rng.randint(1, 9)
    return {**new, "index_layout": rng.choice(LAYOUTS)}


def gathering(
    make: Maker,
    *,
    shape: Sequence[int],
    index: Sequence[int],
    dtype: torch.dtype,
    dim: int,
    index_dtype: torch.dtype = torch.int64,
    layout: str = "contiguous",
    index_layout: str = "contiguous",
    sparse_grad: bool | None = None,
) -> Call:
    """`gather(self, dim, index)`, where `index` is the index's shape. `sparse_grad` is passed if given."""
    size = shape[dim] if -len(shape) <= dim < len(shape) else 1
    where = places(make, index, size, index_dtype, index_layout)
    keywords = {} if sparse_grad is None else {"sparse_grad": sparse_grad}
    return make.call(values(make, shape, dtype, layout=layout), dim, where, **keywords)


def gathered(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of what is gathered."""
    return call.args[2].shape, call.args[0].dtype


def gathering_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape and layouts; the index within what `self` allows."""
    new = _moved(rng, params)
    new["index"] = _within(rng, params, new["shape"], free=True)
    return {**new, "index_layout": rng.choice(LAYOUTS)}


def scattering(
    make: Maker,
    *,
    shape: Sequence[int],
    index: Sequence[int],
    dtype: torch.dtype,
    dim: int,
    src: Sequence[int] | None = None,
    value: float | None = None,
    reduce: str = "",
    duplicates: bool = False,
    src_dtype: torch.dtype | None = None,
    index_dtype: torch.dtype = torch.int64,
    layout: str = "contiguous",
    src_layout: str = "contiguous",
    index_layout: str = "contiguous",
) -> Call:
    """`scatter(self, dim, index, src or value[, reduce=])`.

    Args:
        make: the source of values.
        shape: sizes of `self`.
        index: sizes of the index.
        dtype: type of `self`.
        dim: the dimension.
        src: sizes of `src`; None: those of the index.
        value: a number in place of `src`.
        reduce: passed if given.
        duplicates: whether one place may be named twice along `dim`.
        src_dtype: type of `src`, if it is another.
        index_dtype: type of the index.
        layout: layout of `self`.
        src_layout: layout of `src`.
        index_layout: layout of the index.
    """
    tensor = values(make, shape, dtype, layout=layout)
    size = shape[dim] if len(shape) else 1
    empty = not math.prod(index)
    where = (
        places(make, index, size, index_dtype) if duplicates or empty else distinct(make, index, dim, size, index_dtype)
    )
    other = (
        value
        if value is not None
        else values(make, index if src is None else src, src_dtype or dtype, layout=src_layout)
    )
    return make.call(tensor, dim, lay(where, index_layout), other, **({"reduce": reduce} if reduce else {}))


def scattered(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of the answer."""
    return call.args[0].shape, call.args[0].dtype


def scattering_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape and layouts; index and `src` within what `self` allows, and no error."""
    new = {**_moved(rng, params), "src": None}
    new.pop("src_dtype", None)
    new["index"] = _within(rng, params, new["shape"], free=False)
    if params.get("reduce") not in (None, "", "add", "multiply"):
        new["reduce"] = "add"
    return {**new, "index_layout": rng.choice(LAYOUTS), "src_layout": rng.choice(LAYOUTS)}


def hits(arguments: Arguments) -> int:
    """The largest number of values that meet in one element, its own among them."""
    where, dim = arguments["index"].long(), arguments["dim"]
    if not where.numel():
        return 1
    count = torch.zeros(arguments["self"].shape, dtype=torch.int64)
    return 1 + int(count.scatter_add(dim, where, torch.ones_like(where)).max())


def reduced_magnitudes(arguments: Arguments) -> torch.Tensor:
    """|self| + Σ|src| (or |self| · Π|src|) of what meets in an element: what a scatter's error is measured by."""
    start, where, dim = magnitude(arguments["self"]), arguments["index"].long(), arguments["dim"]
    if not where.numel():
        return start
    other = arguments["src"] if "src" in arguments else arguments["value"]
    piece = magnitude(other).expand(where.shape) if not isinstance(other, torch.Tensor) else magnitude(other)
    how = "sum" if arguments["reduce"] == "add" else "prod"
    return start.scatter_reduce(dim, where, piece, how, include_self=True)


def _moved(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    new = {**params, "layout": rng.choice(LAYOUTS)}
    if "wrong" in params:
        new["wrong"] = ""
    new["shape"] = jitter_shape(rng, params["shape"], max(2048, math.prod(params["shape"]) // 64))
    rank = max(1, len(new["shape"]))
    if not -rank <= params["dim"] < rank:
        new["dim"] = 0
    return new


def _within(rng: random.Random, params: Mapping[str, Any], shape: Sequence[int], *, free: bool) -> list[int]:
    """Sizes of an index: at most those of `shape`, but along the dimension any (`free`) or as many as there are."""
    if not math.prod(params["index"]):
        return list(params["index"])
    sizes = [rng.randint(1, n) for n in shape]
    if sizes and free:
        sizes[params["dim"] if -len(sizes) <= params["dim"] < len(sizes) else 0] = rng.randint(1, 9)
    return sizes
