"""The kernel behind indexed assignment (aten::_index_put_impl_)."""

from typing import Any

from kgb_gym.operators.aten.families import advanced, putting
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, pairwise, points, product

_PUBLISHED: dict[str, Any] = {
    "shape,picks": [((32, 32), ([16], [16])), ((64, 64, 64), ([32], [32], [32]))],
}
_QUICK: dict[str, Any] = {"shape,picks": [((32, 32), ([16], [16])), ((13, 12, 14), ([9], [9], [9]))]}
_UNSAFE = points(
    {"shape": (9, 33), "picks": [[5]], "dtype": "float32", "accumulate": False, "unsafe": True, "negative": True},
    {"shape": (9, 33), "picks": [[25], [25]], "dtype": "float32", "accumulate": True, "unsafe": True},
)

OPERATOR = Operator(
    source="aten",
    name="_index_put_impl_",
    interfaces=(
        Interface(
            "_index_put_impl_",
            advanced.placement,
            suites(
                paper=(
                    product(**_PUBLISHED, dtype=FLOATS, accumulate=(False,), timed=True),
                    product(
                        shape=((32, 32),), picks=([[64], [64]],), dtype=FLOATS[1:2], accumulate=(True,), timed=True
                    ),
                    points(
                        {"shape": (4096, 4096), "picks": [[3000]], "dtype": "float32"},
                        {"shape": (1000, 768), "picks": [[20000]], "dtype": "float32", "accumulate": True},
                    ),
                    putting.AWKWARD,
                    putting.SUMS,
                    putting.ERRORS,
                    _UNSAFE,
                ),
                quick=(
                    pairwise(**_QUICK, dtype=FLOATS, accumulate=(False, True)),
                    putting.AWKWARD,
                    putting.SUMS,
                    putting.ERRORS,
                    _UNSAFE,
                ),
                smoke=(putting.SMOKE,),
            ),
            advanced.jitter,
        ),
    ),
    compare=advanced.ExactUnlessSummed(),
    description="Assignment as in `self[i, :, j] = values`, in place, with a list of index tensors, masks and None. With "
    "`accumulate` values are added. Returns `self` itself.",
    notes=(*putting.NOTES, "`unsafe` promises that all numbers are in range; negative ones still count from the end."),
    left_out=(("_index_put_impl_.hacked_twin", "TorchScript builtin: not in the dispatcher"),),
    usual=REAL,
    family="indexing",
)
