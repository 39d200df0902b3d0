"""A copy of a tensor with elements replaced, or combined, at indices along one dimension (aten::scatter)."""

from collections.abc import Sequence
from typing import Any

from kgb_gym.operators.aten.families import indexing
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Close, Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, Grid, pairwise, points, product

_PUBLISHED: dict[str, Any] = {
    "shape": ((512, 128, 32), (1024, 64, 16)),
    "src,index": [((128, 16, 4), (100, 16, 3)), ((256, 32, 8), (200, 31, 8))],
}
_QUICK: dict[str, Any] = {
    "shape": ((13, 12, 9), (10, 16, 8)),
    "src,index": [((9, 6, 4), (9, 5, 3)), ((8, 12, 8), (7, 11, 8))],
}
_HALVES = ("float16", "float32")
_COMBINED = Close(depth=indexing.hits, scale=indexing.reduced_magnitudes, own=4.0)


def _interface(name: str, quick: Sequence[Grid], published: Sequence[Grid] = (), **fixed: Any) -> Interface:
    """One interface.

    Args:
        name: its overload.
        quick: its grids in `quick`; all but those at small published sizes join `paper`.
        published: the published grid.
        fixed: parameters of the cases of `smoke`.
    """
    smoke = points(
        {"shape": (7, 17), "index": [5, 16], "dtype": "float32", "dim": 0, **fixed},
        {"shape": (5, 9), "index": [4, 7], "dtype": "float16", "dim": 1, **fixed},
    )
    return Interface(
        name,
        with_out(indexing.scattering, indexing.scattered) if name.endswith("out") else indexing.scattering,
        suites(paper=(*published, quick[-1]), quick=quick, smoke=(smoke,)),
        indexing.scattering_jitter,
        compare=_COMBINED if "reduce" in name else Exact(),
    )


def _published(dtypes: Sequence[str], **more: Any) -> Grid:
    return product(**_PUBLISHED, dtype=dtypes, dim=(0, 1, 2), **more, timed=True)


