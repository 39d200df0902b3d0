"""Zeros in the shape and layout of a tensor (aten::zeros_like)."""

from kgb_gym.operators.aten.families import factories
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATS, POINTWISE, pairwise, points, product

OPERATOR = Operator(
    source="aten",
    name="zeros_like",
    interfaces=(
        factories.interface(
            "zeros_like",
            factories.like,
            paper=(product(shape=POINTWISE, dtype=FLOATS, timed=True), points(*factories.LIKE)),
            quick=(pairwise(shape=factories.QUICK_SHAPES, dtype=FLOATS), points(*factories.LIKE)),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64", "layout": "transposed"}),
            jitter=factories.like_jitter,
        ),
        factories.interface(
            "zeros_like.out",
            factories.like_out,
            paper=(points(*factories.LIKE_OUTS),),
            quick=(points(*factories.LIKE_OUTS),),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64", "out": "empty"}),
        ),
    ),
    compare=Exact(),
    description="A new tensor of the shape of `self` in which every element is zero.",
    notes=(factories.LIKE_DTYPE, factories.LIKE_LAYOUT, factories.OUT_NOTE),
    strides=True,
    policy=factories.POLICY,
    exemptions=(*factories.ZEROS, factories.NEIGHBOUR),
    family="fill",
)
