"""Operators that fill memory with one number, and those that only allocate it: builders, grids and what they share.

A factory without a tensor argument is told its device in every call: `torch.device("cpu")` stands for the device on
which the call will be.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from kgb_gym.operators.aten.families import common
from kgb_gym.operators.aten.families.common import buffer, values
from kgb_gym.operators.aten.families.unary import QUICK_SHAPES, TABLE_10
from kgb_gym.operators.declaration import Call, Exemption, Interface
from kgb_gym.operators.grids import FLOATS, POINTWISE, Params, jitter_shape, pairwise, points, product
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import Policy

POLICY = Policy(allow=frozenset({"alloc", "view", "metadata", "place"}), inputs_only=True)
"""Neither a fill nor a copy that would spread one element: the numbers come from kernels."""

HERE = torch.device("cpu")
PAPER_DTYPES = ("bool", "int16", "int32", "int64", "float16", "float32", "bfloat16", "float64")
FURTHER_DTYPES = ("uint8", "int8", "complex64", "complex128")
FORMATS = {
    "contiguous": torch.contiguous_format, "preserve": torch.preserve_format, "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}  # fmt: skip

NEIGHBOUR = Exemption("neighbour", "the answer does not depend on the values of any tensor")
ZEROS = (Exemption("zeros", "zeros are the answer"), Exemption("scaled", "0.9 times zero is zero"))

DEFAULT_DTYPE = "Without `dtype` the answer has the default floating-point dtype."
NEGATIVE_SIZE = "A negative size is a RuntimeError."
OUT_NOTE = "`out` is brought to the size (it may be of another, have any strides, and keeps its dtype) and returned."
LIKE_DTYPE = "`dtype` and `device` are those of `self` unless given."
LIKE_LAYOUT = (
    "Strides are compared. Without `memory_format` (or with preserve_format) a `self` whose elements lie densely and "
    "without overlap keeps its strides; otherwise dimensions keep their order in memory without gaps, and an expanded "
    "`self` gives a contiguous answer. contiguous_format and channels_last do what they say."
)
NEW_DTYPE = "`dtype` and `device` are those of `self` unless given; the size has nothing to do with `self`."
CONVERTED = (
    "The number is converted to the dtype: towards zero for integers, `!= 0` for bool. One that the dtype cannot hold (a "
    "finite one too large, NaN or an infinity for integers) is a RuntimeError."
)


def no_input(interface: str) -> Exemption:
    """For an interface whose answer is zeros and which has no tensor argument."""
    return Exemption("first_input", "there is no input, and zeros are the answer", interface)


def named(name: str) -> tuple[tuple[str, str], ...]:
    """Overloads with named dimensions, which only older releases of PyTorch have."""
    reason = "named dimensions: not in every release of PyTorch"
    return ((f"{name}.names", reason), (f"{name}.names_out", reason))


def number(value: Any) -> Any:
    """A number as it stands in a grid: complex ones as `[real, imaginary]`, those that JSON lacks by name."""
    if isinstance(value, str):
        return float(value)
    return complex(*value) if isinstance(value, (list, tuple)) else value


def options(dtype: torch.dtype | None, memory_format: str = "", *, device: bool = True) -> dict[str, Any]:
    """The keyword arguments of a factory: only those that the case sets."""
    out: dict[str, Any] = {"device": HERE} if device else {}
    if dtype is not None:
        out["dtype"] = dtype
    if memory_format:
        out["memory_format"] = FORMATS[memory_format]
    return out


def sizes_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape of the same rank."""
    return {**params, "shape": jitter_shape(rng, params["shape"], 2048)}


def sized(make: Maker, *, shape: Sequence[int], dtype: torch.dtype | None = None, value: Any = None) -> Call:
    """`f(size)` or `f(size, value)` with `dtype=` (if given) and `device=`."""
    given = () if value is None else (number(value),)
    return make.call(list(shape), *given, **options(dtype))


def sized_out(make: Maker, *, shape: Sequence[int], dtype: torch.dtype, value: Any = None, out: str = "same") -> Call:
    """`f(size, out=)` or `f(size, value, out=)`."""
    given = () if value is None else (number(value),)
    return make.call(list(shape), *given, out=out_buffer(make, shape, dtype, out))


def scalar(make: Maker, *, value: Any, dtype: torch.dtype | None = None) -> Call:
    """`f(value)` with `dtype=` (if given) and `device=`."""
    return make.call(number(value), **options(dtype))


def scalar_out(make: Maker, *, value: Any, dtype: torch.dtype, size: Sequence[int] = ()) -> Call:
    """`f(value, out=)`."""
    return make.call(number(value), out=make.out(size, dtype))


