"""From the table of C parameters to a declaration: what all families of routines share."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.compare import Comparison
from kgb_gym.operators.cublas.families import buffers
from kgb_gym.operators.cublas.library import parameters
from kgb_gym.operators.declaration import Build, Interface, Jitter, Operator
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.policy import Policy

TYPES = {
    "op": "str", "e": "int", "i": "int", "l": "int", "p": "torch.Tensor", "r": "torch.Tensor",
    "P": "list[torch.Tensor]", "h": "float", "s": "float", "d": "float", "c": "complex", "z": "complex",
}  # fmt: skip
"""Python types of the library's kinds of parameters."""

INCREMENTS = (1, 2, 3, -1, -2)

CHOICES: dict[str, Sequence[Any]] = {
    "incx": (*INCREMENTS, 4, -3), "incy": (*INCREMENTS, 4, -3), "layout": buffers.LAYOUTS, "pad": (1, 2, 3, 4, 5, 6),
    "uplo": (0, 1), "side": (0, 1), "diag": (0, 1), "mode": (0, 1), "batchCount": (1, 2, 3), "gap": (1, 2, 4, 7, 9),
    "shared": ("", "A"), "trans": "NTC", "transa": "NTC", "transb": "NTC", "values": ("normal",),
}  # fmt: skip
"""What a hidden case may have for a parameter that is no size and no scalar."""

COLUMNS = (
    "A matrix is a one-dimensional buffer, column-major: element (i, j) is at index i + j*ld. Leading dimensions may "
    "exceed the rows, and buffers may be longer than the matrices; the elements in between hold NaN where they may only "
    "be read, and must keep their bits where they may be written."
)
VECTORS = (
    "A vector is a one-dimensional buffer: element i is at index i*inc for inc > 0 and at (i - (n-1))*inc for inc < 0, n "
    "being its length. Elements in between and behind hold NaN where they may only be read, and must keep their bits "
    "where they may be written."
)
TRIANGLES = "uplo is 0 for the lower and 1 for the upper triangle, counted in rows and columns of the matrix."
OPERATIONS = (
    "trans is 0 for op(A) = A, 1 for its transpose and 2 for its conjugate transpose (the same for real types)."
)
DIAGONAL = "diag is 0, or 1 for a unit diagonal: then the stored diagonal is not read and may hold NaN."
IEEE = "All arithmetic is IEEE fp32: TF32 or half-precision products are wrong."
LISTS = (
    "Where C has an array of pointers, here is a list of tensors, anywhere in memory; the same tensor may stand in a list "
    "of inputs more than once. A list may be longer than batchCount: the tensors behind are left alone. batchCount = 0: "
    "nothing is written."
)


def signature(name: str) -> str:
    """The routine as a Python function of the same parameters, without the handle."""
    pairs = zip(*parameters(name), strict=True)
    return f"{name}({', '.join(f'{n}: {TYPES[kind]}' for n, kind in pairs)}) -> None"


def declare(
    name: str, *, build: Build, oracle: Callable[..., Mapping[str, Any]], touched: Callable[..., Mapping[str, Any]] | None,
    writes: tuple[str, ...], grids: Mapping[str, tuple[Grid, ...]], jitter: Jitter, compare: Comparison,
    description: str, notes: Sequence[str], family: str, policy: Policy | None = None,
) -> Operator:  # fmt: skip
    """The operator of one routine; the routine is its only interface."""
    interface = Interface(
        name=name, build=build, grids=grids, jitter=jitter, writes=writes, signature=signature(name),
        returns_written=True, touched=touched, oracle=oracle,
    )  # fmt: skip
    return Operator(
        source="cublas", name=name.removeprefix("cublas"), interfaces=(interface,), compare=compare,
        description=description, notes=tuple(notes), policy=policy or Policy(), family=family,
    )  # fmt: skip


def jitter(*names: str, **choices: Sequence[Any]) -> Jitter:
    """Changes the named parameters: sizes (m, n, k) a little, scalars freely, the others among `CHOICES` or the ones
    given here."""

    def change(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
        changed = dict(params)
        for name in (*names, *choices):
            if name in choices:
                changed[name] = rng.choice(choices[name])
            elif name in ("m", "n", "k"):
                changed[name] = buffers.jitter_size(rng, params[name])
            elif name in ("alpha", "beta"):
                changed[name] = buffers.jitter_scalar(rng, params["dtype"])
            else:
                changed[name] = rng.choice(CHOICES[name])
        return changed

    return change


def item_of(arguments: Mapping[str, Any], item: int | None = None) -> dict[str, Any]:
    """One item of a batched call as the arguments of the call without a batch: lists of tensors by their `item`; None:
    the lists stand for one item already."""
    out = {}
    for name, value in arguments.items():
        if name not in ("batchCount", "outputs"):
            out[name.removesuffix("array")] = value if item is None or not isinstance(value, list) else value[item]
    return out


def each(
    arguments: Mapping[str, Any], name: str, one: Callable[..., Any], rest: Callable[[torch.Tensor], Any]
) -> list[Any]:  # fmt: skip
    """For every tensor of the written list: `one` of its item's arguments, or `rest` of the tensor behind the batch."""
    return [
        one(**item_of(arguments, i)) if i < arguments["batchCount"] else rest(tensor)
        for i, tensor in enumerate(arguments[name])
    ]


def untouched(tensor: torch.Tensor) -> torch.Tensor:
    """The mask of a tensor that may not be written."""
    return torch.zeros(tensor.shape, dtype=torch.bool)
