"""The `out=` twin of a builder whose answer's shape is a function of the call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import buffer
from kgb_gym.operators.declaration import Build, Call
from kgb_gym.operators.maker import Maker

Answer = Callable[[Call], tuple[Sequence[int], torch.dtype]]
"""Shape and type of what a call returns."""


def with_out(build: Build, answer: Answer, name: str = "out") -> Build:
    """The twin with a buffer: parameters `out` (see `common.buffer`) and `out_dtype` join.

    Args:
        build: the builder of the functional interface.
        answer: what a call gives; for a call that raises, anything.
        name: the buffer's argument.
    """

    def call(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
        plain = build(make, **params)
        shape, dtype = answer(plain)
        return Call(plain.args, {**plain.kwargs, name: buffer(make, shape, out_dtype or dtype, out)})

    return call
