"""Any strides over the memory of a tensor (aten::as_strided)."""

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, points

_PAPER = points(*views.published_strided(FLOATS), origin="paper", timed=True)
_QUICK = points(*(p for p in views.published_strided(FLOATS[1:2]) if max(p["shape"]) < 20), origin="paper")
_AWKWARD = points(
    {"shape": (12,), "dtype": "float32", "size": (3, 4), "stride": (1, 1)},
    {"shape": (12,), "dtype": "float16", "size": (5, 4), "stride": (0, 2), "offset": 3},
    {"shape": (12,), "dtype": "float32", "size": (0, 4), "stride": (4, 1)},
    {"shape": (12,), "dtype": "int64", "size": (), "stride": (), "offset": 7},
    {"shape": (40,), "dtype": "bool", "size": (9, 2), "stride": (3, 5), "offset": 7},
    {"shape": (4, 5), "dtype": "float32", "layout": "offset", "size": (4, 2), "stride": (5, 2)},
    {"shape": (4, 5), "dtype": "float32", "layout": "offset", "size": (4, 2), "stride": (5, 2), "offset": 1},
    {"shape": (4, 5), "dtype": "bfloat16", "layout": "sliced", "size": (4, 8), "stride": (8, 1)},
    {"shape": (6,), "dtype": "complex64", "bit": "conj", "size": (2, 2), "stride": (1, 2), "offset": 1},
    {"shape": (6,), "dtype": "float32", "bit": "neg", "size": (2, 2), "stride": (1, 2), "offset": 1},
    {"shape": (3, 7), "dtype": "float64", "size": (1, 7), "stride": (100, 1), "offset": 7},
    {"shape": (12,), "dtype": "float32", "size": (13,), "stride": (1,), "origin": "beyond"},
    {"shape": (12,), "dtype": "float32", "size": (3,), "stride": (-1,), "origin": "beyond"},
    {"shape": (12,), "dtype": "float32", "size": (3, 2), "stride": (1,), "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="as_strided",
    interfaces=(
        Interface(
            "as_strided",
            views.as_strided,
            suites(
                paper=(_PAPER, _AWKWARD),
                quick=(_QUICK, _AWKWARD),
                smoke=(
                    points(
                        {"shape": (4, 6), "dtype": "float32", "size": (6, 4), "stride": (1, 6)},
                        {"shape": (9,), "dtype": "float16", "layout": "offset", "size": (4,), "stride": (2,)},
                    ),
                ),
            ),
            views.strided_jitter,
        ),
    ),
    compare=Exact(),
    description="A view of the given sizes, strides and storage offset over the memory of `self`.",
    notes=(
        (
            "Strides may be 0 or overlap. The offset counts from the start of the storage, not from that of `self`; without "
            "one, that of `self` is kept."
        ),
        (
            "A negative stride, a view that reaches beyond the storage, and sizes and strides of different lengths are "
            "RuntimeErrors."
        ),
        views.ALIAS,
        views.BITS,
    ),
    view=True,
    kernel_required=False,
    family="views",
)