def value_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another number of the same kind, which every dtype holds."""
    value = params["value"]
    kind = float if isinstance(value, (str, float)) else int
    if isinstance(value, (bool, list)):
        return {**params, "value": value}
    return {**params, "value": kind(rng.randint(1, 100))}


def like_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape of the same rank; another layout where none is asked for."""
    new = common.jitter(rng, params)
    if "permuted" in params or "memory_format" in params:
        new.pop("layout")
    return new


def in_place(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    layout: str = "contiguous",
    strides: Sequence[int] | None = None,
    value: Any = None,
    by: str = "",
    by_dtype: torch.dtype | None = None,
) -> Call:
    """`f(self)` or `f(self, value)`; with `by` the value is a tensor: `0d`, or `1d` of one element."""
    tensor = target(make, shape, dtype, layout, strides)
    if value is None:
        return make.call(tensor)
    if not by:
        return make.call(tensor, number(value))
    return make.call(tensor, make.full(() if by == "0d" else (1,), number(value), by_dtype or dtype))


def gaps(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides that leave gaps in every dimension, so that no two can be walked as one."""
    strides = [2]
    for n in reversed(shape[1:]):
        strides.insert(0, n * strides[0] + 3)
    return tuple(strides)


def out_buffer(make: Maker, shape: Sequence[int], dtype: torch.dtype, kind: str) -> torch.Tensor:
    """What is passed as `out=`: see `common.buffer`, or `irregular`."""
    if kind == "irregular":
        return common.strided(make, shape, dtype, gaps(shape)) if all(shape) else buffer(make, shape, dtype)
    return buffer(make, shape, dtype, kind)


def target(
    make: Maker, shape: Sequence[int], dtype: torch.dtype, layout: str, strides: Sequence[int] | None
) -> torch.Tensor:
    """A tensor to be overwritten, of values other than the answer; `irregular`: gaps after every dimension."""
    if layout == "irregular":
        strides = gaps(shape)
    if strides is not None:
        return common.strided(make, shape, dtype, strides)
    return make.any(shape, dtype, layout=layout)


def like(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    layout: str = "contiguous",
    permuted: Sequence[int] | None = None,
    to: torch.dtype | None = None,
    memory_format: str = "",
    device: bool = False,
) -> Call:
    """`f(self)` with `dtype=`, `memory_format=` and `device=` where given; `permuted`: self's dimensions in memory."""
    return make.call(permuted_tensor(make, shape, dtype, layout, permuted), **options(to, memory_format, device=device))


def like_out(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    layout: str = "contiguous",
    to: torch.dtype | None = None,
    out: str = "same",
) -> Call:
    """`f(self, out=)`; the out may be of another dtype `to`."""
    return make.call(values(make, shape, dtype, layout=layout), out=out_buffer(make, shape, to or dtype, out))


def permuted_tensor(
    make: Maker, shape: Sequence[int], dtype: torch.dtype, layout: str, permuted: Sequence[int] | None
) -> torch.Tensor:
    """A tensor of `shape` in a layout of `LAYOUTS`, or dense with its dimensions in memory in the order `permuted`."""
    if permuted is None:
        return make.any(shape, dtype, layout=layout)
    tensor = make.any([shape[d] for d in permuted], dtype)
    back = sorted(range(len(permuted)), key=lambda d: permuted[d])
    return tensor.permute(back)


def new(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    of: Sequence[int] = (3, 4),
    to: torch.dtype | None = None,
    device: bool = False,
) -> Call:
    """`f(self, size)`: dtype and device of self unless given."""
    return make.call(make.any(of, dtype), list(shape), **options(to, device=device))


def new_out(
    make: Maker, *, shape: Sequence[int], dtype: torch.dtype, of: Sequence[int] = (3, 4), out: str = "same"
) -> Call:
    """`f(self, size, out=)`."""
    return make.call(make.any(of, dtype), list(shape), out=out_buffer(make, shape, dtype, out))


OUTS: tuple[Params, ...] = (
    {"shape": (13, 31), "dtype": "float16"},
    {"shape": (7, 33), "dtype": "float32", "out": "empty"},
    {"shape": (5, 3, 11), "dtype": "bfloat16", "out": "dilated"},
    {"shape": (5, 4, 7), "dtype": "int32", "out": "irregular"},
    {"shape": (9, 5), "dtype": "float32", "out": "sliced"},
    {"shape": (45,), "dtype": "bool"},
    {"shape": (0, 4), "dtype": "float32", "out": "empty"},
)
"""Points of an `out=` interface: resized, not contiguous, empty, of every kind of dtype."""

LIKE: tuple[Params, ...] = (
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (12, 31), "dtype": "float32", "layout": "transposed"},
    {"shape": (3, 4, 5, 6), "dtype": "float16", "permuted": (2, 0, 3, 1)},
    {"shape": (9, 7, 5), "dtype": "bfloat16", "layout": "sliced"},
    {"shape": (3, 7, 5), "dtype": "float32", "layout": "dilated"},
    {"shape": (4, 17), "dtype": "float32", "layout": "expanded"},
    {"shape": (2, 3, 4, 5), "dtype": "float32", "memory_format": "channels_last"},
    {"shape": (2, 3, 4, 5), "dtype": "float32", "permuted": (0, 2, 3, 1), "memory_format": "contiguous"},
    {"shape": (2, 3, 2, 4, 5), "dtype": "float16", "memory_format": "channels_last_3d"},
    {"shape": (12, 7), "dtype": "float32", "layout": "transposed", "to": "int32", "memory_format": "preserve"},
    {"shape": (5, 7), "dtype": "int64", "to": "float64", "device": True},
    *({"shape": (5, 9), "dtype": d} for d in ("bool", "uint8", "int32", "complex64")),
)
"""Layouts that an answer shaped like a tensor must have: dense ones kept, memory formats as asked."""

