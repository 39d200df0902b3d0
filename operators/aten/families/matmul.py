"""Products of matrices: builders, error model and jitter."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import LAYOUTS, buffer, magnitude, values
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker


def product(
    make: Maker,
    *,
    M: int,
    N: int,
    K: int,
    dtype: torch.dtype,
    b_column_major: bool = False,
    a_layout: str = "contiguous",
    b_layout: str = "contiguous",
    kind: str = "normal",
    wrong: str = "",
) -> Call:
    """`f(self, mat2)` for (M, K) and (K, N).

    Args:
        make: the source of values.
        M: rows of the answer.
        N: columns of the answer.
        K: terms of every element.
        dtype: type of both.
        b_column_major: whether `mat2` is stored by columns.
        a_layout: layout of `self`.
        b_layout: layout of `mat2`, unless it is column-major.
        kind: see `common.values`.
        wrong: `rank`: `mat2` is a vector.
    """
    a = values(make, (M, K), dtype, kind, a_layout)
    if wrong == "rank":
        return make.call(a, values(make, (K,), dtype))
    return make.call(a, values(make, (K, N), dtype, kind, "transposed" if b_column_major else b_layout))


def product_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    """The `out=` twin of `product`."""
    plain = product(make, **params)
    shape = (params["M"], params["N"])
    return Call(plain.args, {"out": buffer(make, shape, out_dtype or params["dtype"], out)})


def terms(arguments: Arguments) -> int:
    """K."""
    return int(arguments["self"].shape[-1])


def product_of_magnitudes(arguments: Arguments) -> torch.Tensor:
    """|self| @ |mat2|."""
    return magnitude(arguments["self"]) @ magnitude(arguments["mat2"])


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: other sizes (at most 96, or what the case has) and layouts; errors are repaired."""
    new = dict(params)
    new.pop("wrong", None)
    for name in ("M", "N", "K"):
        size = params[name]
        new[name] = max(1, min(size + rng.randint(-max(2, size // 4), max(2, size // 4)), max(96, size)))
    new["a_layout"], new["b_layout"] = rng.choice(LAYOUTS), rng.choice(LAYOUTS)
    return new
