"""Zeros of a size (aten::zeros)."""

from kgb_gym.operators.aten.families import factories
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import POINTWISE, REAL, pairwise, points, product

_CASES = points(
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (5, 7)},
    {"shape": (4, 3, 2, 3, 2, 2), "dtype": "float16", "origin": "beyond"},
    {"shape": (3, -1), "dtype": "float32", "origin": "beyond"},
    *({"shape": (7, 9), "dtype": d} for d in factories.FURTHER_DTYPES),
)

OPERATOR = Operator(
    source="aten",
    name="zeros",
    interfaces=(
        factories.interface(
            "zeros",
            factories.sized,
            paper=(product(shape=POINTWISE, dtype=factories.PAPER_DTYPES, timed=True), _CASES),
            quick=(pairwise(shape=factories.QUICK_SHAPES[2:5], dtype=factories.PAPER_DTYPES), _CASES),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64"}),
        ),
        factories.interface(
            "zeros.out",
            factories.sized_out,
            paper=(points(*factories.OUTS),),
            quick=(points(*factories.OUTS),),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64", "out": "empty"}),
        ),
    ),
    compare=Exact(),
    description="A new tensor of the given size in which every element is zero, on the given device.",
    notes=(factories.DEFAULT_DTYPE, factories.NEGATIVE_SIZE, factories.OUT_NOTE),
    strides=True,
    policy=factories.POLICY,
    exemptions=(*factories.ZEROS, factories.no_input("zeros"), factories.NEIGHBOUR),
    left_out=factories.named("zeros"),
    usual=REAL,
    family="fill",
)
