"""Products of matrices: builders, error model and jitter."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import LAYOUTS, broadcast, buffer, magnitude, values
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker


def product(
    make: Maker,
    *,
    M: int,
    N: int,
    K: int,
    dtype: torch.dtype,
    b_column_major: bool = False,
    a_layout: str = "contiguous",
    b_layout: str = "contiguous",
    kind: str = "normal",
    wrong: str = "",
) -> Call:
    """`f(self, mat2)` for (M, K) and (K, N).

    Args:
        make: the source of values.
        M: rows of the answer.
        N: columns of the answer.
        K: terms of every element.
        dtype: type of both.
        b_column_major: whether `mat2` is stored by columns.
        a_layout: layout of `self`.
        b_layout: layout of `mat2`, unless it is column-major.
        kind: see `common.values`.
        wrong: `rank`: `mat2` is a vector.
    """
    a = values(make, (M, K), dtype, kind, a_layout)
    if wrong == "rank":
        return make.call(a, values(make, (K,), dtype))
    return make.call(a, values(make, (K, N), dtype, kind, "transposed" if b_column_major else b_layout))


def product_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    """The `out=` twin of `product`."""
    plain = product(make, **params)
    shape = (params["M"], params["N"])
    return Call(plain.args, {"out": buffer(make, shape, out_dtype or params["dtype"], out)})


def terms(arguments: Arguments) -> int:
    """K."""
    return int(arguments["self"].shape[-1])


def product_of_magnitudes(arguments: Arguments) -> torch.Tensor:
    """|self| @ |mat2|."""
    return magnitude(arguments["self"]) @ magnitude(arguments["mat2"])


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: other sizes (at most 96, or what the case has) and layouts; errors are repaired."""
    new = dict(params)
    new.pop("wrong", None)
    for name in ("M", "N", "K"):
        size = params[name]
        new[name] = max(1, min(size + rng.randint(-max(2, size // 4), max(2, size // 4)), max(96, size)))
    new["a_layout"], new["b_layout"] = rng.choice(LAYOUTS), rng.choice(LAYOUTS)
    return new


def shaped(
    make: Maker,
    *,
    a: Sequence[int],
    b: Sequence[int],
    dtype: torch.dtype,
    b_dtype: torch.dtype | None = None,
    a_layout: str = "contiguous",
    b_layout: str = "contiguous",
    kind: str = "normal",
) -> Call:
    """`f(self, other)` for tensors of any two shapes: vectors, matrices, batches."""
    first = values(make, a, dtype, kind, a_layout)
    return make.call(first, values(make, b, b_dtype or dtype, kind, b_layout))


def shaped_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    """The `out=` twin of `shaped`."""
    plain = shaped(make, **params)
    shape = product_shape(params["a"], params["b"])
    return Call(plain.args, {"out": buffer(make, shape, out_dtype or params["dtype"], out)})


def product_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape of the product, by the rules of `matmul`."""
    batch = broadcast(a[:-2], b[:-2])
    return (*batch, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ()))


def other_of_magnitudes(arguments: Arguments) -> torch.Tensor:
    """|self| @ |other|."""
    return magnitude(arguments["self"]) @ magnitude(arguments["other"])


def jitter_shaped(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case of `shaped`: other sizes (at most 96, or what the case has) and layouts, same batches.

    Operands that did not fit each other are made to fit.
    """
    new = dict(params)
    new.pop("b_dtype", None)
    a, b = list(params["a"]) or [3], list(params["b"]) or [3]
    terms = _moved(rng, a[-1])
    a[-1] = terms
    b[-2 if len(b) > 1 else -1] = terms
    if len(a) > 1:
        a[-2] = _moved(rng, a[-2])
    if len(b) > 1:
        b[-1] = _moved(rng, b[-1])
    if any(m != n and 1 not in (m, n) for m, n in zip(reversed(a[:-2]), reversed(b[:-2]), strict=False)):
        b = b[-2:]
    new["a"], new["b"] = a, b
    for name in ("a_layout", "b_layout"):
        if params.get(name) != "expanded":
            new[name] = rng.choice(LAYOUTS)
    return new


def _moved(rng: random.Random, size: int) -> int:
    return max(1, min(size + rng.randint(-max(2, size // 4), max(2, size // 4)), max(96, size)))


def linear(
    make: Maker,
    *,
    shape: Sequence[int],
    N: int,
    dtype: torch.dtype,
    bias: bool = False,
    weight_dtype: torch.dtype | None = None,
    terms: int | None = None,
    layout: str = "contiguous",
    weight_layout: str = "contiguous",
    bias_layout: str = "contiguous",
    kind: str = "normal",
) -> Call:
    """`f(input, weight[, bias])`.

    Args:
        make: the source of values.
        shape: sizes of `input`, the last being the terms of every element of the answer.
        N: rows of `weight`.
        dtype: type of all.
        bias: whether one is given.
        weight_dtype: type of `weight`, if it is another.
        terms: columns of `weight`, if they do not fit.
        layout: layout of `input`.
        weight_layout: layout of `weight`.
        bias_layout: layout of `bias`.
        kind: see `common.values`.
    """
    tensor = values(make, shape, dtype, kind, layout)
    columns = shape[-1] if terms is None else terms
    weight = values(make, (N, columns), weight_dtype or dtype, kind, weight_layout)
    return (
        make.call(tensor, weight, values(make, (N,), dtype, kind, bias_layout)) if bias else make.call(tensor, weight)
    )


def linear_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    """The `out=` twin of `linear`."""
    plain = linear(make, **params)
    shape = (*params["shape"][:-1], params["N"])
    return Call(plain.args, {"out": buffer(make, shape, out_dtype or params["dtype"], out)})


def linear_terms(arguments: Arguments) -> int:
    """K."""
    return int(arguments["input"].shape[-1])


def linear_of_magnitudes(arguments: Arguments) -> torch.Tensor:
    """|input| @ |weight|ᵀ + |bias|."""
    total = magnitude(arguments["input"]) @ magnitude(arguments["weight"]).mT
    bias = arguments.get("bias")
    return total if bias is None else total + magnitude(bias)


def jitter_linear(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case of `linear`: other sizes and layouts; errors are repaired."""
    new = dict(params)
    new.pop("weight_dtype", None)
    new.pop("terms", None)
    shape = list(params["shape"])
    new["shape"] = [*shape[:-2], *(_moved(rng, n) for n in shape[-2:])]
    new["N"] = _moved(rng, params["N"])
    new["layout"], new["weight_layout"] = rng.choice(LAYOUTS), rng.choice(LAYOUTS)
    return new
