"""The conjugate bit carried out (aten::resolve_conj)."""

from dataclasses import replace

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import points
from kgb_gym.operators.policy import CONVERTED_INPUTS

_CASES = points(
    {"shape": (), "dtype": "complex64", "bit": "conj"},
    {"shape": (0, 3), "dtype": "complex64", "bit": "conj"},
    {"shape": (3, 1037), "dtype": "complex64", "bit": "conj"},
    {"shape": (7, 9), "dtype": "complex128", "bit": "conj"},
    {"shape": (7, 9), "dtype": "complex64", "bit": "conj", "layout": "transposed"},
    {"shape": (7, 9), "dtype": "complex128", "bit": "conj", "layout": "dilated"},
    {"shape": (4, 3, 5), "dtype": "complex64", "bit": "conj", "layout": "irregular"},
    {"shape": (7, 9), "dtype": "complex64", "bit": "conj", "layout": "offset"},
    {"shape": (7, 9), "dtype": "complex64", "bit": "conj", "layout": "expanded"},
    {"shape": (7, 9), "dtype": "complex64", "layout": "sliced"},
    {"shape": (7, 9), "dtype": "complex128"},
    {"shape": (7, 9), "dtype": "float32", "layout": "transposed"},
    {"shape": (7, 9), "dtype": "float16"},
    {"shape": (7, 9), "dtype": "int64"},
    {"shape": (7, 9), "dtype": "float32", "bit": "neg"},
)

OPERATOR = Operator(
    source="aten",
    name="resolve_conj",
    interfaces=(views.resolution("resolve_conj", "complex64", "conj", _CASES),),
    compare=Exact(),
    description="The tensor without a conjugate bit: itself where the bit is not set, else a new tensor of conjugates.",
    notes=(
        (
            "The function gets the tensor with its bit: `self.is_conj()`. Then `self.conj()` is a view of the plain memory, which "
            "`torch.view_as_real` shows as pairs."
        ),
        "Without the bit (real tensors among them) `self` is returned: a copy is wrong.",
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
