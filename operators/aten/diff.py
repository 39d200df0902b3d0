"""Differences of neighbours along a dimension (aten::diff)."""

from kgb_gym.operators.aten.families import shaping
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, NUMBERS, pairwise, points, product

_AWKWARD = points(
    {"shape": (5, 6), "dtype": "float32", "n": 0, "dim": 0},
    {"shape": (5, 3), "dtype": "float32", "n": 4, "dim": 1},
    {"shape": (1,), "dtype": "float32", "n": 1, "dim": 0},
    {"shape": (3, 0, 4), "dtype": "float32", "n": 1, "dim": 0},
    {"shape": (7, 33), "dtype": "float32", "n": 1, "dim": 0, "layout": "transposed"},
    {"shape": (4, 5, 9), "dtype": "bfloat16", "n": 3, "dim": 1, "layout": "sliced"},
    {"shape": (3, 4, 5, 7), "dtype": "float16", "n": 2, "dim": -2, "layout": "dilated"},
    {"shape": (2, 2100), "dtype": "float32", "n": 1, "dim": -1, "layout": "offset"},
    {"shape": (65, 40), "dtype": "float64", "n": 2, "dim": 0},
    {"shape": (5, 9), "dtype": "float32", "n": 1, "dim": 0, "prepend": 2, "append": 3},
    {"shape": (4, 9), "dtype": "float16", "n": 2, "dim": 1, "append": 1, "layout": "expanded"},
    {"shape": (6, 5), "dtype": "int32", "n": 1, "dim": 1, "prepend": 1, "other_dtype": "float32"},
    {"shape": (6, 35), "dtype": "uint8", "n": 1, "dim": 1},
    {"shape": (6, 35), "dtype": "int64", "n": 2, "dim": 0, "prepend": 0},
    {"shape": (7, 35), "dtype": "bool", "n": 2, "dim": 1},
    {"shape": (), "dtype": "float32", "n": 1, "dim": 0, "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "n": -1, "dim": 0, "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "n": 1, "dim": 2, "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "n": 1, "dim": 0, "prepend": 2, "wrong": "rank", "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "n": 1, "dim": 0, "prepend": 2, "wrong": "size", "origin": "beyond"},
)
_OUT = points(
    {"shape": (13, 31), "dtype": "float32", "n": 1, "dim": 0},
    {"shape": (7, 33), "dtype": "bfloat16", "n": 2, "dim": 1, "out": "empty", "layout": "transposed"},
    {"shape": (5, 3, 11), "dtype": "float16", "n": 1, "dim": 2, "out": "dilated", "append": 2},
    {"shape": (9, 5), "dtype": "float32", "n": 2, "dim": 0, "out_dtype": "float16", "out": "transposed"},
    {"shape": (9, 5), "dtype": "float32", "n": 1, "dim": 0, "out_dtype": "int64", "origin": "beyond"},
)
_SMOKE = points(
    {"shape": (3, 17), "dtype": "float32", "n": 1, "dim": 0},
    {"shape": (5, 4), "dtype": "float16", "n": 2, "dim": 1},
)

OPERATOR = Operator(
    source="aten",
    name="diff",
    interfaces=(
        Interface(
            "diff",
            shaping.differences,
            suites(
                paper=(
                    product(shape=((16,), (16, 32), (8, 16, 32)), n=(1, 2), dim=(0, -1), dtype=FLOATS, timed=True),
                    product(shape=((16, 32),), n=(1,), dim=(-1,), prepend=(1,), append=(1,), dtype=FLOATS, timed=True),
                    product(shape=((1024, 1024), (200, 2560, 3)), n=(1, 2), dim=(0, 1), dtype=FLOATS, origin="extra"),
                    _AWKWARD,
                ),
                quick=(
                    pairwise(shape=((16,), (16, 32), (5, 8, 12)), n=(1, 2), dim=(0, -1), dtype=FLOATS),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            shaping.differences_jitter,
        ),
        Interface(
            "diff.out",
            with_out(shaping.differences, shaping.differed),
            suites(
                paper=(product(shape=((1024, 1024),), n=(1, 2), dim=(1,), dtype=FLOATS, origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            shaping.differences_jitter,
        ),
    ),
    compare=Close(scale=shaping.difference_magnitudes, own=2.0),
    description="Differences along `dim`, each element's successor minus itself, taken `n` times over. `prepend` and "
    "`append` are first joined to `self` there.",
    notes=(
        "`n=0` gives a copy of what has been joined; as many steps as there are elements, or more, give an empty answer.",
        "Bools differ by exclusive or, integers wrap. Joined tensors of several types are converted to the common one.",
        "16-bit answers may be rounded after every step.",
        (
            "0-d tensors, a negative `n`, and joined tensors of another rank or of other sizes elsewhere are RuntimeErrors; a "
            "`dim` out of range is an IndexError."
        ),
        "An `out` of another type takes converted values if `torch.can_cast` allows it, else it is a RuntimeError.",
    ),
    usual=NUMBERS,
    family="shaping",
)