_SRC = points(
    {"shape": (), "index": [], "dtype": "float32", "dim": 0},
    {"shape": (5, 6), "index": [0], "dtype": "float32", "dim": 1},
    {"shape": (40, 61), "index": [37, 59], "dtype": "float32", "dim": -1, "layout": "transposed", "src": [38, 61]},
    {
        "shape": (6, 9),
        "index": [5, 8],
        "dtype": "float64",
        "dim": 0,
        "src_layout": "dilated",
        "index_layout": "transposed",
    },
    {
        "shape": (3, 5, 2, 7),
        "index": [2, 4, 2, 6],
        "dtype": "int64",
        "dim": 1,
        "layout": "sliced",
        "index_dtype": "int32",
    },
    {"shape": (13, 9), "index": [10, 8], "dtype": "bool", "dim": 0, "layout": "expanded"},
    {"shape": (5, 4), "index": [5, 4], "dtype": "float32", "dim": 0, "src_dtype": "float64", "origin": "beyond"},
    {"shape": (5, 4), "index": [2, 5], "dtype": "float32", "dim": 0, "origin": "beyond"},
    {"shape": (5, 4), "index": [3, 4], "dtype": "float32", "dim": 0, "src": [2, 4], "origin": "beyond"},
)
_VALUE = points(
    {"shape": (12, 33), "index": [5, 30], "dtype": "float32", "dim": 1, "value": 2.5, "duplicates": True},
    {"shape": (5, 6, 7), "index": [4, 6, 7], "dtype": "bfloat16", "dim": -3, "value": -1.25, "layout": "dilated"},
    {"shape": (9, 8), "index": [9, 3], "dtype": "int32", "dim": 0, "value": 77},
)
_REDUCE = points(
    {"shape": (), "index": [], "dtype": "float32", "dim": 0, "reduce": "add"},
    {
        "shape": (5, 40),
        "index": [5, 60],
        "dtype": "float32",
        "dim": 1,
        "reduce": "add",
        "duplicates": True,
        "src_layout": "transposed",
    },
    {
        "shape": (6, 30, 3),
        "index": [5, 40, 3],
        "dtype": "float32",
        "dim": 1,
        "reduce": "multiply",
        "duplicates": True,
        "layout": "transposed",
    },
    {"shape": (20, 7), "index": [30, 6], "dtype": "bfloat16", "dim": 0, "reduce": "add", "duplicates": True},
    {
        "shape": (20, 7),
        "index": [12, 7],
        "dtype": "int64",
        "dim": 0,
        "reduce": "multiply",
        "duplicates": True,
        "layout": "sliced",
    },
    {"shape": (5, 4), "index": [3, 4], "dtype": "float32", "dim": 0, "reduce": "mean", "origin": "beyond"},
)
_VALUE_REDUCE = points(
    {
        "shape": (11, 23),
        "index": [30, 22],
        "dtype": "float32",
        "dim": 0,
        "value": 1.5,
        "reduce": "multiply",
        "duplicates": True,
    },
    {
        "shape": (7, 40),
        "index": [6, 50],
        "dtype": "float16",
        "dim": 1,
        "value": -2.25,
        "reduce": "add",
        "duplicates": True,
        "layout": "dilated",
    },
    {"shape": (8, 9), "index": [9, 9], "dtype": "int32", "dim": 0, "value": 3, "reduce": "add", "duplicates": True},
)
_SRC_OUT = points(
    {"shape": (15, 21), "index": [7, 19], "dtype": "float32", "dim": 0},
    {"shape": (9, 6, 5), "index": [9, 6, 4], "dtype": "float16", "dim": 1, "out": "empty"},
    {"shape": (5, 6, 7), "index": [4, 6, 6], "dtype": "bfloat16", "dim": 2, "out": "dilated", "layout": "transposed"},
    {"shape": (5, 6), "index": [2, 6], "dtype": "float32", "dim": 0, "out_dtype": "float64", "origin": "beyond"},
)
_VALUE_OUT = points(
    {"shape": (15, 21), "index": [7, 19], "dtype": "float32", "dim": 0, "value": 4.5, "out": "transposed"},
    {"shape": (9, 14), "index": [9, 6], "dtype": "float16", "dim": 1, "value": 0.5, "out": "empty"},
)
_REDUCE_OUT = points(
    {"shape": (9, 21), "index": [15, 19], "dtype": "float32", "dim": 0, "reduce": "multiply", "duplicates": True},
    {
        "shape": (9, 14),
        "index": [9, 20],
        "dtype": "float16",
        "dim": 1,
        "reduce": "add",
        "duplicates": True,
        "out": "empty",
    },
)
_VALUE_REDUCE_OUT = points(
    {
        "shape": (9, 21),
        "index": [15, 19],
        "dtype": "float32",
        "dim": 0,
        "value": 1.25,
        "reduce": "add",
        "duplicates": True,
        "out": "dilated",
    },
    {
        "shape": (9, 14),
        "index": [9, 20],
        "dtype": "float16",
        "dim": 1,
        "value": 1.5,
        "reduce": "multiply",
        "duplicates": True,
    },
)

OPERATOR = Operator(
    source="aten",
    name="scatter",
    interfaces=(
        _interface("scatter.src", (pairwise(**_QUICK, dtype=FLOATS, dim=(0, 1, 2)), _SRC), (_published(FLOATS),)),
        _interface("scatter.value", (_VALUE,), value=3.5),
        _interface("scatter.reduce", (_REDUCE,), (_published(_HALVES, reduce=("add", "multiply")),), reduce="add"),
        _interface("scatter.value_reduce", (_VALUE_REDUCE,), value=3.5, reduce="add"),
        _interface("scatter.src_out", (_SRC_OUT,)),
        _interface("scatter.value_out", (_VALUE_OUT,), value=3.5),
        _interface("scatter.reduce_out", (_REDUCE_OUT,), reduce="add"),
        _interface("scatter.value_reduce_out", (_VALUE_REDUCE_OUT,), value=1.5, reduce="multiply"),
    ),
    description="A copy of `self` in which, for two dimensions and `dim=0`, the element (index[i, j], j) becomes "
    "`src[i, j]` (or the number `value`). With `reduce` it is combined with what is there: `add` or `multiply`.",
    notes=(
        ("The index may be smaller than `src` in every dimension and than `self` in every one but `dim`. 0-d counts as one "
        "element; an empty index gives a plain copy."),
        ("Without `reduce` and with a `src` no element is named twice. With `reduce` each of several values counts; 16-bit "
        "ones may be rounded at every step, integers wrap."),
        ("Indices are int64 or int32 and lie within `self`. Another type of `src`, another word for `reduce` or an index "
        "that is too large are RuntimeErrors, as is an `out` of another type."),
    ),
    left_out=(("scatter.dimname_src", "PyTorch dropped named-dimension overloads"),
              ("scatter.dimname_value", "PyTorch dropped named-dimension overloads")),
    usual=REAL,
    family="indexing",
)  # fmt: skip
