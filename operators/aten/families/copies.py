"""Operators that copy or convert a tensor, or give it back where nothing has to be done: builders, grids and jitters."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from kgb_gym.operators.aten.families import common
from kgb_gym.operators.aten.families.factories import FORMATS, HERE, gaps, out_buffer
from kgb_gym.operators.declaration import Call, Exemption
from kgb_gym.operators.grids import Params
from kgb_gym.operators.maker import Maker

FRESH = Exemption("first_input", "its values are the right ones; that the input itself is wrong, the contract says")

CONVERSION = (
    "Conversions are PyTorch's: floating point to integers towards zero, integers wrap, `!= 0` for bool (NaN is true), a "
    "complex number loses its imaginary part, a double becomes a 16-bit number by way of fp32. What does not fit an "
    "integer type, and complex to bool, is not tested."
)
LAYOUT = (
    "Strides are compared. Without `memory_format` (or with preserve_format) a `self` whose elements lie densely and "
    "without overlap keeps its strides; otherwise dimensions keep their order in memory without gaps, and an expanded "
    "`self` gives a contiguous answer. contiguous_format and channels_last do what they say; channels_last needs four "
    "dimensions."
)
BITS = (
    "`self` comes with its conjugate or negative bit, if it has one: `is_conj()`, `is_neg()`. The copy has none. "
    "`self.conj()` is then a view of the plain memory, which `torch.view_as_real` shows as pairs; a kernel that is given a "
    "tensor with the negative bit sees its plain memory."
)


def convertible(
    make: Maker, shape: Sequence[int], dtype: torch.dtype, to: torch.dtype, layout: str = "contiguous"
) -> torch.Tensor:
    """Values of `dtype` whose conversion to `to` is defined: within its range, with zeros among them for bool."""
    real = dtype.is_floating_point
    if to is torch.bool and (real or not dtype.is_complex):
        return make.integers(shape, dtype, low=-2, high=3, layout=layout)
    if real and not to.is_floating_point and not to.is_complex:
        return make.uniform(shape, dtype, low=0.0 if to is torch.uint8 else -100.0, high=100.0, layout=layout)
    if not real and not dtype.is_complex:
        far = to.itemsize >= dtype.itemsize and to not in (torch.float16, torch.bfloat16)
        return make.integers(shape, dtype, low=-1000, high=1000, layout=layout, far=far)
    return make.any(shape, dtype, layout=layout)


def tensor(
    make: Maker,
    shape: Sequence[int],
    dtype: torch.dtype,
    *,
    to: torch.dtype | None = None,
    layout: str = "contiguous",
    permuted: Sequence[int] | None = None,
    bit: str = "",
    kind: str = "",
) -> torch.Tensor:
    """The source of a copy.

    Args:
        make: the source of values.
        shape: its sizes.
        dtype: its type.
        to: the type that it will be converted to.
        layout: one of `LAYOUTS`, `expanded`, or `irregular` (gaps after every dimension).
        permuted: its dimensions in the order in which they lie in memory, densely.
        bit: `conj` for a set conjugate bit, `neg` for the imaginary part of a conjugate.
        kind: `halfway`: doubles just above the middle between two numbers of `to`; `special`: with NaN and infinities.
    """
    if bit == "neg":
        wide = torch.complex128 if dtype is torch.float64 else torch.complex64
        return make.normal(shape, wide, layout=layout).conj().imag
    if kind == "halfway":
        ulp = 2.0**-11 if to is torch.float16 else 2.0**-8
        powers = make.integers(shape, torch.float64, low=-3, high=4).exp2()
        return powers * (1 + ulp + 2.0**-40)
    if permuted is not None:
        dense = convertible(make, [shape[d] for d in permuted], dtype, to or dtype)
        return dense.permute(sorted(range(len(permuted)), key=lambda d: permuted[d]))
    if layout == "irregular":
        return common.strided(make, shape, dtype, gaps(shape))
    made = convertible(make, shape, dtype, to or dtype, layout)
    if kind == "special":
        make.sprinkle(made, (float("nan"), float("inf"), -0.0), share=0.2)
    return made.conj() if bit == "conj" else made


def single(pass_dtype: str = "keyword") -> Callable[..., Call]:
    """A builder of `f(self, …)` with `dtype`, `copy`, `memory_format` and a device where the case gives them.

    Args:
        pass_dtype: how the target type is passed: by `keyword`, by `position`, after a `device`, or as `other`, a tensor.
    """

    def call(
        make: Maker,
        *,
        shape: Sequence[int],
        dtype: torch.dtype,
        to: torch.dtype | None = None,
        copy: bool | None = None,
        memory_format: str = "",
        device: bool = False,
        **source: Any,
    ) -> Call:
        given: dict[str, Any] = {} if copy is None else {"copy": copy}
        if memory_format:
            given["memory_format"] = FORMATS[memory_format]
        if device:
            given["device"] = HERE
        made = tensor(make, shape, dtype, to=to, **source)
        if pass_dtype == "keyword" or to is None:
            return make.call(made, **({"dtype": to} if to is not None else {}), **given)
        if pass_dtype == "other":
            return make.call(made, make.any((2,), to), **given)
        return make.call(made, *((HERE, to) if pass_dtype == "device" else (to,)), **given)

    return call


def single_out(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    to: torch.dtype | None = None,
    out: str = "same",
    memory_format: str = "",
    **source: Any,
) -> Call:
    """`f(self, out=)`; the out has the dtype `to` (default: that of `self`)."""
    given = {"memory_format": FORMATS[memory_format]} if memory_format else {}
    return make.call(
        tensor(make, shape, dtype, to=to, **source), out=out_buffer(make, shape, to or dtype, out), **given
    )


def into(
    make: Maker,
    *,
    shape: Sequence[int],
    to: torch.dtype,
    dtype: torch.dtype,
    src: Sequence[int] | None = None,
    into_layout: str = "contiguous",
    share: str = "",
    **source: Any,
) -> Call:
    """`copy_(self, src)`: `self` of type `to` and layout `into_layout`, `src` of type `dtype`, broadcast from shape `src`.

    `share`: `self` for a copy onto itself, `shifted` for a source that overlaps it in part.
    """
    if share:
        buffer = make.any((shape[0] + 1,), to)
        return make.call(buffer[1:], buffer[1:] if share == "self" else buffer[:-1])
    target = (
        common.strided(make, shape, to, gaps(shape))
        if into_layout == "irregular"
        else make.any(shape, to, layout=into_layout)
    )
    return make.call(target, tensor(make, shape if src is None else src, dtype, to=to, **source))


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape of the same rank; another layout where the case leaves it open."""
    new = common.jitter(rng, params)
    if {"permuted", "memory_format", "kind"} & set(params) or params.get("layout") == "irregular":
        new.pop("layout", None)
    return new


