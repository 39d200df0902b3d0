"""Elements and slices replaced, or added to, at lists of indices and masks (aten::index_put_)."""

from typing import Any

from kgb_gym.operators.aten.families import advanced, putting
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, pairwise, points, product

_SMALL: dict[str, Any] = {
    "shape,picks,given": [
        ((32, 32), ([8], [8]), [8]),
        ((32, 32), ([8], [2, 8]), [8]),
        ((32, 32), ([2, 8],), [32]),
        ((64, 64, 64), ([2, 8], [2, 8]), [2, 8, 64]),
        ((100,), ("mask",), None),
        ((32, 32), ("mask2",), None),
        ((16, 16, 4), ("mask3",), None),
    ]
}
_LARGE: dict[str, Any] = {
    "shape,picks,given": [
        ((268435456,), ([65536],), [65536]),
        ((512, 512, 512), ([128], [128], [128]), [128]),
        ((512, 512, 512), ([2, 128], [128], [128]), [128]),
        ((512, 512, 512), ([2, 128],), [512]),
    ]
}
_PART: dict[str, Any] = {
    "shape,picks,given": [
        ((16777216,), ([65536],), [65536]),
        ((128, 128, 128), ([128], [128], [128]), [128]),
        ((128, 128, 128), ([2, 64], [64], [64]), [64]),
        ((128, 128, 128), ([2, 64],), [128]),
    ]
}
_SUMMED: dict[str, Any] = {
    "shape,picks,given": [
        ((16777216,), ([65536],), [65536]),
        ((32, 32), ([8], [8]), [8]),
        ((128, 128, 128), ([128], [128], [128]), [128]),
        ((64, 64, 64), ([2, 8], [2, 8], [2, 8]), [2, 8]),
        ((32, 32), ("mask2",), None),
    ]
}
_QUICK: dict[str, Any] = {
    "shape,picks,given": [
        ((300,), ([70],), [70]),
        ((32, 32), ([8], [2, 8]), [8]),
        ((12, 11, 17), ([2, 5], [5], [5]), [5]),
        ((9, 8, 6), ([2, 3], [2, 3]), [2, 3, 6]),
    ]
}

OPERATOR = Operator(
    source="aten",
    name="index_put_",
    interfaces=(
        Interface(
            "index_put_",
            advanced.placement,
            suites(
                paper=(
                    product(**_LARGE, dtype=("float16",), accumulate=(False,), timed=True),
                    product(**_PART, dtype=("float32", "bfloat16"), accumulate=(False,), timed=True),
                    product(**_SMALL, dtype=FLOATS, accumulate=(False,), timed=True),
                    product(**_SUMMED, dtype=FLOATS[:2], accumulate=(True,), timed=True),
                    points({"shape": (1000, 768), "picks": [[20000]], "dtype": "float32", "accumulate": True}),
                    putting.AWKWARD,
                    putting.SUMS,
                    putting.ERRORS,
                ),
                quick=(
                    pairwise(**_QUICK, dtype=FLOATS, negative=(False, True)),
                    putting.AWKWARD,
                    putting.SUMS,
                    putting.ERRORS,
                ),
                smoke=(putting.SMOKE,),
            ),
            advanced.jitter,
        ),
    ),
    compare=advanced.ExactUnlessSummed(),
    description="Assignment as in `self[i, :, j] = values`, in place: the list holds one entry for each leading dimension, "
    "an index tensor, a mask or None for a whole dimension. With `accumulate` values are added. Returns `self` itself.",
    notes=putting.NOTES,
    left_out=(("index_put_.hacked_twin", "TorchScript builtin: not in the dispatcher"),),
    usual=REAL,
    family="indexing",
)
