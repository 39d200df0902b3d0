"""Operators that return an alias of their input: builders and grids."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from kgb_gym.operators.aten.families.common import strided, values
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.grids import DTYPES
from kgb_gym.operators.maker import Maker

ALL_DTYPES = tuple(d for d in DTYPES if not d.startswith("float8"))


def build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    contiguous: bool = True,
    layout: str = "contiguous",
    strides: Sequence[int] | None = None,
) -> Call:
    """`f(self)`; not `contiguous`: every second column of a wider tensor."""
    if strides is not None:
        return make.call(strided(make, shape, dtype, strides))
    return make.call(values(make, shape, dtype, layout=layout if contiguous else "dilated"))
