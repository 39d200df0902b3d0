"""Samples of continuous and counting distributions: their builders, and tests by exact distribution functions.

A sample that was rounded to its type is judged by the distribution of the rounded variable: a value stands for all that
is nearer to it than to its neighbours.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import common
from kgb_gym.operators.aten.families.common import values
from kgb_gym.operators.aten.families.sampling import correlation, lags
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.distribution import Test, binomial_p
from kgb_gym.operators.maker import Maker

LEVELS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""Quantiles at which a sample is counted."""

MANY = 256
"""The least size at which a sample is judged for being too regular."""

COARSEST = 2.0**-22
"""The largest probability of one value that 32-bit and 64-bit samples may have by their random bits alone."""

RATES = {
    torch.bfloat16: (0.0, 0.5, 3.0, 9.5, 40.0, 100.0),
    torch.float16: (0.0, 0.5, 3.0, 9.5, 40.0, 1000.0),
    torch.float32: (0.0, 0.5, 3.0, 9.5, 40.0, 1000.0, 100000.0),
    torch.float64: (0.0, 0.5, 3.0, 9.5, 40.0, 1000.0, 100000.0),
}
"""Few Poisson rates, so that each can be counted, whose samples the type holds exactly."""


def in_place(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    lambd: float | None = None,
    layout: str = "contiguous",
    seeded: bool = True,
) -> Call:
    """`f_(self[, lambd], *, generator=)`."""
    tensor = values(make, shape, dtype, layout=layout)
    keywords = {"generator": make.seeded()} if seeded else {}
    return make.call(tensor, **keywords) if lambd is None else make.call(tensor, lambd, **keywords)


def of_rates(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    rates: Sequence[float] = (),
    layout: str = "contiguous",
    seeded: bool = True,
) -> Call:
    """`f(self, generator)`, where `self` holds the given rates, or those of `RATES`."""
    if dtype not in RATES:
        return make.call(make.integers(shape, dtype, low=0, high=9, layout=layout))
    table = torch.tensor(rates or RATES[dtype], dtype=dtype)
    pick = make.integers(shape, torch.int64, low=0, high=len(table))
    tensor = make.full(shape, 3.0, dtype, layout=layout).copy_(table[pick])
    return make.call(tensor, make.seeded()) if seeded else make.call(tensor)


def exponential_tests(arguments: Arguments, sample: torch.Tensor) -> Sequence[Test]:
    """Positive and finite; distributed as it should be, everywhere and at every level; no correlation at any lag."""
    rate = float(arguments.get("lambd", 1.0))
    tests = continuous_tests(sample, lambda x: -torch.expm1(-rate * x), lambda q: -math.log1p(-q) / rate)
    if len(tests) > 1:
        n = torch.tensor(float(sample.numel()), dtype=torch.float64)
        total = rate * sample.double().sum()
        tail = torch.minimum(torch.special.gammainc(n, total), torch.special.gammaincc(n, total))
        tests.append(Test("mean", min(1.0, 2 * float(tail)), f"{float(total / n / rate):.5g}"))
    return tests


