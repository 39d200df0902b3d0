"""Rows of a table by their numbers (aten::embedding)."""

from typing import Any

from kgb_gym.operators.aten.families import indexing
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.outputs import with_out
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, pairwise, points, product

_PUBLISHED: dict[str, Any] = {"padding_idx": (None, -1, 1, 2), "by_freq": (True, False)}

_AWKWARD = points(
    {"rows": 7, "width": 1, "indices": [5], "dtype": "float32"},
    {"rows": 5, "width": 9, "indices": [], "dtype": "float16"},
    {"rows": 5, "width": 9, "indices": [0, 3], "dtype": "float32"},
    {"rows": 9, "width": 33, "indices": [4, 3], "dtype": "float32", "index_dtype": "int32", "layout": "transposed"},
    {
        "rows": 6,
        "width": 21,
        "indices": [3, 2, 5],
        "dtype": "bfloat16",
        "layout": "sliced",
        "index_layout": "transposed",
    },
    {"rows": 8, "width": 40, "indices": [11], "dtype": "float64", "layout": "offset", "index_layout": "dilated"},
    {"rows": 3, "width": 2100, "indices": [9], "dtype": "float16", "layout": "dilated"},
    {"rows": 300, "width": 3, "indices": [700], "dtype": "int32"},
    {"rows": 6, "width": 17, "indices": [40], "dtype": "bool"},
    {"rows": 4, "width": 3, "indices": [5], "dtype": "float32", "wrong": "rank", "origin": "beyond"},
    {"rows": 4, "width": 3, "indices": [5], "dtype": "float32", "wrong": "type", "origin": "beyond"},
)
_OUT = points(
    {"rows": 7, "width": 33, "indices": [5, 3], "dtype": "float32"},
    {"rows": 9, "width": 20, "indices": [6], "dtype": "bfloat16", "out": "empty", "padding_idx": 2},
    {"rows": 9, "width": 13, "indices": [6, 2], "dtype": "float16", "out": "transposed", "layout": "transposed"},
    {"rows": 9, "width": 13, "indices": [6], "dtype": "float32", "out_dtype": "float64", "origin": "beyond"},
)
_SMOKE = points(
    {"rows": 7, "width": 17, "indices": [5], "dtype": "float32"},
    {"rows": 4, "width": 9, "indices": [2, 3], "dtype": "float16"},
)

OPERATOR = Operator(
    source="aten",
    name="embedding",
    interfaces=(
        Interface(
            "embedding",
            indexing.embedding,
            suites(
                paper=(
                    product(
                        rows=(128, 256, 4096), indices=([2, 4], [2, 8], [4, 4], [4, 8]), width=(4096,), dtype=FLOATS,
                        **_PUBLISHED, timed=True,
                    ),
                    points({"rows": 50257, "width": 768, "indices": [8, 1024], "dtype": "float16"},
                           {"rows": 50257, "width": 768, "indices": [8, 1024], "dtype": "float32",
                            "index_dtype": "int32"}),
                    _AWKWARD,
                ),
                quick=(
                    pairwise(rows=(16, 40), indices=([2, 4], [4, 3]), width=(96, 256), dtype=FLOATS, **_PUBLISHED),
                    _AWKWARD,
                ),
                smoke=(_SMOKE,),
            ),
            indexing.embedding_jitter,
        ),
        Interface(
            "embedding.out",
            with_out(indexing.embedding, indexing.embedded),
            suites(
                paper=(
                    product(rows=(4096,), indices=([4, 8],), width=(4096,), dtype=FLOATS, origin="extra"),
                    _OUT,
                ),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            indexing.embedding_jitter,
        ),
    ),
    compare=Exact(),
    description="Looks up rows: `answer[..., :] = weight[indices[...], :]`, of shape `indices.shape + (width,)`.",
    notes=(
        "Indices are int32 or int64, of any shape and layout, and lie within the table; others are not tested.",
        "`padding_idx`, `scale_grad_by_freq` and `sparse` concern gradients only: the row is returned as it is.",
        "A weight that is no matrix, floating-point indices and an `out` of another type are RuntimeErrors.",
    ),
    usual=REAL,
    family="indexing",
)  # fmt: skip
