"""Operators that return an alias of their input: builders, grids and jitters."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import interface, jitter, strided, values
from kgb_gym.operators.aten.families.factories import gaps, out_buffer
from kgb_gym.operators.declaration import Build, Call, Exemption, Interface
from kgb_gym.operators.grids import DTYPES, FLOATS, POINTWISE, Grid, Params, jitter_shape, product
from kgb_gym.operators.maker import Maker

ALL_DTYPES = tuple(d for d in DTYPES if not d.startswith("float8"))
FURTHER_DTYPES = ("bool", "uint8", "int64", "float64", "complex64")

ALIAS = "Sizes, strides and storage offset are compared; the answer shares the memory of `self`, and a copy is wrong."
BITS = "A tensor whose conjugate or negative bit is set gives a view with the same bit."
SAME_VALUES = Exemption("first_input", "its values are the right ones; that a copy is wrong, the contract says")


def build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    contiguous: bool = True,
    layout: str = "contiguous",
    strides: Sequence[int] | None = None,
) -> Call:
    """`f(self)`; not `contiguous`: every second column of a wider tensor."""
    if strides is not None:
        return make.call(strided(make, shape, dtype, strides))
    return make.call(values(make, shape, dtype, layout=layout if contiguous else "dilated"))


def source(make: Maker, shape: Sequence[int], dtype: torch.dtype, layout: str, bit: str = "") -> torch.Tensor:
    """The tensor to be viewed, in one of `LAYOUTS`, `expanded` or `irregular` (gaps after every dimension).

    `bit`: `conj` (complex dtypes) or `neg` (the imaginary part of a conjugate).
    """
    if bit == "neg":
        return source(make, shape, torch.complex128 if dtype is torch.float64 else torch.complex64, layout, "conj").imag
    gapped = layout == "irregular"
    tensor = strided(make, shape, dtype, gaps(shape)) if gapped else make.any(shape, dtype, layout=layout)
    return tensor.conj() if bit == "conj" else tensor


def with_arguments(*names: str) -> Any:
    """A builder of `f(self, …)` that passes the parameters of these names; lists as lists."""

    def call(
        make: Maker,
        *,
        shape: Sequence[int],
        dtype: torch.dtype,
        layout: str = "contiguous",
        bit: str = "",
        **given: Any,
    ) -> Call:
        arguments = [given.get(n) for n in names]
        plain = [list(a) if isinstance(a, tuple) else a for a in arguments]
        return make.call(source(make, shape, dtype, layout, bit), *plain)

    return call


as_strided = with_arguments("size", "stride", "offset")
expand = with_arguments("size")
narrow = with_arguments("dim", "start", "length")
select = with_arguments("dim", "index")
unsqueeze = with_arguments("dim")
plain = with_arguments()


def reshape(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    size: Sequence[int],
    layout: str = "contiguous",
    bit: str = "",
    permuted: Sequence[int] | None = None,
) -> Call:
    """`f(self, size)`; `permuted`: the dimensions of `self` in the order in which they lie in memory."""
    if permuted is None:
        return make.call(source(make, shape, dtype, layout, bit), list(size))
    tensor = make.any([shape[d] for d in permuted], dtype)
    return make.call(tensor.permute(sorted(range(len(shape)), key=lambda d: permuted[d])), list(size))


def expand_as(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    size: Sequence[int],
    layout: str = "contiguous",
    bit: str = "",
    other: torch.dtype = torch.float32,
) -> Call:
    """`f(self, other)` with an `other` of shape `size`."""
    return make.call(source(make, shape, dtype, layout, bit), make.any(size, other))


def narrow_tensor(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    dim: int,
    start: int,
    length: int,
    layout: str = "contiguous",
    start_dtype: torch.dtype = torch.int64,
    start_shape: Sequence[int] = (),
) -> Call:
    """`f(self, dim, start, length)` with `start` as a tensor."""
    return make.call(make.any(shape, dtype, layout=layout), dim, make.full(start_shape, start, start_dtype), length)


def split(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    split: Sequence[int] | int,
    dim: int = 0,
    layout: str = "contiguous",
) -> Call:
    """`f(self, split, dim)`; `split` is a size or a list of sizes."""
    return make.call(make.any(shape, dtype, layout=layout), list(split) if isinstance(split, tuple) else split, dim)


def split_out(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    split: Sequence[int] | int,
    dim: int = 0,
    layout: str = "contiguous",
    out: str = "same",
) -> Call:
    """`f(self, split, dim, out=[…])` with a buffer for every piece."""
    size = shape[dim]
    if isinstance(split, int):
        lengths = [min(split, size - start) for start in range(0, size, split)] or [0]
    else:
        lengths = list(split)
    outs = []
    for length in lengths:
        piece = list(shape)
        piece[dim] = length
        outs.append(out_buffer(make, piece, dtype, out))
    plain_split = split if isinstance(split, int) else list(split)
    return make.call(make.any(shape, dtype, layout=layout), plain_split, dim, out=outs)


def expand_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Other sizes under the same pattern of kept, expanded and new dimensions."""
    shape, size = list(params["shape"]), list(params["size"])
    lead = len(size) - len(shape)
    if lead < 0:
        return dict(params)
    size[:lead] = [n if n < 0 else rng.randint(2, 9) for n in size[:lead]]
    for dim, n in enumerate(shape):
        if size[lead + dim] == n:
            shape[dim] = size[lead + dim] = rng.randint(2, 20)
        elif size[lead + dim] == -1:
            shape[dim] = rng.randint(2, 20)
        elif n == 1:
            size[lead + dim] = rng.randint(2, 9)
    return {**params, "shape": shape, "size": size}


