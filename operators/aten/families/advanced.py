"""Indexing by lists of index tensors, masks and None: builders, comparison, error model and jitter."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import LAYOUTS, magnitude, values
from kgb_gym.operators.compare import Arguments, Check, Close, Comparison, Exact, Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker, lay

Pick = str | Sequence[int]
"""One entry of the list of indices: the shape of an index tensor; `none`; or `mask`, `mask2`, `mask3`: a mask over so
many dimensions."""

HUGE = 1 << 24
"""Elements above which a tensor repeats a block of values: its period divides no size of the grids."""
PERIOD = 1_000_003


def lookup(
    make: Maker,
    *,
    shape: Sequence[int],
    picks: Sequence[Pick],
    dtype: torch.dtype,
    distinct: bool = False,
    negative: bool = False,
    trues: int | None = None,
    index_dtype: torch.dtype = torch.int64,
    layout: str = "contiguous",
    index_layout: str = "contiguous",
    wrong: str = "",
) -> Call:
    """`index(self, indices)`.

    Args:
        make: the source of values.
        shape: sizes of `self`.
        picks: the entries of `indices`.
        dtype: type of `self`.
        distinct: whether no index tensor holds a number twice.
        negative: whether half of the indices count from the end.
        trues: how many elements of a mask are true; None: half of them.
        index_dtype: type of the index tensors.
        layout: layout of `self`.
        index_layout: layout of the index tensors and masks.
        wrong: `type`: the first index tensor is floating point; `mask`: a mask is too long.
    """
    indices: list[torch.Tensor | None] = []
    dim = 0
    for pick in picks:
        size = shape[dim] if dim < len(shape) else 1
        if pick == "none":
            indices.append(None)
            dim += 1
        elif isinstance(pick, str):
            rank = int(pick[4:] or 1)
            sizes = [n + (wrong == "mask") for n in shape[dim : dim + rank]]
            count = math.prod(sizes) // 2 if trues is None else trues
            flat = make.permutation(math.prod(sizes)) < count
            indices.append(lay(flat.view(sizes), index_layout))
            dim += rank
        else:
            where = _spread(make, pick, size) if distinct else _anywhere(make, pick, size)
            if negative:
                where = where - size * make.integers(pick, torch.int64, low=0, high=2)
            indices.append(lay(where.to(torch.float32 if wrong == "type" else index_dtype), index_layout))
            dim += 1
    return make.call(_tensor(make, shape, dtype, layout), indices)


def looked_up(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of what `index` gives."""
    tensor, indices = call.args[:2]
    try:
        return torch.ops.aten.index(torch.empty(()).expand(tensor.shape), indices).shape, tensor.dtype
    except (IndexError, RuntimeError):
        return (0,), tensor.dtype


def placement(
    make: Maker,
    *,
    dtype: torch.dtype,
    given: Sequence[int] | None = None,
    accumulate: bool | None = None,
    unsafe: bool | None = None,
    value_dtype: torch.dtype | None = None,
    value_layout: str = "contiguous",
    **params: Any,
) -> Call:
    """`index_put_(self, indices, values[, accumulate[, unsafe]])`.

    Args:
        make: the source of values.
        dtype: type of `self` and the values.
        given: shape of the values; None: that of what is indexed.
        accumulate: passed if given. Without it no element is indexed twice.
        unsafe: passed if given, after `accumulate`.
        value_dtype: type of the values, if it is another.
        value_layout: layout of the values.
        params: see `lookup`.
    """
    plain = lookup(make, dtype=dtype, distinct=not accumulate, **params)
    shape = looked_up(plain)[0] if given is None else given
    flags = () if accumulate is None else (accumulate,) if unsafe is None else (accumulate, unsafe)
    return Call((*plain.args, values(make, shape, value_dtype or dtype, layout=value_layout), *flags))


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """A larger `self` under the same indices, other layouts, and no error."""
    new = {**params, "wrong": "", "layout": rng.choice(LAYOUTS), "index_layout": rng.choice(LAYOUTS[:3])}
    masked = any(str(p).startswith("mask") for p in params["picks"])
    small = [min(n, 40 if len(params["shape"]) < 3 else 20) for n in params["shape"]]
    if math.prod(params["shape"]) > 1 << 14:
        new["picks"] = [p if isinstance(p, str) else [min(n, 3) for n in p] for p in params["picks"]]
        new["given"] = None
    if not masked and (params.get("given") is None or new.get("given") is None):
        small = [n + rng.randint(0, 5) for n in small]
    if "given" not in params:
        new.pop("given", None)
    new["shape"] = small
    if params.get("value_dtype"):
        new["value_dtype"] = params["dtype"]
    if masked and params.get("given") is None:
        new["trues"] = rng.randint(1, 7)
    return new


@dataclass(frozen=True)
class ExactUnlessSummed:
    """Bit for bit, except where values are added to what is there."""

    summed: Comparison = field(default_factory=lambda: Close(depth=meetings, scale=summed_magnitudes, own=4.0))

    @property
    def exact(self) -> bool:
        return False

    def check(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> Check:
        return self._of(arguments).check(target, got, arguments, widen)

    def right(self, target: Target, got: torch.Tensor, arguments: Arguments, widen: float = 1.0) -> bool:
        return self._of(arguments).right(target, got, arguments, widen)

    def _of(self, arguments: Arguments) -> Comparison:
        return self.summed if arguments.get("accumulate") else Exact()


def meetings(arguments: Arguments) -> int:
    """The largest number of values that meet in one element, its own among them."""
    count = torch.ones(arguments["self"].shape, dtype=torch.int64)
    return int(count.index_put(arguments["indices"], torch.tensor(1), True).max()) if count.numel() else 1


def summed_magnitudes(arguments: Arguments) -> torch.Tensor:
    """|self| + Σ|values| of what meets in an element."""
    start = magnitude(arguments["self"]).contiguous()
    return start.index_put(arguments["indices"], magnitude(arguments["values"]), True)


def _tensor(make: Maker, shape: Sequence[int], dtype: torch.dtype, layout: str) -> torch.Tensor:
    size = math.prod(shape)
    if size <= HUGE:
        return values(make, shape, dtype, layout=layout)
    return values(make, (PERIOD,), dtype).repeat(size // PERIOD + 1)[:size].view(tuple(shape))


def _anywhere(make: Maker, shape: Sequence[int], size: int) -> torch.Tensor:
    if not math.prod(shape):
        return torch.zeros(tuple(shape), dtype=torch.int64)
    return make.integers(shape, torch.int64, low=0, high=max(1, size))


def _spread(make: Maker, shape: Sequence[int], size: int) -> torch.Tensor:
    """Numbers below `size`, none twice: one from each of as many stretches, in random order."""
    count = math.prod(shape)
    if count > size:
        return _anywhere(make, shape, size)
    stretch = size // max(1, count)
    inner = _anywhere(make, (count,), stretch)
    return (torch.arange(count) * stretch + inner)[make.permutation(count)].view(tuple(shape))
