"""The negative bit carried out (aten::resolve_neg)."""

from dataclasses import replace

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import points
from kgb_gym.operators.policy import CONVERTED_INPUTS

_CASES = points(
    {"shape": (), "dtype": "float32", "bit": "neg"},
    {"shape": (0, 3), "dtype": "float32", "bit": "neg"},
    {"shape": (3, 1037), "dtype": "float32", "bit": "neg"},
    {"shape": (7, 9), "dtype": "float64", "bit": "neg"},
    {"shape": (7, 9), "dtype": "float32", "bit": "neg", "layout": "transposed"},
    {"shape": (7, 9), "dtype": "float64", "bit": "neg", "layout": "dilated"},
    {"shape": (4, 3, 5), "dtype": "float32", "bit": "neg", "layout": "irregular"},
    {"shape": (7, 9), "dtype": "float32", "bit": "neg", "layout": "offset"},
    {"shape": (7, 9), "dtype": "float32", "bit": "neg", "layout": "expanded"},
    {"shape": (7, 9), "dtype": "float32", "layout": "sliced"},
    {"shape": (7, 9), "dtype": "float64"},
    {"shape": (7, 9), "dtype": "float16", "layout": "transposed"},
    {"shape": (7, 9), "dtype": "int64"},
    {"shape": (7, 9), "dtype": "complex64"},
    {"shape": (7, 9), "dtype": "complex64", "bit": "conj"},
)

OPERATOR = Operator(
    source="aten",
    name="resolve_neg",
    interfaces=(views.resolution("resolve_neg", "float32", "neg", _CASES),),
    compare=Exact(),
    description="The tensor without a negative bit: itself where the bit is not set, else a new tensor of negated numbers.",
    notes=(
        (
            "The function gets the tensor with its bit: `self.is_neg()`, as the imaginary part of a conjugate has it. A kernel "
            "that is given such a tensor sees its plain memory."
        ),
        "Without the bit `self` is returned: a copy is wrong.",
        (
            "With it, the answer keeps the strides of a `self` that is dense without overlap; otherwise dimensions keep their "
            "order in memory without gaps."
        ),
    ),
    view=True,
    strides=True,
    policy=replace(CONVERTED_INPUTS, deny_ops=frozenset({"resolve_conj", "resolve_neg"})),
    exemptions=(views.SAME_VALUES,),
    family="views",
)
