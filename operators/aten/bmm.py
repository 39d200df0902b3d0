"""Products of two batches of matrices (aten::bmm)."""

from typing import Any

from kgb_gym.operators.aten.families import matmul
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import BLAS_MNK, FLOATING, FLOATS, pairwise, points, product


def _sizes(batch: int, *sizes: tuple[int, int, int]) -> dict[str, Any]:
    return {"a,b": [((batch, m, k), (batch, k, n)) for m, n, k in sizes]}


_AWKWARD = points(
    {"a": (0, 3, 4), "b": (0, 4, 5), "dtype": "float32"},
    {"a": (2, 3, 0), "b": (2, 0, 5), "dtype": "float32"},
    {"a": (2, 0, 3), "b": (2, 3, 5), "dtype": "float32"},
    {"a": (3, 1, 33), "b": (3, 33, 47), "dtype": "bfloat16", "a_layout": "sliced"},
    {"a": (3, 29, 65), "b": (3, 65, 1), "dtype": "float16", "a_layout": "transposed"},
    {"a": (2, 17, 130), "b": (2, 130, 19), "dtype": "float32", "a_layout": "dilated", "b_layout": "sliced"},
    {"a": (2, 21, 37), "b": (2, 37, 18), "dtype": "float32", "a_layout": "offset", "b_layout": "transposed"},
    {"a": (4, 9, 7), "b": (4, 7, 13), "dtype": "float32", "a_layout": "expanded"},
    {"a": (2, 33, 20), "b": (2, 20, 7), "dtype": "float32", "kind": "special"},
    {"a": (2, 21, 35), "b": (2, 35, 23), "dtype": "float64", "b_layout": "transposed"},
    {"a": (5, 12, 1), "b": (5, 1, 70), "dtype": "float16", "b_layout": "expanded"},
    {"a": (2, 67, 16), "b": (2, 16, 131), "dtype": "bfloat16"},
    {"a": (3, 4, 5), "b": (2, 5, 4), "dtype": "float32", "origin": "beyond"},
    {"a": (2, 4, 5), "b": (2, 5, 4), "dtype": "float32", "b_dtype": "float16", "origin": "beyond"},
)
_OUT = points(
    {"a": (3, 15, 64), "b": (3, 64, 40), "dtype": "float32"},
    {"a": (2, 7, 21), "b": (2, 21, 33), "dtype": "float16", "out": "empty"},
    {"a": (2, 18, 35), "b": (2, 35, 11), "dtype": "bfloat16", "out": "dilated", "b_layout": "transposed"},
    {"a": (4, 12, 9), "b": (4, 9, 17), "dtype": "float32", "out": "transposed", "a_layout": "transposed"},
    {"a": (2, 3, 4), "b": (2, 4, 5), "dtype": "float32", "out_dtype": "float64", "origin": "beyond"},
)
_SMOKE = points(
    {"a": (2, 9, 17), "b": (2, 17, 5), "dtype": "float32"}, {"a": (3, 3, 8), "b": (3, 8, 20), "dtype": "float16"}
)
_LAYOUTS: dict[str, Any] = {"b_layout": ("contiguous", "transposed")}

OPERATOR = Operator(
    source="aten",
    name="bmm",
    interfaces=(
        Interface(
            "bmm",
            matmul.shaped,
            suites(
                paper=(
                    product(**_sizes(4, *BLAS_MNK), dtype=FLOATS, timed=True),
                    product(**_sizes(16, BLAS_MNK[1]), dtype=FLOATS, **_LAYOUTS, origin="extra"),
                    _AWKWARD,
                ),
                quick=(
                    pairwise(**_sizes(3, (1, 1, 32), (15, 40, 64), (33, 53, 71)), dtype=FLOATS, **_LAYOUTS),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            matmul.jitter_shaped,
        ),
        Interface(
            "bmm.out",
            matmul.shaped_out,
            suites(
                paper=(product(**_sizes(4, BLAS_MNK[1]), dtype=FLOATS, **_LAYOUTS, origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            matmul.jitter_shaped,
        ),
    ),
    compare=Close(depth=matmul.terms, scale=matmul.product_of_magnitudes),
    description="The matrix products of (B, M, K) and (B, K, N), one a batch item.",
    notes=(
        "fp32 products and sums are fp32, not TF32; an empty K gives zeros.",
        "16-bit inputs are multiplied exactly, summed in fp32 and rounded once.",
        "Both have three dimensions, one type, the same batch and matching inner sizes; else it is an error.",
    ),
    left_out=(
        ("bmm.dtype", "registered for CUDA only, so it has no oracle on the CPU"),
        ("bmm.dtype_out", "registered for CUDA only, so it has no oracle on the CPU"),
    ),
    usual=FLOATING,
    family="matmul",
)
