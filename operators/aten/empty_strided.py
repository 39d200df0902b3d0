"""Memory of given strides (aten::empty_strided)."""

from kgb_gym.operators.aten.families import factories
from kgb_gym.operators.compare import Unspecified
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATS, pairwise, points, product

_SIZES = ((1024,), (2, 3), (128, 256), (512, 512), (8, 16, 4))
_KINDS = ("contig", "reversed", "padded")
_CASES = points(
    {"shape": (), "to": "float32"},
    {"shape": (0, 3), "to": "float32"},
    {"shape": (4, 5), "kind": "expanded", "to": "float16"},
    {"shape": (4, 5, 6), "kind": "overlapping", "to": "float32"},
    {"shape": (4, 5, 6), "kind": "gaps", "to": "int32"},
    {"shape": (4, 5)},
    *({"shape": (4, 5), "kind": "reversed", "to": d} for d in ("bool", "uint8", "int64", "float64", "complex64")),
    {"shape": (2, 3), "stride": (1,), "to": "float32", "origin": "beyond"},
    {"shape": (2, 3), "stride": (1, -2), "to": "float32", "origin": "beyond"},
    {"shape": (2, -3), "stride": (1, 1), "to": "float32", "origin": "beyond"},
)
_OUT = points(
    *({"shape": (4, 5), "kind": "reversed", "dtype": d, "out": "empty"} for d in ("float32", "int32", "bool")),
    {"shape": (4, 5), "kind": "padded", "dtype": "float16", "out": "same"},
    {"shape": (4, 5), "kind": "contig", "dtype": "float32", "out": "transposed"},
)

OPERATOR = Operator(
    source="aten",
    name="empty_strided",
    interfaces=(
        factories.interface(
            "empty_strided",
            factories.laid_out(own=False),
            paper=(product(shape=_SIZES, kind=_KINDS, to=FLOATS, timed=True), _CASES),
            quick=(pairwise(shape=((2, 3), (9,), (8, 16, 4)), kind=_KINDS, to=FLOATS), _CASES),
            smoke=(
                {"shape": (4, 5), "kind": "reversed", "to": "float32"},
                {"shape": (3, 4), "kind": "padded", "to": "int64"},
            ),
        ),
        factories.interface(
            "empty_strided.out",
            factories.laid_out(own=False),
            paper=(product(shape=_SIZES, kind=_KINDS, dtype=FLOATS, out=("empty",)), _OUT),
            quick=(_OUT,),
            smoke=(
                {"shape": (4, 5), "kind": "reversed", "dtype": "float32", "out": "empty"},
                {"shape": (3, 4), "kind": "padded", "dtype": "int64", "out": "same"},
            ),
        ),
    ),
    compare=Unspecified(),
    description="A new tensor of the given size and strides on the given device, with unspecified values.",
    notes=(
        factories.DEFAULT_DTYPE,
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