LIKE_OUTS: tuple[Params, ...] = (
    {"shape": (13, 31), "dtype": "float32", "layout": "transposed"},
    {"shape": (7, 33), "dtype": "float16", "out": "empty"},
    {"shape": (5, 3, 11), "dtype": "bfloat16", "out": "irregular"},
    {"shape": (17, 12), "dtype": "float32", "to": "int32", "out": "transposed"},
    {"shape": (45,), "dtype": "bool", "out": "empty"},
)

LAID: tuple[Params, ...] = (
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (12, 31), "dtype": "float32", "layout": "transposed"},
    {"shape": (9, 7, 5), "dtype": "bfloat16", "layout": "sliced"},
    {"shape": (5, 67), "dtype": "float64", "layout": "offset"},
    {"shape": (3, 417), "dtype": "float16", "layout": "dilated"},
    {"shape": (4, 17), "dtype": "float32", "layout": "expanded", "origin": "beyond"},
    {"shape": (4, 3, 2, 3, 2, 2), "dtype": "int32", "layout": "irregular", "origin": "beyond"},
)
"""Layouts of a tensor that is overwritten: neighbours in its storage must keep their bits."""

STRIDED = tuple({"shape": p["shape"], "dtype": d, "strides": p["strides"]} for p in TABLE_10 for d in FLOATS[1:2])


interface = partial(common.interface, jitter=sizes_jitter)
"""See `common.interface`."""


def likes(name: str) -> tuple[Interface, Interface]:
    """Both interfaces of a function that fills memory like a tensor's with its number."""
    return (
        interface(
            name,
            like,
            paper=(product(shape=POINTWISE, dtype=FLOATS, timed=True), points(*LIKE)),
            quick=(pairwise(shape=QUICK_SHAPES, dtype=FLOATS), points(*LIKE)),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64", "layout": "transposed"}),
            jitter=like_jitter,
        ),
        interface(
            f"{name}.out",
            like_out,
            paper=(points(*LIKE_OUTS),),
            quick=(points(*LIKE_OUTS),),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64", "out": "empty"}),
        ),
    )


UNSPECIFIED = tuple(
    Exemption(canary, "the values are unspecified; sizes, strides, dtype and device are what is asked for")
    for canary in ("zeros", "first_input", "scaled", "neighbour")
)


def strides_of(size: Sequence[int], kind: str) -> list[int]:
    """Strides of one kind.

    Args:
        size: the sizes.
        kind: `contig`; `reversed`: the first dimension innermost; `padded`: two elements between rows; `expanded`: the
            first dimension has stride 0; `overlapping`: every stride is 1; `gaps`: see `gaps`.
    """
    if kind == "overlapping":
        return [1] * len(size)
    if kind == "gaps":
        return list(gaps(size))
    steps, extent = [0] * len(size), 1
    order = range(len(size)) if kind == "reversed" else reversed(range(len(size)))
    for place, dim in enumerate(order):
        steps[dim] = extent
        extent *= max(size[dim], 1)
        extent += 2 if kind == "padded" and place == 0 else 0
    if kind == "expanded":
        steps[0] = 0
    return steps


def laid_out(own: bool) -> Callable[..., Call]:
    """A builder of `f(size, stride, …)`, or with `own` of `f(self, size, stride, …)`.

    The strides are of a `kind` (see `strides_of`) or given; `to` is the dtype that is passed, `out` a buffer.
    """

    def call(
        make: Maker,
        *,
        shape: Sequence[int],
        kind: str = "contig",
        stride: Sequence[int] | None = None,
        dtype: torch.dtype = torch.float32,
        to: torch.dtype | None = None,
        out: str = "",
    ) -> Call:
        steps = strides_of(shape, kind) if stride is None else list(stride)
        first = (make.any((2, 3), dtype),) if own else ()
        if out:
            return make.call(*first, list(shape), steps, out=out_buffer(make, shape, dtype, out))
        return make.call(*first, list(shape), steps, **options(to, device=not own))

    return call


__all__ = ["QUICK_SHAPES"]
