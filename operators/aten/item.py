"""The one element of a tensor as a Python number (aten::item)."""

from kgb_gym.operators.aten.families import readback
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import REAL

OPERATOR = Operator(
    source="aten",
    name="item",
    interfaces=(
        readback.interface(
            "item",
            ("float16", "float32", "bfloat16", "int16", "int32", "int64"),
            (
                {"dtype": "float32", "shape": (2,), "origin": "beyond"},
                {"dtype": "float32", "shape": (0,), "origin": "beyond"},
            ),
        ),
    ),
    compare=Exact(),
    description="The one element of a tensor as a Python number.",
    notes=(
        "Another number of elements than one is a RuntimeError.",
        *readback.NOTES,
    ),
    kernel_required=False,
    data_dependent=True,
    usual=REAL,
    family="read-back",
)
