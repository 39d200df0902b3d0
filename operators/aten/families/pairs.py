"""Elementwise functions of two operands without `alpha`: products, quotients, comparisons and their kin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import binary
from kgb_gym.operators.aten.families.binary import (
    ALPHAS,
    QUICK_SHAPES,
    same,
    scalar_tensor,
    tensor_scalar,
    tensor_tensor,
    with_out,
)
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.unary import TABLE_10
from kgb_gym.operators.declaration import Build, Interface, Jitter
from kgb_gym.operators.grids import FLOATS, POINTWISE, Grid, Params, pairwise, points, product

PROMOTION_NOTE = "Operands promote as in PyTorch: see `torch.result_type`."
HALF_NOTE = "16-bit operands are computed in fp32 and rounded once."
OUT_NOTE = "`out` may have another type to which the answer's can be cast; if it can't be, RuntimeError."
IN_PLACE_NOTES = (
    "The operands' common type must be castable to that of `self` (RuntimeError).",
    "`self` may not grow by broadcasting, and may not overlap itself (an expanded tensor): RuntimeError.",
    "Both operands may be the same tensor.",
)

_SCALAR_QUICK: tuple[Params, ...] = ({"shape": (), "dtype": "float32"}, {"shape": (23, 41), "dtype": "float16"}, {"shape": (4, 16, 15), "dtype": "bfloat16"})  # fmt: skip


def _sparing(grid: Grid) -> Grid:
    """The largest shape with one rounding mode only."""
    return grid.where(lambda p: p["shape"] != list(POINTWISE[4]) or p.get("mode") in (None, "floor"))


def tensors(
    name: str,
    *,
    kinds: Params | None = None,
    further: Sequence[Params] = (),
    mixed: bool = True,
    integers: bool = True,
    axes: Mapping[str, Sequence[Any]] | None = None,
    fixed: Params | None = None,
    dtypes: Sequence[str] = FLOATS,
    published: Sequence[Sequence[int]] = (),
    few: bool = False,
    brief: bool = False,
    finest: Params | None = None,
) -> Interface:
    """The functional interface of two tensors.

    Args:
        name: its overload.
        kinds: `kind` and `other_kind` within the domain.
        further: points of this function; they join every suite but `smoke`.
        mixed: whether operands of different types promote.
        integers: whether integers are accepted.
        axes: parameters of the published grid.
        fixed: the same parameters elsewhere.
        dtypes: the published grid's types.
        published: further shapes of the published grid.
        few: one shape in `quick`, for operators of many interfaces.
        brief: leave out of `quick` the awkward operands that another interface of the operator has.
        finest: the kinds of the case in fp64, if others.
    """
    base = {**(kinds or {}), **(fixed or {})}
    domain: dict[str, Any] = {**{k: (v,) for k, v in (kinds or {}).items()}, **(axes or {})}
    awkward = points(
        {"shape": (0, 3), "dtype": "float32", **base},
        {"shape": (5, 1, 7), "dtype": "float32", "other": (6, 1), "layout": "transposed", **base},
        {"shape": (9, 31), "dtype": "bfloat16", "other": (31,), "other_layout": "dilated", **base},
        *(
            (
                {"shape": (8, 33), "dtype": "float16", "other_dtype": "float32", "other_layout": "transposed", **base},
                {"shape": (57,), "dtype": "float16", "other": (), "other_dtype": "float32", **base},
            )
            if mixed
            else ()
        ),
        *(({"shape": (7, 19), "dtype": "int32", "other_dtype": "float32", **base},) if mixed and integers else ()),
        *(({"shape": (77,), "dtype": "int64", **base},) if integers else ()),
        {"shape": (5, 21), "dtype": "float64", "layout": "sliced", **base, **(finest or {})},
        {"shape": (10, 10), "dtype": "float32", "kind": "rows", "other_kind": "columns", **(fixed or {})},
        {"shape": (3,), "dtype": "float32", "other": (2,), **base, "origin": "beyond"},
        *further,
    )
    short = awkward.where(lambda p: p["shape"] in ([0, 3], [5, 1, 7], [10, 10]) or p in points(*further).points)
    smoke = points({"shape": (17,), "dtype": "float32", **base}, {"shape": (3, 5), "dtype": "float16", **base})
    return Interface(
        name,
        tensor_tensor,
        suites(
            paper=(
                _sparing(product(shape=(*POINTWISE, *published), dtype=dtypes, **domain, timed=True)),
                points(*({"shape": p["shape"], "dtype": d, "layout": layout, **base} for p in TABLE_10[:3] for d, layout
                         in zip(FLOATS, ("transposed", "dilated", "sliced"), strict=True))),
                awkward,
            ),
            quick=(pairwise(shape=QUICK_SHAPES[-1:] if few else QUICK_SHAPES, dtype=dtypes, **domain), short if brief else awkward),
            smoke=(smoke,),
        ),
        binary.jitter,
    )  # fmt: skip


def number(
    name: str,
    *,
    kind: str = "normal",
    scalars: Sequence[float] = ALPHAS,
    further: Sequence[Params] = (),
    axes: Mapping[str, Sequence[Any]] | None = None,
    fixed: Params | None = None,
    first: bool = False,
    few: bool = False,
) -> Interface:
    """The functional interface of a tensor and a number (or, if `first`, of a number and a tensor).

    With `few` there is one case less in `quick`.
    """
    base: dict[str, Any] = {**({"kind": kind} if kind != "normal" else {}), **(fixed or {})}
    domain: dict[str, Any] = {**({"kind": (kind,)} if kind != "normal" else {}), **(axes or {})}
    chosen = points(
        *({**p, "scalar": s, **base} for p, s in zip(_SCALAR_QUICK[few:], scalars, strict=False)), origin="paper"
    )  # fmt: skip
    smoke = points({"shape": (17,), "dtype": "float32", "scalar": scalars[0], **base},
                   {"shape": (5,), "dtype": "float16", "scalar": scalars[1], **base})  # fmt: skip
    return Interface(
        name,
        scalar_tensor if first else tensor_scalar,
        suites(
            paper=(
                _sparing(product(shape=POINTWISE, dtype=FLOATS, scalar=scalars, **domain, timed=True)),
                points(*further),
            ),
            quick=(chosen, points(*further)),
            smoke=(smoke,),
        ),
        binary.jitter,
    )


def out(
    name: str,
    build: Build,
    *,
    base: Params | None = None,
    promotes: Callable[[torch.dtype], torch.dtype] = same,
    casts: bool = True,
    broadcasts: bool = True,
    few: bool = False,
    further: Sequence[Params] = (),
) -> Interface:
    """The `out=` twin of a builder.

    Args:
        name: its overload.
        build: the functional builder.
        base: parameters of every case.
        promotes: the answer's type, of the operands' common one.
        casts: `out` may have another type; if not, one case expects the error.
        broadcasts: whether there are two tensors.
        few: leave out what another interface of the operator tests as well.
        further: points for this function.
    """
    given = base or {}
    wide = {"other": (5, 33)} if broadcasts else {}
    answers = [
        {"shape": (12, 31), "dtype": "float32", **given},
        {"shape": (5, 1), "dtype": "float16", "out": "empty", **wide, **given},
        {"shape": (3, 7, 11), "dtype": "bfloat16", "out": "dilated", "layout": "transposed", **given},
    ]
    if casts:
        answers.append({"shape": (9, 15), "dtype": "float32", "out": "transposed", "out_dtype": "float16", **given})
    cases = points(*(answers[1:] if few else answers), *further)
    smoke = points({"shape": (17,), "dtype": "float32", **given}, {"shape": (3, 5), "dtype": "float16", **given})
    return Interface(
        name,
        with_out(build, promotes),
        suites(
            paper=(points(*({"shape": s, "dtype": d, **given} for s in POINTWISE[2:5] for d in FLOATS)), cases),
            quick=(cases,),
            smoke=(smoke,),
        ),
        binary.jitter,
    )


def written(
    name: str,
    *,
    with_number: bool = False,
    kinds: Params | None = None,
    axes: Mapping[str, Sequence[Any]] | None = None,
    fixed: Params | None = None,
    scalars: Sequence[float] = ALPHAS,
    further: Sequence[Params] = (),
    brief: bool = False,
) -> Interface:
    """An in-place interface: of two tensors, or of a tensor and a number; `brief` as for `tensors`."""
    base = {**(kinds or {}), **(fixed or {})}
    domain: dict[str, Any] = {**{k: (v,) for k, v in (kinds or {}).items()}, **(axes or {})}
    jitter: Jitter = binary.no_internal_overlap
    if with_number:
        twin = number(name, kind=base.get("kind", "normal"), scalars=scalars, further=further, axes=axes, fixed=fixed)
        return Interface(name, tensor_scalar, twin.grids, jitter)
    awkward = points(
        {"shape": (0, 3), "dtype": "float32", **base},
        {"shape": (5, 6, 7), "dtype": "float32", "other": (6, 1), "layout": "transposed", **base},
        {"shape": (9, 31), "dtype": "bfloat16", "other": (31,), "layout": "sliced", **base},
        {"shape": (8, 33), "dtype": "float16", "other_dtype": "float32", "layout": "dilated", **base},
        {"shape": (5, 21), "dtype": "float64", "layout": "offset", **base},
        {"shape": (10, 10), "dtype": "float32", "kind": "rows", "other_kind": "columns", **(fixed or {})},
        {"shape": (3,), "dtype": "float32", "other": (2, 3), **base, "origin": "beyond"},
        {"shape": (3, 5), "dtype": "float32", "layout": "expanded", **base, "origin": "beyond"},
        *further,
    )
    short = awkward.where(lambda p: p["shape"] in ([5, 6, 7], [10, 10]) or p in points(*further).points)
    smoke = points({"shape": (17,), "dtype": "float32", **base}, {"shape": (3, 5), "dtype": "float16", **base})
    return Interface(
        name,
        tensor_tensor,
        suites(
            paper=(
                _sparing(product(shape=POINTWISE, dtype=FLOATS, **domain, timed=True)),
                points(*({"shape": p["shape"], "dtype": d, "layout": layout, **base} for p in TABLE_10[:3] for d, layout
                         in zip(FLOATS, ("transposed", "dilated", "sliced"), strict=True))),
                awkward,
            ),
            quick=(pairwise(shape=QUICK_SHAPES[-1:], dtype=FLOATS, **domain), short if brief else awkward),
            smoke=(smoke,),
        ),
        jitter,
    )  # fmt: skip
