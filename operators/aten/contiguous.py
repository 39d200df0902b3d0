"""The tensor in row-major order (aten::contiguous)."""

from kgb_gym.operators.aten.families import copies
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import POINTWISE, pairwise, points, product
from kgb_gym.operators.policy import RESHAPED_INPUTS

_DTYPES = ("float16", "float32", "bfloat16", "int16", "int32", "int64")
_CASES = points(
    *copies.LAID,
    *copies.FORMATTED,
    {"shape": (5, 7), "dtype": "float32"},
    {"shape": (5, 7), "dtype": "float16", "layout": "offset"},
    {"shape": (5, 7), "dtype": "complex64", "bit": "conj", "layout": "transposed"},
    {"shape": (7, 1), "dtype": "float32", "layout": "sliced"},
    *({"shape": (5, 7), "dtype": d, "layout": "sliced"} for d in ("bool", "uint8", "float64")),
)

OPERATOR = Operator(
    source="aten",
    name="contiguous",
    interfaces=(
        copies.interface(
            "contiguous",
            copies.single(),
            paper=(product(shape=POINTWISE[1:], dtype=_DTYPES, layout=("transposed",), timed=True), _CASES),
            quick=(
                pairwise(shape=((1,), (23, 41), (4, 16, 15)), dtype=_DTYPES, layout=("transposed",)),
                _CASES.where(lambda p: p["dtype"] != "float64" or p["layout"] != "sliced"),
            ),
            smoke=(
                {"shape": (17,), "dtype": "float32", "layout": "offset"},
                {"shape": (3, 5), "dtype": "int64", "layout": "transposed"},
            ),
        ),
    ),
    compare=Exact(),
    description="`self` in row-major order: `self` itself where it lies so already, else a new tensor.",
    notes=(
        (
            "A `self` that is contiguous in the asked `memory_format` must be returned itself, conjugate bit included: a copy "
            "is wrong. Otherwise the copy is a kernel's business."
        ),
        "channels_last needs four dimensions. Strides are compared.",
        copies.BITS,
    ),
    view=True,
    strides=True,
    policy=RESHAPED_INPUTS,
    exemptions=(copies.FRESH,),
    family="copies",
)
