"""Affine map of the last dimension (aten::linear)."""

from typing import Any

from kgb_gym.operators.aten.families import matmul
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import BLAS_MNK, FLOATING, FLOATS, pairwise, points, product


def _sizes(*sizes: tuple[int, int, int]) -> dict[str, Any]:
    return {"shape,N": [((m, k), n) for m, n, k in sizes]}


_AWKWARD = points(
    {"shape": (37,), "N": 11, "dtype": "float16", "bias": True},
    {"shape": (3, 9, 33), "N": 21, "dtype": "bfloat16", "layout": "sliced", "bias": True},
    {"shape": (3, 5, 4, 20), "N": 6, "dtype": "float32", "weight_layout": "transposed"},
    {"shape": (4, 0), "N": 5, "dtype": "float32", "bias": True, "origin": "beyond"},
    {"shape": (0, 3), "N": 5, "dtype": "float32"},
    {"shape": (17, 130), "N": 19, "dtype": "float32", "layout": "dilated", "weight_layout": "sliced"},
    {"shape": (21, 37), "N": 18, "dtype": "float32", "layout": "transposed", "bias": True, "bias_layout": "dilated"},
    {"shape": (9, 7), "N": 13, "dtype": "float32", "layout": "expanded", "weight_layout": "offset"},
    {"shape": (21, 35), "N": 23, "dtype": "float64", "bias": True},
    {"shape": (33, 20), "N": 7, "dtype": "float32", "kind": "special", "bias": True},
    {"shape": (29, 65), "N": 1, "dtype": "float16", "bias": True},
    {"shape": (67, 16), "N": 131, "dtype": "bfloat16", "bias": True},
    {"shape": (4, 3), "N": 2, "dtype": "float32", "weight_dtype": "float16", "origin": "beyond"},
    {"shape": (4, 3), "N": 2, "dtype": "float32", "terms": 4, "origin": "beyond"},
)
_OUT = points(
    {"shape": (15, 64), "N": 40, "dtype": "float32", "bias": True},
    {"shape": (7, 21), "N": 33, "dtype": "float16", "out": "empty"},
    {"shape": (2, 9, 35), "N": 11, "dtype": "bfloat16", "out": "dilated", "bias": True},
    {"shape": (12, 9), "N": 17, "dtype": "float32", "out": "transposed"},
    {"shape": (4, 3), "N": 2, "dtype": "float32", "out_dtype": "float64", "origin": "beyond"},
)
_SMOKE = points(
    {"shape": (9, 17), "N": 5, "dtype": "float32", "bias": True}, {"shape": (3, 8), "N": 20, "dtype": "float16"}
)

OPERATOR = Operator(
    source="aten",
    name="linear",
    interfaces=(
        Interface(
            "linear",
            matmul.linear,
            suites(
                paper=(
                    product(**_sizes(*BLAS_MNK), dtype=FLOATS, bias=(True, False), timed=True),
                    product(
                        **_sizes(BLAS_MNK[1]), dtype=FLOATS, weight_layout=("transposed", "sliced"), origin="extra"
                    ),
                    _AWKWARD,
                ),
                quick=(
                    pairwise(**_sizes((1, 1, 32), (15, 40, 64), (33, 53, 71)), dtype=FLOATS, bias=(True, False)),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            matmul.jitter_linear,
        ),
        Interface(
            "linear.out",
            matmul.linear_out,
            suites(
                paper=(product(**_sizes(BLAS_MNK[1]), dtype=FLOATS, bias=(True, False), origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            matmul.jitter_linear,
        ),
    ),
    compare=Close(depth=matmul.linear_terms, scale=matmul.linear_of_magnitudes),
    description="`input` (…, K) times the transpose of `weight` (N, K), plus `bias` (N) where it is given.",
    notes=(
        "fp32 products and sums are fp32, not TF32; an empty K gives the bias, or zeros.",
        "16-bit inputs are multiplied exactly, summed in fp32 with the bias, and rounded once.",
        "All have one type; `input` has one or more dimensions, all but the last of which are rows.",
    ),
    usual=FLOATING,
    family="matmul",
)
