"""Sorting along one dimension (aten::sort)."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import reduction
from kgb_gym.operators.aten.families.common import buffer, suites, values
from kgb_gym.operators.aten.families.selection import Sorts
from kgb_gym.operators.declaration import Build, Call, Interface, Operator
from kgb_gym.operators.grids import FLOATS, NUMBERS, Grid, pairwise, points, product
from kgb_gym.operators.maker import Maker

_DTYPES = (*FLOATS, "int16", "int32")
_LENGTHS = (1, 256, 2048, 9333, 65536, 32768, 131072, 262144)


def _input(
    make: Maker, shape: Sequence[int], dtype: torch.dtype, layout: str = "contiguous", kind: str = "normal"
) -> torch.Tensor:
    """Kind `few`: whole numbers from -3 to 3, so that most elements have equals."""
    if kind == "few":
        return make.integers(shape, dtype, low=-3, high=4, layout=layout)
    return values(make, shape, dtype, kind, layout)


def _plain(make: Maker, *, dim: int | None = None, descending: bool | None = None, **params: Any) -> Call:
    """`f(self[, dim[, descending]])`."""
    args: tuple[Any, ...] = () if dim is None else (dim,)
    if descending is not None:
        args = (*(args or (-1,)), descending)
    return make.call(_input(make, **params), *args)


def _stable(make: Maker, *, stable: bool | None, dim: int, descending: bool = False, **params: Any) -> Call:
    """`f(self, *, stable=, dim=, descending=)`."""
    return make.call(_input(make, **params), stable=stable, dim=dim, descending=descending)


def _with_out(build: Build) -> Build:
    """The twin that writes `values` and `indices`; parameters `out`, `out_dtype` and `indices_dtype` join."""

    def call(
        make: Maker,
        *,
        out: str = "same",
        out_dtype: torch.dtype | None = None,
        indices_dtype: torch.dtype = torch.int64,
        **params: Any,
    ) -> Call:
        plain = build(make, **params)
        shape = plain.args[0].shape
        outs = {
            "values": buffer(make, shape, out_dtype or params["dtype"], out),
            "indices": buffer(make, shape, indices_dtype, out),
        }
        return Call(plain.args, {**plain.kwargs, **outs})

    return call


def _jitter(rng: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    new = reduction.jitter(rng, params)
    new.pop("indices_dtype", None)
    return new


_PLAIN = points(
    {"shape": (), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (5, 40), "dtype": "float32"},
    {"shape": (40, 5), "dtype": "float16", "dim": 0, "descending": True},
    {"shape": (3, 9, 5), "dtype": "bfloat16", "dim": -2, "layout": "transposed"},
    {"shape": (4, 33), "dtype": "int64", "dim": 1, "kind": "few", "layout": "dilated"},
    {"shape": (3, 5), "dtype": "float32", "dim": 2, "origin": "beyond"},
)
_STABLE = points(
    {"shape": (), "dtype": "int32", "dim": 0, "stable": True},
    {"shape": (3, 0), "dtype": "float32", "dim": 1, "stable": True},
    {"shape": (7, 61), "dtype": "float32", "dim": 1, "stable": True, "kind": "special"},
    {"shape": (61, 7), "dtype": "float16", "dim": 0, "stable": True, "kind": "special", "descending": True},
    {"shape": (5, 31), "dtype": "float64", "dim": -1, "stable": True, "kind": "special", "layout": "sliced"},
    {"shape": (2, 300), "dtype": "bool", "dim": 1, "stable": True},
    {"shape": (2, 300), "dtype": "uint8", "dim": 1, "stable": True, "descending": True},
    {"shape": (3, 520), "dtype": "bfloat16", "dim": 1, "stable": True, "kind": "few", "descending": True},
    {"shape": (300, 3), "dtype": "float32", "dim": 0, "stable": True, "kind": "few", "layout": "offset"},
    {"shape": (2, 127), "dtype": "int64", "dim": 1, "stable": True, "descending": True},
    {"shape": (2, 129), "dtype": "float64", "dim": 1, "stable": True},
    {"shape": (4, 50), "dtype": "float32", "dim": 1, "stable": False, "kind": "few"},
    {"shape": (4, 50), "dtype": "int8", "dim": 1, "stable": None, "descending": True},
    {"shape": (1, 1037), "dtype": "int16", "dim": 1, "stable": True},
)
_OUT = points(
    {"shape": (9, 33), "dtype": "float32", "dim": 1},
    {"shape": (33, 9), "dtype": "float16", "dim": 0, "descending": True, "out": "empty"},
    {"shape": (4, 30), "dtype": "int32", "out": "transposed", "dim": -1},
    {"shape": (4, 5), "dtype": "float32", "dim": 1, "out_dtype": "float64", "origin": "beyond"},
)
_STABLE_OUT = points(
    {"shape": (9, 33), "dtype": "float32", "dim": 1, "stable": True, "kind": "few"},
    {"shape": (9, 33), "dtype": "bfloat16", "dim": 0, "stable": True, "descending": True, "out": "empty"},
    {"shape": (4, 30), "dtype": "int16", "dim": 1, "stable": True, "out": "dilated"},
    {"shape": (4, 5), "dtype": "float32", "dim": 1, "stable": True, "indices_dtype": "int32", "origin": "beyond"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32"}, {"shape": (9, 4), "dtype": "int32", "dim": 0})
_SMOKE_STABLE = points(
    {"shape": (3, 17), "dtype": "float32", "dim": 1, "stable": True},
    {"shape": (9, 4), "dtype": "int32", "dim": 0, "stable": True},
)


def _interface(name: str, build: Build, smoke: Grid, quick: Sequence[Grid], *paper: Grid) -> Interface:
    return Interface(name, build, suites(paper=(*paper, *quick[-1:]), quick=quick, smoke=(smoke,)), _jitter)


OPERATOR = Operator(
    source="aten",
    name="sort",
    interfaces=(
        _interface(
            "sort",
            _plain,
            _SMOKE,
            (_PLAIN,),
            product(shape=((8, 9333), (4, 65536)), dtype=_DTYPES, dim=(-1,), descending=(False, True), origin="extra"),
        ),
        _interface(
            "sort.stable",
            _stable,
            _SMOKE_STABLE,
            (
                pairwise(shape=((4, 1), (8, 70)), dtype=_DTYPES, descending=(True, False), dim=(0, -1), stable=(True,)),
                _STABLE,
            ),
            product(
                shape=tuple((batch, length) for batch in (4, 8) for length in _LENGTHS),
                dtype=_DTYPES,
                descending=(True, False),
                dim=(0, -1),
                stable=(True,),
                timed=True,
            ),
        ),
        _interface("sort.values", _with_out(_plain), _SMOKE, (_OUT,)),
        _interface("sort.values_stable", _with_out(_stable), _SMOKE_STABLE, (_STABLE_OUT,)),
    ),
    compare=Sorts(),
    description="The elements along `dim` in ascending (or descending) order, and the int64 positions they come from.",
    notes=(
        "NaN counts as larger than everything: last in ascending order, first in descending. Zeros of both signs are equal.",
        "With `stable=True` equal elements keep their order, in descending order too; else any order of them is right.",
        "`values` and `indices` of a wrong shape are resized; of a wrong type they are an error.",
        "A `dim` out of range is an IndexError.",
    ),
    left_out=(
        ("sort.dimname", "PyTorch dropped named-dimension overloads"),
        ("sort.dimname_stable", "PyTorch dropped named-dimension overloads"),
        ("sort.dimname_values", "PyTorch dropped named-dimension overloads"),
        ("sort.dimname_values_stable", "PyTorch dropped named-dimension overloads"),
        ("sort.int", "TorchScript builtin: not in the dispatcher"),
        ("sort.float", "TorchScript builtin: not in the dispatcher"),
        ("sort.Tensor", "TorchScript builtin: not in the dispatcher"),
        ("sort.bool", "TorchScript builtin: not in the dispatcher"),
        ("sort.str", "TorchScript builtin: not in the dispatcher"),
        ("sort.any", "TorchScript builtin: not in the dispatcher"),
    ),
    usual=NUMBERS,
    family="sort",
)
