"""Softmax along one dimension (aten::softmax)."""

from kgb_gym.operators.aten.families import reduction
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, pairwise, points, product

_AWKWARD = points(
    {"shape": (), "dtype": "float32", "dim": -1},
    {"shape": (0, 3), "dtype": "float32", "dim": 0},
    {"shape": (37,), "dtype": "float16", "dim": 0, "to": "float32"},
    {"shape": (5, 19), "dtype": "int32", "dim": 1, "to": "float32"},
    {"shape": (6, 33), "dtype": "float32", "dim": -1, "layout": "transposed"},
    {"shape": (3, 7, 11), "dtype": "bfloat16", "dim": -2, "layout": "sliced"},
    {"shape": (4, 65), "dtype": "float16", "dim": 1, "layout": "dilated"},
    {"shape": (3, 5, 2, 7), "dtype": "float32", "dim": 1, "layout": "offset"},
    {"shape": (7, 29), "dtype": "float32", "dim": 1, "kind": "masked"},
    {"shape": (2, 1037), "dtype": "float32", "dim": 1, "kind": "large"},
    {"shape": (2, 9001), "dtype": "float32", "dim": 1},
    {"shape": (9001, 2), "dtype": "bfloat16", "dim": 0},
    {"shape": (9, 21), "dtype": "bfloat16", "dim": 1, "kind": "special"},
    {"shape": (4, 5), "dtype": "float32", "dim": 2, "origin": "beyond"},
)
_OUT = points(
    {"shape": (9, 33), "dtype": "float32", "dim": 1},
    {"shape": (17, 5), "dtype": "float16", "dim": 0, "out": "empty"},
    {"shape": (3, 9, 7), "dtype": "bfloat16", "dim": 1, "out": "dilated"},
    {"shape": (6, 35), "dtype": "float16", "dim": 1, "to": "float32", "out": "transposed"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32", "dim": 1}, {"shape": (5, 4), "dtype": "float16", "dim": 0})

OPERATOR = Operator(
    source="aten",
    name="softmax",
    interfaces=(
        Interface(
            "softmax.int",
            reduction.along,
            suites(
                paper=(
                    product(shape=((1, 256), (4096, 256), (200, 2560, 3)), dtype=FLOATS, dim=(0, 1), timed=True),
                    product(
                        shape=((4096, 256), (200, 2560, 3)), dtype=FLOATS, dim=(-1,), kind=("masked",), origin="extra"
                    ),
                    product(shape=((3, 131072),), dtype=FLOATS, dim=(1,), origin="extra"),
                    _AWKWARD,
                ),
                quick=(pairwise(shape=((1, 64), (64, 40), (5, 40, 3)), dtype=FLOATS, dim=(0, 1)), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
        Interface(
            "softmax.int_out",
            reduction.along_out,
            suites(
                paper=(product(shape=((4096, 256), (200, 2560, 3)), dtype=FLOATS, dim=(0, 1), origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
    ),
    compare=Close(scale=reduction.softmax_error),
    description="Softmax along `dim`: exp(x - max) divided by its sum. With `dtype` the input is converted first.",
    notes=(
        "A slice of -inf only gives NaN, as does one that holds +inf or NaN; no finite input may overflow.",
        "A `dim` out of range is an IndexError.",
        "16-bit inputs are computed in fp32 and rounded once.",
    ),
    left_out=(("softmax.Dimname", "PyTorch dropped named-dimension overloads"),),
    usual=FLOATING,
    family="softmax",
)
