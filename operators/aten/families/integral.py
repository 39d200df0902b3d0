"""Elementwise functions of one tensor of integers or bools."""

from __future__ import annotations

from functools import partial

from kgb_gym.operators.aten.families.common import INTEGERS, jitter, suites
from kgb_gym.operators.aten.families.unary import QUICK_SHAPES, TABLE_10, build, build_out, kept
from kgb_gym.operators.declaration import Interface
from kgb_gym.operators.grids import POINTWISE, pairwise, points, product

TYPES = ("int16", "int32", "bool")
"""The published grid's types."""


def unary(name: str) -> tuple[Interface, ...]:
    """The functional and the `out=` interface of a function that keeps its input's type."""
    layouts = ("contiguous", "transposed", "dilated")
    awkward = points(
        {"shape": (0, 3), "dtype": "int32"},
        {"shape": (3, 17), "dtype": "int16", "layout": "expanded"},
        {"shape": (9, 7, 5), "dtype": "int64", "layout": "sliced"},
        {"shape": (5, 67), "dtype": "uint8", "layout": "offset"},
        {"shape": (300,), "dtype": "int8"},
        {"shape": (5,), "dtype": "float32", "origin": "beyond"},
    )
    out = points(
        {"shape": (13, 31), "dtype": "int32"},
        {"shape": (7, 33), "dtype": "int16", "out": "empty"},
        {"shape": (5, 3, 11), "dtype": "bool", "out": "dilated", "layout": "transposed"},
        {"shape": (17, 12), "dtype": "int64", "out": "transposed"},
        {"shape": (3, 5), "dtype": "int32", "out_dtype": "int64", "origin": "beyond"},
    )
    smoke = points({"shape": (17,), "dtype": "int32"}, {"shape": (3, 5), "dtype": "bool"})
    return (
        Interface(
            name,
            build,
            suites(
                paper=(
                    product(shape=POINTWISE, dtype=TYPES, timed=True),
                    points(*({**p, "dtype": d} for p in TABLE_10 for d in TYPES)),
                    points(*({"shape": (1000, 1001), "dtype": d} for d in INTEGERS)),
                    awkward,
                ),
                quick=(pairwise(shape=QUICK_SHAPES, dtype=TYPES, layout=layouts), awkward),
                smoke=(smoke,),
            ),
            jitter,
        ),
        Interface(
            f"{name}.out",
            partial(build_out, promotes=kept),
            suites(
                paper=(product(shape=POINTWISE[2:5], dtype=TYPES, origin="extra"), out), quick=(out,), smoke=(smoke,)
            ),
            jitter,
        ),
    )
