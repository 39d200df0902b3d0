"""A tensor of one number (aten::full)."""

from kgb_gym.operators.aten.families import factories
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import POINTWISE, REAL, Params, pairwise, points, product

_VALUES = (3.1415926, 2, False)


def _in_double(point: Params) -> bool:
    """Whether the number is one that fp32, in which numbers reach kernels, does not hold."""
    return bool(point["dtype"] == "float64" and point["value"] == _VALUES[0])


_CASES = points(
    {"shape": (0, 3), "dtype": "float32", "value": 1},
    {"shape": (5, 7), "value": True},
    {"shape": (5, 7), "value": -3},
    {"shape": (5, 7), "value": 0.1},
    {"shape": (5, 7), "value": (1.5, -2.0), "origin": "beyond"},
    {"shape": (4, 3, 2, 3, 2, 2), "dtype": "float16", "value": "-inf", "origin": "beyond"},
    {"shape": (9,), "dtype": "bfloat16", "value": "nan"},
    {"shape": (9,), "dtype": "int32", "value": -2.7},
    {"shape": (9,), "dtype": "int64", "value": 2**62 + 1, "origin": "beyond"},
    {"shape": (9,), "dtype": "float64", "value": -1e-310, "origin": "beyond"},
    {"shape": (9,), "dtype": "float64", "value": -0.125},
    {"shape": (9,), "dtype": "float64", "value": -0.1, "origin": "beyond"},
    {"shape": (9,), "dtype": "uint8", "value": 200},
    {"shape": (9,), "dtype": "complex64", "value": 2.5},
    {"shape": (9,), "dtype": "int8", "value": 300, "origin": "beyond"},
    {"shape": (9,), "dtype": "float16", "value": 1e5, "origin": "beyond"},
    {"shape": (3, -1), "dtype": "float32", "value": 1, "origin": "beyond"},
)
_OUTS = points(*({"value": 3.7, **p} for p in factories.OUTS))

OPERATOR = Operator(
    source="aten",
    name="full",
    interfaces=(
        factories.interface(
            "full",
            factories.sized,
            paper=(
                product(shape=POINTWISE, dtype=factories.PAPER_DTYPES, value=_VALUES, timed=True).beyond(_in_double),
                _CASES,
            ),
            quick=(
                pairwise(shape=factories.QUICK_SHAPES[2:4], dtype=factories.PAPER_DTYPES, value=_VALUES[:2]).beyond(
                    _in_double
                ),
                points({"shape": (3, 1037), "dtype": "float32", "value": False}, origin="paper"),
                _CASES,
            ),
            smoke=(
                {"shape": (17,), "dtype": "float32", "value": 2.5},
                {"shape": (3, 5), "dtype": "int64", "value": 7},
            ),
        ),
        factories.interface(
            "full.out",
            factories.sized_out,
            paper=(_OUTS,),
            quick=(_OUTS,),
            smoke=(
                {"shape": (17,), "dtype": "float32", "value": 2.5},
                {"shape": (3, 5), "dtype": "int64", "out": "empty", "value": 7},
            ),
        ),
    ),
    compare=Exact(),
    description="A new tensor of the given size in which every element is `fill_value`, on the given device.",
    notes=(
        "Without `dtype` the number decides: bool, int64, the default dtype for a float, complex64 for a complex number.",
        factories.CONVERTED,
        factories.NEGATIVE_SIZE,
        factories.OUT_NOTE,
    ),
    strides=True,
    policy=factories.POLICY,
    exemptions=(factories.NEIGHBOUR,),
    left_out=factories.named("full"),
    usual=REAL,
    family="fill",
)