def place_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape of at least one dimension, and another place in it: `index`, or `start` and `length`."""
    new = jitter(rng, params)
    if not new["shape"]:
        new["shape"] = [rng.randint(3, 30)]
    new["dim"] = rng.randrange(-len(new["shape"]), len(new["shape"]))
    size = new["shape"][new["dim"]]
    if "index" in new:
        new["index"] = rng.randrange(-size, size)
    if "start" in new:
        new["length"] = rng.randint(1, size)
        new["start"] = rng.randint(0, size - new["length"])
        new.pop("start_shape", None)
    return new


def strided_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another geometry, over a vector that it fits into."""
    size = jitter_shape(rng, params["size"], 2048)
    stride = (
        [s + rng.randint(0, 2) for s in params["stride"]] if len(params["stride"]) == len(size) else [1] * len(size)
    )
    offset = rng.randint(0, 9)
    extent = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    return {"shape": [extent + 3], "dtype": params["dtype"], "size": size, "stride": stride, "offset": offset}


def reshape_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Other sizes, brought into another shape that they fit."""
    new = jitter(rng, params)
    if "permuted" in params:
        new.pop("layout")
    shape = new["shape"]
    count = 1
    for n in shape:
        count *= n
    new["size"] = rng.choice([[-1], [count], list(reversed(shape)), [1, *shape[1:], shape[0]] if shape else [1]])
    return new


def split_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Other sizes: as many pieces as before of a list, else another size of pieces."""
    new = jitter(rng, {**params, "shape": params["shape"] or [rng.randint(2, 30)]})
    dim = params.get("dim", 0)
    if isinstance(params["split"], list):
        new["split"] = [rng.randint(0, 5) for _ in params["split"]]
        new["shape"][dim] = sum(new["split"])
    else:
        new["split"] = rng.randint(1, 2 * new["shape"][dim])
    return new


def together(names: str, values: Sequence[Any]) -> dict[str, Any]:
    """An axis that sets several parameters at once, for `product`."""
    return {names: values}


def published_strided(dtypes: Sequence[str]) -> tuple[Params, ...]:
    """Views over a base tensor as the published tests take them: whole, transposed, subsampled, cropped, reshaped."""
    found: list[tuple[Sequence[int], Sequence[int], Sequence[int], int]] = []
    for m, n in ((2, 3), (128, 256), (512, 512)):
        found += [
            ((m, n), (m, n), (n, 1), 0),
            ((m, n), (n, m), (1, n), 0),
            ((m, n), (m // 2, n // 2), (2 * n, 2), 0),
            ((m, n), (m - 1, n - 1), (n, 1), n + 1),
            ((m, n), (n, m), (m, 1), 0),
        ]
    for n in (6, 64, 1024):
        found += [
            ((n,), (n,), (1,), 0),
            ((n,), (n // 2,), (2,), 0),
            ((n,), (n - 1,), (1,), 1),
            ((n,), (2, n // 2), (n // 2, 1), 0),
        ]
    for a, b, c in ((2, 3, 4), (8, 16, 8), (16, 32, 16)):
        found += [
            ((a, b, c), (a, b, c), (b * c, c, 1), 0),
            ((a, b, c), (a, c, b), (b * c, 1, c), 0),
            ((a, b, c), (b, c), (c, 1), b * c),
            ((a, b, c), (a, b, c // 2), (b * c, c, 2), 0),
        ]
    return tuple(
        {"shape": base, "size": size, "stride": stride, "offset": offset, "dtype": d}
        for base, size, stride, offset in found
        for d in dtypes
    )


_EXPANDED = together(
    "shape,size",
    (((1,), (8,)), ((1, 16), (8, 16)), ((1, 1, 32), (4, 8, 32)), ((16, 1), (16, 32)), ((1, 16, 1), (8, 16, 32))),
)


def expansion(name: str, build: Build, further: Grid) -> Interface:
    """The interface of a function that broadcasts, with its own `further` cases."""
    return interface(
        name,
        build,
        paper=(product(**_EXPANDED, dtype=FLOATS, timed=True), further),
        quick=(product(**_EXPANDED, dtype=("float32",)), further),
        smoke=(
            {"shape": (3, 1), "dtype": "float32", "size": (3, 4)},
            {"shape": (5, 1), "dtype": "float16", "layout": "offset", "size": (2, 5, 6)},
        ),
        jitter=expand_jitter,
    )


def resolution(name: str, dtype: str, bit: str, further: Grid) -> Interface:
    """The interface of a function that carries out a view's `bit`, with its own `further` cases."""
    return interface(
        name,
        plain,
        paper=(product(shape=POINTWISE[1:], dtype=(dtype,), bit=(bit,), timed=True), further),
        quick=(product(shape=((1,), (23, 41), (4, 16, 15)), dtype=(dtype,), bit=(bit,)), further),
        smoke=(
            {"shape": (7, 5), "dtype": dtype, "bit": bit},
            {"shape": (9,), "dtype": "float32", "layout": "offset"},
        ),
        jitter=jitter,
    )