def into_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape of the same rank, from which the source's follows."""
    new = jitter(rng, params)
    if "share" in params:
        new.pop("layout", None)
    if "src" in params:
        src = list(params["src"])
        new["src"] = [
            n if n == 1 else m for n, m in zip(src, new["shape"][len(new["shape"]) - len(src) :], strict=True)
        ]
    return new


LAID: tuple[Params, ...] = (
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (), "dtype": "float32"},
    {"shape": (12, 31), "dtype": "float32", "layout": "transposed"},
    {"shape": (3, 4, 5, 6), "dtype": "float16", "permuted": (2, 0, 3, 1)},
    {"shape": (9, 7, 5), "dtype": "bfloat16", "layout": "sliced"},
    {"shape": (3, 1037), "dtype": "float32", "layout": "dilated"},
    {"shape": (4, 3, 2, 3), "dtype": "float64", "layout": "irregular"},
    {"shape": (4, 17), "dtype": "float32", "layout": "expanded"},
    {"shape": (5, 7), "dtype": "float32", "layout": "offset", "kind": "special"},
    {"shape": (5, 7), "dtype": "complex64", "layout": "transposed"},
    {"shape": (5, 7), "dtype": "complex64", "bit": "conj"},
    {"shape": (5, 7), "dtype": "float32", "bit": "neg"},
)
"""Sources of a copy that keeps the dtype."""

FORMATTED: tuple[Params, ...] = (
    {"shape": (2, 3, 4, 5), "dtype": "float32", "memory_format": "channels_last"},
    {"shape": (2, 3, 4, 5), "dtype": "float16", "permuted": (0, 2, 3, 1), "memory_format": "contiguous"},
    {"shape": (2, 3, 4, 5), "dtype": "float32", "permuted": (0, 2, 3, 1), "memory_format": "channels_last"},
    {"shape": (12, 7), "dtype": "float32", "memory_format": "channels_last", "origin": "beyond"},
)

CONVERTED: tuple[Params, ...] = (
    {"shape": (5, 43), "dtype": "float32", "to": "int32"},
    {"shape": (5, 43), "dtype": "float32", "to": "uint8", "layout": "transposed"},
    {"shape": (5, 43), "dtype": "bfloat16", "to": "int8"},
    {"shape": (5, 43), "dtype": "float32", "to": "bool", "layout": "dilated"},
    {"shape": (43,), "dtype": "float16", "to": "bool", "kind": "special"},
    {"shape": (43,), "dtype": "int64", "to": "bool"},
    {"shape": (5, 43), "dtype": "int64", "to": "uint8"},
    {"shape": (5, 43), "dtype": "int16", "to": "float16"},
    {"shape": (5, 43), "dtype": "bool", "to": "float32", "layout": "expanded"},
    {"shape": (43,), "dtype": "uint8", "to": "int64"},
    {"shape": (43,), "dtype": "float64", "to": "float32"},
    {"shape": (43,), "dtype": "float64", "to": "float16", "kind": "halfway"},
    {"shape": (43,), "dtype": "float64", "to": "bfloat16", "kind": "halfway"},
    {"shape": (5, 7), "dtype": "complex64", "to": "float32"},
    {"shape": (5, 7), "dtype": "complex64", "to": "complex128", "bit": "conj"},
    {"shape": (5, 7), "dtype": "float32", "to": "complex64"},
)
"""Conversions of every kind, the native way of rounding a double to 16 bits among them."""


interface = partial(common.interface, jitter=jitter)
"""See `common.interface`."""
