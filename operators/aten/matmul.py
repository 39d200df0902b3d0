"""Products of vectors, matrices and batches of matrices (aten::matmul)."""

from typing import Any

from kgb_gym.operators.aten.families import matmul
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import BLAS_MNK, FLOATING, FLOATS, pairwise, points, product


def _sizes(*sizes: tuple[int, int, int]) -> dict[str, Any]:
    return {"a,b": [((m, k), (k, n)) for m, n, k in sizes]}


def _batches(batch: int, *sizes: tuple[int, int, int]) -> dict[str, Any]:
    return {"a,b": [((batch, m, k), (batch, k, n)) for m, n, k in sizes]}


_AWKWARD = points(
    {"a": (37,), "b": (37,), "dtype": "float16"},
    {"a": (1100,), "b": (1100,), "dtype": "float32", "b_layout": "dilated"},
    {"a": (0,), "b": (0,), "dtype": "float32"},
    {"a": (23, 41), "b": (41,), "dtype": "bfloat16", "a_layout": "transposed"},
    {"a": (19,), "b": (19, 70), "dtype": "float32", "b_layout": "transposed"},
    {"a": (4, 9, 33), "b": (33,), "dtype": "float32"},
    {"a": (17,), "b": (4, 17, 5), "dtype": "float16"},
    {"a": (3, 5, 9, 33), "b": (33, 21), "dtype": "bfloat16", "a_layout": "sliced"},
    {"a": (5, 1, 6, 20), "b": (4, 20, 7), "dtype": "float32"},
    {"a": (9, 20), "b": (3, 20, 7), "dtype": "float32", "b_layout": "offset"},
    {"a": (4, 9, 7), "b": (4, 7, 13), "dtype": "float32", "a_layout": "expanded"},
    {"a": (4, 2, 0), "b": (0, 3), "dtype": "float32"},
    {"a": (0, 2, 3), "b": (3, 4), "dtype": "float32"},
    {"a": (21, 35), "b": (35, 23), "dtype": "float64", "b_layout": "transposed"},
    {"a": (33, 20), "b": (20, 7), "dtype": "float32", "kind": "special"},
    {"a": (67, 16), "b": (16, 131), "dtype": "bfloat16"},
    {"a": (), "b": (3,), "dtype": "float32", "origin": "beyond"},
    {"a": (2, 3), "b": (2, 3), "dtype": "float32", "origin": "beyond"},
    {"a": (2, 2, 3), "b": (3, 3, 2), "dtype": "float32", "origin": "beyond"},
    {"a": (2, 3), "b": (3, 2), "dtype": "float32", "b_dtype": "float16", "origin": "beyond"},
)
_OUT = points(
    {"a": (15, 64), "b": (64, 40), "dtype": "float32"},
    {"a": (7, 21), "b": (21, 33), "dtype": "float16", "out": "empty"},
    {"a": (3, 18, 35), "b": (35, 11), "dtype": "bfloat16", "out": "dilated", "b_layout": "transposed"},
    {"a": (13, 9), "b": (9,), "dtype": "float32", "out": "empty"},
    {"a": (4, 12, 9), "b": (4, 9, 17), "dtype": "float32", "out_dtype": "float64", "origin": "beyond"},
)
_SMOKE = points({"a": (9, 17), "b": (17, 5), "dtype": "float32"}, {"a": (3, 8), "b": (8, 20), "dtype": "float16"})
_SMALL = ((1, 1, 32), (15, 40, 64), (33, 53, 71))

OPERATOR = Operator(
    source="aten",
    name="matmul",
    interfaces=(
        Interface(
            "matmul",
            matmul.shaped,
            suites(
                paper=(
                    product(**_sizes(*BLAS_MNK), dtype=FLOATS, timed=True),
                    product(**_batches(2, *BLAS_MNK), dtype=FLOATS, timed=True),
                    product(**_sizes(BLAS_MNK[1]), dtype=FLOATS, b_layout=("transposed", "sliced"), origin="extra"),
                    _AWKWARD,
                ),
                quick=(
                    pairwise(**_sizes(*_SMALL), dtype=FLOATS),
                    product(**_batches(2, _SMALL[1]), dtype=FLOATS[:1]),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            matmul.jitter_shaped,
        ),
        Interface(
            "matmul.out",
            matmul.shaped_out,
            suites(
                paper=(product(**_sizes(BLAS_MNK[1]), dtype=FLOATS, origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            matmul.jitter_shaped,
        ),
    ),
    compare=Close(depth=matmul.terms, scale=matmul.other_of_magnitudes),
    description="The matrix product of two tensors: vectors, matrices, or batches of matrices that broadcast.",
    notes=(
        "A vector on the left counts as a row, on the right as a column; that dimension is not in the answer.",
        "All dimensions but the last two are batches and broadcast. A 0-d operand is an error.",
        "fp32 products and sums are fp32, not TF32; an empty inner size gives zeros.",
        "16-bit inputs are multiplied exactly, summed in fp32 and rounded once. Both have one type.",
    ),
    usual=FLOATING,
    family="matmul",
)
