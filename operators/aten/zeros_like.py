"""Zeros in the shape and layout of a tensor (aten::zeros_like)."""

from kgb_gym.operators.aten.families import factories
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import REAL

OPERATOR = Operator(
    source="aten",
    name="zeros_like",
    interfaces=factories.likes("zeros_like"),
    compare=Exact(),
    description="A new tensor of the shape of `self` in which every element is zero.",
    notes=(factories.LIKE_DTYPE, factories.LIKE_LAYOUT, factories.OUT_NOTE),
    strides=True,
    policy=factories.POLICY,
    exemptions=(*factories.ZEROS, factories.NEIGHBOUR),
    usual=REAL,
    family="fill",
)