def continuous_tests(
    sample: torch.Tensor,
    below: Callable[[torch.Tensor], torch.Tensor],
    quantile: Callable[[float], float],
    places: torch.Tensor | None = None,
) -> list[Test]:
    """Tests of a sample of positive numbers: its distribution, correlations, repeated values, and too good a fit.

    Args:
        sample: in its own type.
        below: the distribution function, in float64.
        quantile: its inverse.
        places: which elements of a larger tensor the sample fills, True for these; None: it is all of it.
    """
    x = sample.reshape(-1)
    n = x.numel()
    strange = int((~((x >= 0) & torch.isfinite(x))).sum())
    tests = [Test("values", 0.0 if strange else 1.0, f"{strange} of {n} values are negative or not finite")]
    if strange or not n:
        return tests
    zeros = int((x == 0).sum())
    lost = float(below(_upper_edge(torch.zeros(1, dtype=x.dtype)))) if x.dtype.itemsize == 2 else 0.0
    tests.append(Test("zeros", _at_most(zeros, n, lost), f"{zeros} of {n} values are 0"))
    ordered = x.double().sort().values.to(x.dtype)
    up, down = below(_upper_edge(ordered)), below(_lower_edge(ordered))
    rank = torch.arange(n, dtype=torch.float64)
    distance = float(torch.maximum((rank + 1) / n - up, down - rank / n).clamp(min=0).max())
    tests.append(Test("distribution", min(1.0, 2 * math.exp(-2 * n * distance**2)), f"off by {distance:.4f}"))
    for level in LEVELS:
        edge = torch.tensor([quantile(level)], dtype=torch.float64).to(x.dtype)
        share = float(below(_upper_edge(edge)))
        count = int((x <= edge).sum())
        tests.append(
            Test(f"count at {level:g}", binomial_p(count, n, share), f"{count} of {n} are up to {float(edge):.4g}")
        )
        if level == 0.5 and n >= 256:
            p = torch.full((n,), share, dtype=torch.float64)
            hits = (x <= edge).double()
            tests.append(correlation(p, (hits - p) / math.sqrt(share * (1 - share))))
            if places is None:
                tests.append(lags(p, hits))
            else:
                whole = torch.ones(places.numel(), dtype=torch.float64)
                tests.append(lags(*(whole.masked_scatter(places.reshape(-1), part) for part in (p, hits))))
    atom = float((up - down).max())
    if n >= MANY:
        if x.dtype.itemsize == 2:
            tests += [_variety(x, below), *_too_even(x, below, quantile)]
        else:
            tests += [_too_close(n, distance), *_too_even(x, below, quantile)[1:]]
    if x.dtype.itemsize > 2:
        repeats = n - x.unique().numel()
        likely = n * (n - 1) / 2 * (COARSEST + atom)
        tests.append(Test("repeats", _tail(repeats, likely), f"{repeats} of {n} values were there before"))
    return tests


def poisson_tests(arguments: Arguments, sample: torch.Tensor) -> Sequence[Test]:
    """Counts; distributed at every level as the rate says; no correlation at any lag. Rate 0 gives 0."""
    x, rates = sample.double().reshape(-1), arguments["self"].double().reshape(-1)
    strange = int((~((x >= 0) & (x == x.floor()) & torch.isfinite(x))).sum())
    tests = [Test("values", 0.0 if strange else 1.0, f"{strange} of {x.numel()} values are no counts")]
    if strange or not x.numel():
        return tests
    residual, shares, below = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
    for rate in sorted(set(rates.tolist())):
        mine = rates == rate
        counts, n = x[mine], int(mine.sum())
        if rate == 0:
            wrong = int((counts != 0).sum())
            tests.append(Test("rate 0", 0.0 if wrong else 1.0, f"{wrong} of {n} are not 0"))
            continue
        ks = torch.arange(math.ceil(rate + 10 * math.sqrt(rate) + 20), dtype=torch.float64)
        up_to = torch.special.gammaincc(ks + 1, torch.full_like(ks, rate))
        for k in sorted({int((up_to < level).sum()) for level in LEVELS}):
            share, count = float(up_to[k]), int((counts <= k).sum())
            tests.append(Test(f"rate {rate:g} up to {k}", binomial_p(count, n, share), f"{count} of {n}"))
        middle = int((up_to < 0.5).sum())
        share = float(up_to[middle])
        shares[mine] = share
        below[mine] = (counts <= middle).double()
        residual[mine] = ((counts <= middle).double() - share) / math.sqrt(share * (1 - share))
    some = rates > 0
    if int(some.sum()) >= 256:
        tests.append(correlation(shares[some], residual[some]))
        tests.append(lags(shares, below))
    return tests


def jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """The hidden twin of a case: another shape and layout; errors are repaired."""
    new = common.jitter(rng, params)
    if isinstance(params.get("lambd"), (int, float)) and params["lambd"] <= 0:
        new["lambd"] = 2.0
    if params.get("layout") == "expanded":
        new["layout"] = "contiguous"
    return new


def _at_most(count: int, n: int, p: float) -> float:
    """A bound on the probability of so many or more among n, each of probability p."""
    return _tail(count, n * p)


