"""Memory of given strides, of the dtype and on the device of a tensor (aten::new_empty_strided)."""

from kgb_gym.operators.aten.families import factories
from kgb_gym.operators.compare import Unspecified
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATS, pairwise, points, product

_SIZES = ((2, 3), (128, 256), (512, 512))
_KINDS = ("contig", "reversed", "expanded")
_CASES = points(
    {"shape": (), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (4, 5), "kind": "padded", "dtype": "float16"},
    {"shape": (4, 5, 6), "kind": "overlapping", "dtype": "float32"},
    {"shape": (4, 5, 6), "kind": "gaps", "dtype": "float32", "to": "int32"},
    *({"shape": (4, 5), "kind": "reversed", "dtype": d} for d in ("bool", "uint8", "int64", "float64", "complex64")),
    {"shape": (2, 3), "stride": (1,), "dtype": "float32", "origin": "beyond"},
    {"shape": (2, 3), "stride": (1, -2), "dtype": "float32", "origin": "beyond"},
    {"shape": (2, -3), "stride": (1, 1), "dtype": "float32", "origin": "beyond"},
)
_OUT = points(
    *({"shape": (4, 5), "kind": "reversed", "dtype": d, "out": "empty"} for d in ("float32", "int32", "bool")),
    {"shape": (4, 5), "kind": "padded", "dtype": "float16", "out": "same"},
    {"shape": (4, 5), "kind": "contig", "dtype": "float32", "out": "transposed"},
)

OPERATOR = Operator(
    source="aten",
    name="new_empty_strided",
    interfaces=(
        factories.interface(
            "new_empty_strided",
            factories.laid_out(own=True),
            paper=(
                product(shape=_SIZES, kind=_KINDS, dtype=FLOATS, timed=True),
                product(shape=_SIZES, kind=_KINDS, dtype=("float32",), to=FLOATS, timed=True),
                _CASES,
            ),
            quick=(
                pairwise(shape=((2, 3), (9, 7), (8, 16)), kind=_KINDS, dtype=FLOATS),
                points({"shape": (9, 7), "kind": "reversed", "dtype": "float32", "to": "float16"}, origin="paper"),
                _CASES,
            ),
            smoke=(
                {"shape": (4, 5), "kind": "reversed", "dtype": "float32"},
                {"shape": (3, 4), "kind": "padded", "dtype": "int64"},
            ),
        ),
        factories.interface(
            "new_empty_strided.out",
            factories.laid_out(own=True),
            paper=(product(shape=_SIZES, kind=_KINDS, dtype=FLOATS, out=("empty",)), _OUT),
            quick=(_OUT,),
            smoke=(
                {"shape": (4, 5), "kind": "reversed", "dtype": "float32", "out": "empty"},
                {"shape": (3, 4), "kind": "padded", "dtype": "int64", "out": "same"},
            ),
        ),
    ),
    compare=Unspecified(),
    description="A new tensor of the given size and strides, with unspecified values.",
    notes=(
        factories.NEW_DTYPE,
        (
            "Strides may be 0 or overlap. A negative stride, a negative size, and sizes and strides of different lengths are "
            "RuntimeErrors."
        ),
        (
            "With `out` the strides are without effect: it is brought to the size, contiguous if it has to be resized, and "
            "returned."
        ),
        "The values are whatever is in memory: no kernel is needed.",
    ),
    strides=True,
    kernel_required=False,
    exemptions=factories.UNSPECIFIED,
    family="allocation",
)
