"""Random operators: builders that hand over a generator, and the tests of a Bernoulli sample."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import common
from kgb_gym.operators.aten.families.common import buffer, values
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Build, Call
from kgb_gym.operators.distribution import Test, binomial_p
from kgb_gym.operators.maker import Maker

PROBABILITIES = (0.0, 0.125, 0.3, 0.5, 0.75, 0.9, 1.0)
"""What a tensor of probabilities holds: few values, so that each can be counted."""

MAX_BUCKETS = 64

LARGE = 16384
"""From this size on, `lags` takes a bound instead of an exact expectation."""


def probabilities(make: Maker, shape: Sequence[int], dtype: torch.dtype, layout: str = "contiguous") -> torch.Tensor:
    """A tensor of probabilities drawn from `PROBABILITIES`."""
    pick = make.integers(shape, torch.int64, low=0, high=len(PROBABILITIES))
    table = torch.tensor(PROBABILITIES, dtype=dtype)
    tensor = make.full(shape, 0.5, dtype, layout=layout)
    return tensor.copy_(table[pick]) if layout != "expanded" else tensor


def of_self(
    make: Maker, *, shape: Sequence[int], dtype: torch.dtype, layout: str = "contiguous", seeded: bool = True
) -> Call:
    """`bernoulli(self, *, generator=)`, where `self` holds the probabilities."""
    return make.call(probabilities(make, shape, dtype, layout), **_generator(make, seeded))


def of_number(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    p: float | None,
    layout: str = "contiguous",
    seeded: bool = True,
) -> Call:
    """`f(self, p, *, generator=)`: `self` gives shape and type only. `p` None: not passed."""
    tensor = values(make, shape, dtype, layout=layout)
    args = (tensor,) if p is None else (tensor, p)
    return make.call(*args, **_generator(make, seeded))


def of_tensor(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    p_shape: Sequence[int] | None = None,
    p_dtype: torch.dtype = torch.float32,
    layout: str = "contiguous",
    p_layout: str = "contiguous",
    seeded: bool = True,
) -> Call:
    """`f(self, p, *, generator=)` with a tensor of probabilities that broadcasts to `self`."""
    p = probabilities(make, shape if p_shape is None else p_shape, p_dtype, p_layout)
    return make.call(values(make, shape, dtype, layout=layout), p, **_generator(make, seeded))


def with_out(build: Build) -> Build:
    """The `out=` twin of a builder: parameters `out` (see `common.buffer`) and `out_dtype` join."""

    def call(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
        plain = build(make, **params)
        tensor = plain.args[0]
        return Call(plain.args, {**plain.kwargs, "out": buffer(make, tensor.shape, out_dtype or tensor.dtype, out)})

    return call


def of_probabilities_in_self(arguments: Arguments, sample: torch.Tensor) -> Sequence[Test]:
    """`bernoulli_tests` where `self` holds the probabilities."""
    return bernoulli_tests(arguments["self"], sample)


def of_probabilities_in_p(arguments: Arguments, sample: torch.Tensor) -> Sequence[Test]:
    """`bernoulli_tests` where `p` is a number or a tensor; 0.5 if it is not given."""
    return bernoulli_tests(torch.as_tensor(arguments.get("p", 0.5), dtype=torch.float64), sample)


def bernoulli_tests(probability: torch.Tensor, sample: torch.Tensor) -> Sequence[Test]:
    """Only zeros and ones; the right number of ones for each probability; no correlation at any lag.

    Probabilities 0 and 1 are met exactly. The correlation's p-value is Freedman's bound for martingales times the number
    of lags, so it holds at every size; it needs at least 256 elements of probability in (0, 1). Elements without chance
    are left out of it, which moves the others; `lags` looks at a few lags again, with all elements in place.
    """
    p = probability.double().expand(sample.shape).reshape(-1)
    x = sample.double().reshape(-1)
    strange = int(((x != 0) & (x != 1)).sum())
    tests = [Test("values", 1.0 if not strange else 0.0, f"{strange} of {x.numel()} values are neither 0 nor 1")]
    if strange or not x.numel():
        return tests
    levels = sorted(set(p.tolist()))
    if len(levels) > MAX_BUCKETS:
        raise ValueError(f"a case has {len(levels)} different probabilities: use at most {MAX_BUCKETS}")
    for level in levels:
        mine = x[p == level]
        ones, n = int(mine.sum()), mine.numel()
        tests.append(Test(f"count at p={level:.4g}", binomial_p(ones, n, level), f"{ones} ones among {n}"))
    inner = (p > 0) & (p < 1)
    q = p[inner]
    residual = (x[inner] - q) / (q * (1 - q)).sqrt()
    if residual.numel() >= 256:
        tests += [correlation(q, residual), lags(p, x)]
    return tests


def correlation(p: torch.Tensor, residual: torch.Tensor) -> Test:
    """The largest correlation of a sample with itself, over all lags up to half its length, with a p-value for all."""
    n = residual.numel()
    spectrum = torch.fft.rfft(residual, 2 * n)
    totals = torch.fft.irfft(spectrum.abs().square(), 2 * n)[1 : n // 2 + 1].abs()
    earlier = residual.square().cumsum(0).flip(0)[1 : n // 2 + 1]  # of all elements that have a later partner
    pairs = torch.arange(n - 1, n - 1 - totals.numel(), -1, dtype=torch.float64)
    largest = float(((1 - p).maximum(p) / (p * (1 - p)).sqrt()).max()) ** 2
    exponent = totals.square() / 2 / (torch.maximum(pairs, earlier) + largest * totals / 3)
    worst = int(exponent.argmax())
    value = min(1.0, 2 * totals.numel() * math.exp(-float(exponent[worst])))
    text = f"{float(totals[worst] / pairs[worst]):+.3f} over {int(pairs[worst])} pairs at lag {worst + 1}"
    return Test("correlation", value, text)


def lags(p: torch.Tensor, hits: torch.Tensor) -> Test:
    """Correlations of hits (0 or 1) of probabilities `p` at half the length and at all powers of two below the length.

    For a fixed s, the product over i of exp(s r[i] r[i + lag]) / E[exp(s r[i] r[i + lag]) | r[i]] has expectation 1 (r is
    the standardized hit), and so has the mean of such products over lags, signs and sizes of s. By Markov's inequality
    one over that mean is a p-value at every size and for all probabilities. A second look at middling probabilities sees
    what the others hide, whose correlations have other signs. Large samples take Bennett's bound of the expectation.
    """
    n = p.numel()
    inside = (p > 0) & (p < 1)
    middle = (p >= 0.25) & (p <= 0.75)
    logs, worst, text = [], -math.inf, ""
    for chosen in (inside,) if bool((inside == middle).all()) or not bool(middle.any()) else (inside, middle):
        scale = torch.where(chosen, (p * (1 - p)).sqrt(), math.inf)
        high, low = (1 - p) / scale, -p / scale
        residual = (hits - p) / scale
        largest = float(torch.maximum(high, -low).max()) ** 2
        for lag in sorted({n // 2, (n + 1) // 2, *(1 << k for k in range((n - 1).bit_length()))}):
            early, late = residual[:-lag], residual[lag:]
            pairs = int((chosen[:-lag] & chosen[lag:]).sum())
            total = float((early * late).sum())
            energy = float((early * chosen[lag:]).square().sum())
            for size in (4.0, -4.0, 6.5, -6.5):
                step = size / math.sqrt(max(1, pairs))
                reach = abs(step) * largest
                if n >= LARGE and reach < 1:
                    moment = energy * step * step * (math.expm1(reach) - reach) / reach**2 if reach else 0.0
                else:
                    up, down, share = step * early * high[lag:], step * early * low[lag:], p[lag:]
                    top = torch.maximum(up, down)
                    moment = float((top + (share * (up - top).exp() + (1 - share) * (down - top).exp()).log()).sum())
                logs.append(step * total - moment)
                if logs[-1] > worst:
                    worst, text = logs[-1], f"{total / max(1, pairs):+.3f} over {pairs} pairs at lag {lag}"
    mean = float(torch.tensor(logs, dtype=torch.float64).logsumexp(0)) - math.log(len(logs))
    return Test("lags", math.exp(-max(0.0, mean)), text)


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: another shape and layout; a broadcast `p` becomes one value."""
    new = common.jitter(rng, params)
    if params.get("p_shape") is not None:
        new["p_shape"] = []
    if isinstance(params.get("p"), float) and not 0 <= params["p"] <= 1:
        new["p"] = 0.5
    return new


def _generator(make: Maker, seeded: bool) -> dict[str, Any]:
    return {"generator": make.seeded()} if seeded else {}
