"""Product of two matrices (aten::mm)."""

from typing import Any

from kgb_gym.operators.aten.families import matmul
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import BLAS_MNK, FLOATING, FLOATS, pairwise, points, product

_SIZES: dict[str, Any] = {"M,N,K": BLAS_MNK}
_LARGER: dict[str, Any] = {"M,N,K": BLAS_MNK[1:]}
_QUICK: dict[str, Any] = {"M,N,K": ((1, 1, 32), (15, 40, 64), (33, 53, 71))}

_AWKWARD = points(
    {"M": 3, "N": 5, "K": 0, "dtype": "float32"},
    {"M": 0, "N": 5, "K": 3, "dtype": "float32"},
    {"M": 1, "N": 47, "K": 33, "dtype": "bfloat16", "a_layout": "sliced"},
    {"M": 29, "N": 1, "K": 65, "dtype": "float16", "a_layout": "transposed"},
    {"M": 17, "N": 19, "K": 130, "dtype": "float32", "a_layout": "dilated", "b_layout": "sliced"},
    {"M": 21, "N": 18, "K": 37, "dtype": "float32", "a_layout": "offset", "b_layout": "transposed"},
    {"M": 9, "N": 13, "K": 7, "dtype": "float32", "a_layout": "expanded"},
    {"M": 33, "N": 7, "K": 20, "dtype": "float32", "kind": "special"},
    {"M": 3, "N": 5, "K": 4, "dtype": "float32", "wrong": "rank", "origin": "beyond"},
)
_OUT = points(
    {"M": 15, "N": 40, "K": 64, "dtype": "float32"},
    {"M": 7, "N": 33, "K": 21, "dtype": "float16", "out": "empty"},
    {"M": 18, "N": 11, "K": 35, "dtype": "bfloat16", "out": "dilated", "b_column_major": True},
    {"M": 12, "N": 17, "K": 9, "dtype": "float32", "out": "transposed", "a_layout": "transposed"},
)
_SMOKE = points({"M": 9, "N": 5, "K": 17, "dtype": "float32"}, {"M": 3, "N": 20, "K": 8, "dtype": "float16"})

OPERATOR = Operator(
    source="aten",
    name="mm",
    interfaces=(
        Interface(
            "mm",
            matmul.product,
            suites(
                paper=(
                    product(b_column_major=(True, False), dtype=FLOATS, **_SIZES, timed=True),
                    product(a_layout=("transposed", "sliced"), dtype=FLOATS, **_LARGER, origin="extra"),
                    points({"M": 121, "N": 93, "K": 257, "dtype": "float64", "b_layout": "transposed"}),
                    _AWKWARD,
                ),
                quick=(
                    pairwise(
                        **_QUICK,
                        dtype=FLOATS,
                        b_column_major=(True, False),
                    ),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            matmul.jitter,
        ),
        Interface(
            "mm.out",
            matmul.product_out,
            suites(
                paper=(product(dtype=FLOATS, **_LARGER, origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            matmul.jitter,
        ),
    ),
    compare=Close(depth=matmul.terms, scale=matmul.product_of_magnitudes),
    description="The matrix product of (M, K) and (K, N).",
    notes=(
        "fp32 products and sums are fp32, not TF32; an empty K gives zeros.",
        "16-bit inputs are multiplied exactly, summed in fp32 and rounded once.",
        "Both are matrices of one type with matching inner sizes.",
    ),
    left_out=(
        ("mm.dtype", "registered for CUDA only, so it has no oracle on the CPU"),
        ("mm.dtype_out", "registered for CUDA only, so it has no oracle on the CPU"),
    ),
    usual=FLOATING,
    family="matmul",
)
