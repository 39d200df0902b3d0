"""What `index_put_` and its implementing twin share: their awkward cases, notes and comparison."""

from __future__ import annotations

from kgb_gym.operators.grids import points

AWKWARD = points(
    {"shape": (9, 40), "picks": [[]], "dtype": "float32"},
    {"shape": (9, 40), "picks": [[0]], "dtype": "float32", "given": [1]},
    {"shape": (5, 6, 7), "picks": ["none", [4], [4]], "dtype": "float32", "negative": True},
    {"shape": (5, 6, 7), "picks": [[4], "none", [4]], "dtype": "float32", "negative": True, "layout": "transposed",
     "value_layout": "transposed"},
    {"shape": (3, 4, 5, 6), "picks": ["none", [2, 1], [3]], "dtype": "float16", "layout": "sliced"},
    {"shape": (3, 4, 5, 6, 2), "picks": ["none", [3], "none", [2, 3]], "dtype": "float32", "index_dtype": "int32"},
    {"shape": (30, 1100), "picks": [[3]], "dtype": "bfloat16", "index_layout": "dilated", "given": [3, 1]},
    {"shape": (9, 33), "picks": [[7]], "dtype": "float64", "layout": "dilated", "given": []},
    {"shape": (41, 60), "picks": ["mask2"], "dtype": "float32", "trues": 1201},
    {"shape": (21, 9), "picks": ["mask"], "dtype": "float32", "layout": "transposed", "index_layout": "dilated"},
    {"shape": (5, 6, 7), "picks": ["none", "mask2"], "dtype": "bfloat16", "given": [1]},
    {"shape": (3, 4, 5), "picks": ["mask3"], "dtype": "float32", "layout": "transposed"},
    {"shape": (9, 7, 8), "picks": ["mask", "none", [1]], "dtype": "float16", "negative": True},
    {"shape": (9, 7), "picks": ["mask2"], "dtype": "float32", "trues": 0, "given": []},
    {"shape": (40, 3), "picks": ["mask"], "dtype": "bool", "given": [3]},
)  # fmt: skip
SUMS = points(
    {"shape": (4, 33), "picks": [[50]], "dtype": "float32", "accumulate": True},
    {"shape": (40, 9), "picks": [[50]], "dtype": "float16", "accumulate": True, "layout": "transposed"},
    {"shape": (40, 9), "picks": [[3, 9], [9]], "dtype": "bfloat16", "accumulate": True, "negative": True},
    {"shape": (7, 3), "picks": [[20], [20]], "dtype": "float64", "accumulate": True, "layout": "dilated", "given": []},
    {"shape": (9, 8), "picks": [[30]], "dtype": "int8", "accumulate": True},
    {"shape": (9, 8), "picks": ["none", [30]], "dtype": "int64", "accumulate": True, "layout": "sliced"},
    {"shape": (30, 8), "picks": ["mask"], "dtype": "float32", "accumulate": True, "given": [8]},
)  # fmt: skip
ERRORS = points(
    {"shape": (6, 8), "picks": [[3]], "dtype": "float32", "value_dtype": "float64", "origin": "beyond"},
    {"shape": (6, 8), "picks": [[3]], "dtype": "float32", "given": [2, 8], "origin": "beyond"},
    {"shape": (6, 8), "picks": [[3], [3], [3]], "dtype": "float32", "given": [3], "origin": "beyond"},
    {"shape": (6, 8), "picks": [[3]], "dtype": "float32", "wrong": "type", "given": [8], "origin": "beyond"},
)
SMOKE = points(
    {"shape": (9, 17), "picks": [[5]], "dtype": "float32"},
    {"shape": (9, 4), "picks": ["mask2"], "dtype": "float16", "given": []},
)
NOTES = (
    (
        "Index tensors are int32 or int64, of any rank and layout; negative numbers count from the end. They are broadcast to "
        "one shape B, which takes their place in the shape of `self` where they stand side by side, else comes first; the "
        "values are broadcast to that."
    ),
    (
        "A bool tensor is a mask over as many dimensions as it has: it stands for the indices of its true elements, in "
        "row-major order. Their number can't be read back; where the values hold one for each, their shape tells."
    ),
    (
        "Without `accumulate` no element is named twice. With it, all values that meet are added: 16-bit sums may be rounded at "
        "every step, integers wrap."
    ),
    "Numbers out of range, lists of None only, uint8 masks and overlapping `self` are not tested.",
    (
        "Values of another type, or that can't be broadcast, are RuntimeErrors; too many entries and indices of another type "
        "are IndexErrors."
    ),
)
