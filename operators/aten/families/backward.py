"""Elementwise gradients: of an output gradient, the forward input and what else the function takes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import FLUSHED, LAYOUTS, buffer, magnitude, suites, values
from kgb_gym.operators.aten.families.common import jitter as jitter_one
from kgb_gym.operators.aten.families.unary import PUBLISHED, QUICK_SHAPES, TABLE_10
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Build, Call, Interface
from kgb_gym.operators.grids import FLOATS, POINTWISE, Params, pairwise, points, product
from kgb_gym.operators.maker import Maker

HALF_NOTE = "16-bit tensors are computed in fp32 and rounded once."


def pair(
    make: Maker,
    shape: Sequence[int],
    dtype: torch.dtype,
    *,
    kind: str = "normal",
    layout: str = "contiguous",
    grad_layout: str = "contiguous",
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of the output and the input of the forward function."""
    return values(make, shape, dtype, "normal", grad_layout), values(make, shape, dtype, kind, layout)


def with_out(build: Build, argument: str) -> Build:
    """The twin of a builder that writes `argument`: parameters `out` (see `common.buffer`) and `out_dtype` join."""

    def call(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
        plain = build(make, **params)
        like: torch.Tensor = plain.args[1]
        return Call(plain.args, {**plain.kwargs, argument: buffer(make, like.shape, out_dtype or like.dtype, out)})

    return call


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: another shape, and both layouts drawn anew."""
    return {**jitter_one(rng, params), "grad_layout": rng.choice(LAYOUTS)}


def interfaces(
    name: str,
    build: Build,
    *,
    out: str = "grad_input",
    casts: bool = True,
    axes: Mapping[str, Sequence[Any]] | None = None,
    fixed: Params | None = None,
    further: Sequence[Params] = (),
    published: Sequence[Sequence[int]] = PUBLISHED,
    special: str = "special",
    integers: bool = False,
    given: Sequence[Params] = (),
) -> tuple[Interface, ...]:
    """The functional interface and the one that writes into a given tensor.

    Args:
        name: the ATen packet.
        build: the functional builder.
        out: the overload and argument that is written; empty: there is none.
        casts: that argument may have another type.
        axes: parameters of the published grid.
        fixed: the same parameters elsewhere.
        further: points for this function; they join every suite but `smoke`.
        published: further shapes of the published grid.
        special: the kind with NaN and infinities that it defines.
        integers: whether integers are left out; if not, one case expects the error.
        given: points for the interface that writes into a given tensor.
    """
    base = dict(fixed or {})
    domain: dict[str, Any] = dict(axes or {})
    awkward = points(
        {"shape": (0, 3), "dtype": "float32", **base},
        {"shape": (3, 17), "dtype": "float16", "layout": "expanded", **base},
        {"shape": (9, 7, 5), "dtype": "bfloat16", "layout": "sliced", "grad_layout": "transposed", **base},
        {"shape": (5, 67), "dtype": "float64", "grad_layout": "dilated", **base},
        {"shape": (13, 12), "dtype": "float32", "layout": "transposed", "grad_layout": "transposed", **base},
        {"shape": (211,), "dtype": "float32", **base, "kind": special},
        *(() if integers else ({"shape": (5,), "dtype": "int32", **base, "origin": "beyond"},)),
        *further,
    )
    written = points(
        {"shape": (13, 31), "dtype": "float32", **base},
        {"shape": (7, 33), "dtype": "float16", "out": "empty", **base},
        {"shape": (5, 3, 11), "dtype": "bfloat16", "out": "dilated", "layout": "transposed", **base},
        {"shape": (17, 12), "dtype": "float32", "out": "transposed", **base},
        {
            "shape": (9, 5),
            "dtype": "float32",
            "out_dtype": "float16",
            **base,
            **({} if casts else {"origin": "beyond"}),
        },
        *(({"shape": (3, 5), "dtype": "float32", "out_dtype": "int64", **base, "origin": "beyond"},) if casts else ()),
        *given,
    )
    smoke = points({"shape": (17,), "dtype": "float32", **base}, {"shape": (3, 5), "dtype": "float16", **base})
    strided = points(*(
        {"shape": p["shape"], "dtype": d, "layout": layout, **base}
        for p in TABLE_10[:3] for d, layout in zip(FLOATS, ("transposed", "dilated", "sliced"), strict=True)
    ))  # fmt: skip
    first = Interface(
        name,
        build,
        suites(
            paper=(product(shape=(*POINTWISE, *published), dtype=FLOATS, **domain, timed=True).where(_sparing(domain)),
                   strided, awkward),
            quick=(pairwise(shape=QUICK_SHAPES[::2] + QUICK_SHAPES[-1:], dtype=FLOATS, **domain), awkward),
            smoke=(smoke,),
        ),
        jitter,
    )  # fmt: skip
    if not out:
        return (first,)
    second = Interface(
        f"{name}.{out}",
        with_out(build, out),
        suites(
            paper=(points(*({"shape": s, "dtype": d, **base} for s in POINTWISE[2:4] for d in FLOATS)), written),
            quick=(written,),
            smoke=(smoke,),
        ),
        jitter,
    )
    return (first, second)


def _sparing(axes: Mapping[str, Sequence[Any]]) -> Any:
    """The largest shape with the first value of each axis only."""
    return lambda p: p["shape"] != list(POINTWISE[4]) or all(p[a] == v[0] for a, v in axes.items())


def of_gradient(arguments: Arguments, slope: torch.Tensor) -> torch.Tensor:
    """|gradient · slope|, and room for subnormal numbers."""
    return magnitude(arguments["grad_output"]) * slope.abs() + FLUSHED
