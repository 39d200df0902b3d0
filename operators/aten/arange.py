"""Numbers at equal distances (aten::arange)."""

from kgb_gym.operators.aten.families import factories, ranges
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import REAL, Grid, Params, pairwise, points, product

_DTYPES = ("float16", "float32", "bfloat16", "int16", "int32", "int64", None)
_STEPPED = points(
    {"start": 0, "end": 5, "step": 0.1, "dtype": "float32"},
    {"start": -1.5, "end": 2.25, "step": 0.25},
    {"start": 5, "end": -3, "step": -2},
    {"start": 1, "end": 0, "step": -0.001, "dtype": "float32"},
    {"start": 1, "end": 0, "step": -0.001, "dtype": "float64", "origin": "beyond"},
    {"start": 2040, "end": 2060, "step": 1, "dtype": "float16"},
    {"start": 0, "end": 1000, "step": 3, "dtype": "bfloat16"},
    {"start": 2**62, "end": 2**62 + 9, "step": 3, "origin": "beyond"},
    {"start": 0, "end": 3000, "step": 1, "dtype": "float32"},
    {"start": -100, "end": 100, "step": 7, "dtype": "int8"},
    {"start": 7, "end": 7, "step": 2, "dtype": "float32"},
    {"start": 0, "end": 5, "step": 0, "origin": "beyond"},
    {"start": 0, "end": 5, "step": -1, "origin": "beyond"},
)
_STARTED = points(
    {"start": 3, "end": 12},
    {"start": -0.5, "end": 4.75},
    {"start": 0, "end": 200, "dtype": "uint8"},
    {"start": 5, "end": 5, "dtype": "int32"},
)
_ENDED = points(
    {"end": 9},
    {"end": 5.5},
    {"end": 1500, "dtype": "int32"},
    {"end": 0, "dtype": "float32"},
    {"end": -1, "origin": "beyond"},
)
_START_OUT = points(
    {"start": 1, "end": 2, "step": 0.25, "dtype": "float16", "out": (0,)},
    {"start": 0, "end": 1200, "step": 1, "dtype": "float32", "out": (1200,), "dilated": True},
    {"start": 10, "end": -10, "step": -3, "dtype": "int64", "out": (7,)},
)
_OUT = points(
    {"end": 9, "dtype": "float32", "out": (9,)},
    {"end": 17, "dtype": "int32", "out": (30,)},
    {"end": 6, "dtype": "bfloat16", "out": (6,), "dilated": True},
)


def _interface(name: str, paper: tuple[Grid, ...], quick: tuple[Grid, ...], *smoke: Params) -> Interface:
    grids = suites(paper=paper, quick=quick, smoke=(points(*smoke),))
    return Interface(name, ranges.build, grids, ranges.jitter)


OPERATOR = Operator(
    source="aten",
    name="arange",
    interfaces=(
        _interface("arange", (_ENDED,), (_ENDED,), {"end": 17, "dtype": "float32"}, {"end": 9}),
        _interface(
            "arange.start",
            (_STARTED,),
            (_STARTED,),
            {"start": 2, "end": 17, "dtype": "float32"},
            {"start": 3, "end": 9},
        ),
        _interface(
            "arange.start_step",
            (product(dtype=_DTYPES, end=(128, 256, 1024), step=(1, 2, 5), start=(0, 1, 3), timed=True), _STEPPED),
            (pairwise(dtype=_DTYPES[:6], end=(128,), step=(5,), start=(3,)), _STEPPED),
            {"start": 1, "end": 30, "step": 2, "dtype": "float32"},
            {"start": 9, "end": 0, "step": -1},
        ),
        _interface("arange.start_out", (_START_OUT,), (_START_OUT,), *_START_OUT.points[:2]),
        _interface("arange.out", (_OUT,), (_OUT,), *_OUT.points[:2]),
    ),
    compare=Close(scale=ranges.magnitude, slack=1.0),
    description="A vector of the numbers `start + i * step` up to `end`, which is not among them, on the given device.",
    notes=(
        (
            "Without `dtype` the numbers decide: int64 if all are integers, else the default dtype. Integers are exact, also "
            "beyond 2**53; with an integer dtype (or `out`) all arguments are integers."
        ),
        (
            "There are ceil((end - start) / step) numbers, computed in double. Each is computed from its index, not from the one "
            "before it; 16-bit types are computed in fp32 and rounded once."
        ),
        "A step of 0 and one of the wrong sign are RuntimeErrors.",
        factories.OUT_NOTE,
    ),
    policy=factories.POLICY,
    exemptions=(factories.NEIGHBOUR,),
    usual=REAL,
    family="ranges",
)
