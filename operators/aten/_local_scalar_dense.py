"""The one element of a tensor as a Python number (aten::_local_scalar_dense)."""

from kgb_gym.operators.aten.families import readback
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import REAL

OPERATOR = Operator(
    source="aten",
    name="_local_scalar_dense",
    interfaces=(
        readback.interface(
            "_local_scalar_dense",
            ("float16", "float32", "bfloat16", "int32", "int64"),
            ({"dtype": "float32", "shape": (0,), "origin": "beyond"},),
        ),
    ),
    compare=Exact(),
    description="The one element of a tensor as a Python number: what `item` calls.",
    notes=(
        "An empty tensor is a RuntimeError; tensors of several elements are not tested.",
        *readback.NOTES,
    ),
    kernel_required=False,
    data_dependent=True,
    usual=REAL,
    family="read-back",
)