def _tail(count: int, mean: float) -> float:
    """Chernoff's bound on the probability of so many or more events, of at most `mean` expected."""
    if count <= mean:
        return 1.0
    return math.exp(count - mean + count * math.log(mean / count)) if mean else 0.0


def _too_close(n: int, distance: float) -> Test:
    """A fit that is too good: Kolmogorov's distribution, at a distance that is raised by more than its error at n."""
    x = math.sqrt(n) * distance + 0.5 / math.sqrt(n)
    terms = (math.exp(-(((2 * k - 1) * math.pi) ** 2) / (8 * x * x)) for k in range(1, 20))
    p = min(1.0, math.sqrt(2 * math.pi) / x * sum(terms))
    return Test("even distribution", p, f"off by {distance:.2g} only, as no independent samples are")


def _too_even(
    x: torch.Tensor, below: Callable[[torch.Tensor], torch.Tensor], quantile: Callable[[float], float]
) -> tuple[Test, Test]:
    """Counts in bins that are too near to the expected ones, or too alike in both halves: chi-squared's lower tail."""
    n = x.numel()
    bins = min(64, n // 20)
    edges = torch.tensor([quantile(k / bins) for k in range(1, bins)], dtype=torch.float64).to(x.dtype).unique()
    shares = below(_upper_edge(edges)).diff(prepend=edges.new_zeros(1).double(), append=edges.new_ones(1).double())
    place = torch.bucketize(x.double(), edges.double())
    first, second = (torch.bincount(part, minlength=len(shares)).double() for part in place.tensor_split(2))
    both = first + second
    off = float(((both - n * shares).square() / (n * shares)).sum())
    some = both > 0
    share = (n + 1) // 2 / n
    apart = float(((first - share * both).square() / (share * (1 - share) * both))[some].sum())
    return (
        Test("even counts", _chi_squared_below(len(shares) - 1, off), f"chi-squared is only {off:.3g}"),
        Test("equal halves", _chi_squared_below(int(some.sum()) - 1, apart), f"chi-squared is only {apart:.3g}"),
    )


def _chi_squared_below(degrees: int, value: float) -> float:
    half = torch.tensor([degrees / 2, value / 2], dtype=torch.float64)
    return float(torch.special.gammainc(half[0], half[1])) if degrees > 0 else 1.0


def _variety(x: torch.Tensor, below: Callable[[torch.Tensor], torch.Tensor]) -> Test:
    """Too few different 16-bit values. Occupied values are negatively associated, so Bernstein's bound holds."""
    every = torch.arange(
        int(torch.tensor(torch.finfo(x.dtype).max, dtype=x.dtype).view(torch.int16)), dtype=torch.int16
    )
    numbers = every.view(x.dtype)
    shares = (below(_upper_edge(numbers)) - below(_lower_edge(numbers))).clamp(0, 1)
    seen = -torch.expm1(x.numel() * torch.log1p(-shares.clamp(max=1 - 1e-12)))
    found, expected = x.unique().numel(), float(seen.sum())
    short = max(0.0, expected - found)
    p = math.exp(-short * short / 2 / (float((seen * (1 - seen)).sum()) + short / 3 + 1e-9))
    return Test("variety", p, f"{found} different values, about {expected:.0f} expected")


def _upper_edge(x: torch.Tensor) -> torch.Tensor:
    """The middle between a number that is not negative and the next of its type, in float64."""
    return (x.double() + _neighbour(x, 1).double()) / 2 if x.dtype is not torch.float64 else x


def _lower_edge(x: torch.Tensor) -> torch.Tensor:
    """The middle between a number that is not negative and the one before it, in float64; 0 for 0."""
    return (x.double() + _neighbour(x, -1).double()) / 2 if x.dtype is not torch.float64 else x


def _neighbour(x: torch.Tensor, step: int) -> torch.Tensor:
    whole = torch.int16 if x.dtype.itemsize == 2 else torch.int32
    return (x.contiguous().view(whole) + step).clamp(min=0).view(x.dtype)
