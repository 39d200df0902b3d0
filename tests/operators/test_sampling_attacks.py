"""Samplers that are wrong although every value is plausible: too coarse, too regular, or not independent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch

from kgb_gym.operators import distribution
from kgb_gym.operators.aten.families import sampling, variates
from kgb_gym.operators.aten.rrelu_with_noise import OPERATOR as RRELU
from kgb_gym.operators.compare import Target

Uniforms = Callable[[int, torch.Generator], torch.Tensor]
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WIDE = FLOATS[:2]


def fair(n: int, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(n, generator=generator, dtype=torch.float64)


def of_24_bits(n: int, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(n, generator=generator).double()


def of_8_bits(n: int, generator: torch.Generator) -> torch.Tensor:
    return ((fair(n, generator) * 256).floor() + 0.5) / 256


def of_12_bits(n: int, generator: torch.Generator) -> torch.Tensor:
    return ((fair(n, generator) * 4096).floor() + 0.5) / 4096


def stratified(n: int, generator: torch.Generator) -> torch.Tensor:
    return (torch.randperm(n, generator=generator) + fair(n, generator)) / n


def lattice(n: int, generator: torch.Generator) -> torch.Tensor:
    return (torch.arange(n, dtype=torch.float64) * 0.6180339887498949 + fair(1, generator)) % 1


def shuffled_half(n: int, generator: torch.Generator) -> torch.Tensor:
    half = fair((n + 1) // 2, generator)
    return torch.cat((half, half[torch.randperm(len(half), generator=generator)]))[:n]


def antithetic_half(n: int, generator: torch.Generator) -> torch.Tensor:
    half = fair((n + 1) // 2, generator)
    return torch.cat((half, 1 - half))[:n]


def antithetic_blocks(n: int, generator: torch.Generator) -> torch.Tensor:
    pairs = fair(n + 2048, generator)[: math.ceil(n / 2048) * 1024].view(-1, 1, 1024)
    return torch.cat((pairs, 1 - pairs), 1).reshape(-1)[:n]


def rotated_half(n: int, generator: torch.Generator) -> torch.Tensor:
    half = fair((n + 1) // 2, generator)
    return torch.cat((half, (half + 0.5) % 1))[:n]


DEPENDENT = (antithetic_half, antithetic_blocks, rotated_half)


def exponential(uniforms: Uniforms, dtype: torch.dtype, n: int = 6560, seed: int = 1) -> set[str]:
    """The tests that reject an exponential sample."""
    u = uniforms(n, torch.Generator().manual_seed(seed)).clamp(max=1 - 2**-25)
    return rejects(variates.exponential_tests({}, -torch.log1p(-u).to(dtype)))


def coins(uniforms: Uniforms, p: float | None, n: int = 3000, seed: int = 1) -> set[str]:
    """The tests that reject coins; `p` None: a table of probabilities, 0 and 1 among them."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.tensor(sampling.PROBABILITIES, dtype=torch.float64)
    ps = torch.full((n,), p, dtype=torch.float64) if p else table[torch.randint(len(table), (n,), generator=generator)]
    return rejects(sampling.bernoulli_tests(ps, (uniforms(n, generator) < ps).double()))


def rejects(tests: Sequence[distribution.Test]) -> set[str]:
    return {t.name for t in tests if not t.p_value >= distribution.FALSE_REJECT / len(tests)}


def slopes(uniforms: Uniforms, dtype: torch.dtype, shift: float = 0) -> bool:
    """Whether the noise of a leaky ReLU is accepted; `shift` is added to the elements it is for."""
    generator = torch.Generator().manual_seed(1)
    tensor = (torch.randn(2400, generator=generator) + shift).to(dtype)
    drawn = 0.1 + 0.3 * uniforms(2400, generator)
    noise = torch.where(tensor > 0, 1.0, drawn).to(dtype)
    arguments = {"self": tensor, "lower": 0.1, "upper": 0.4, "training": True}
    assert RRELU.compare is not None
    return RRELU.compare.check(Target("noise", noise, noise), noise, arguments).strict


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("uniforms", (fair, of_24_bits))
def test_fair_samples_pass(uniforms: Uniforms, dtype: torch.dtype) -> None:
    for seed in range(5):
        assert not exponential(uniforms, dtype, seed=seed)
        assert not exponential(uniforms, dtype, n=1200, seed=seed)
    assert slopes(uniforms, dtype)


@pytest.mark.parametrize("p", (None, 0.1, 0.3, 0.9))
def test_fair_coins_pass(p: float | None) -> None:
    assert not any(coins(fair, p, n, seed) for n in (700, 3000, 20000) for seed in range(3))


@pytest.mark.parametrize("dtype", WIDE)
def test_few_random_bits_repeat_values(dtype: torch.dtype) -> None:
    assert "repeats" in exponential(of_8_bits, dtype, n=1200)
    assert "repeats" in exponential(of_12_bits, dtype, n=1200)
    assert not slopes(of_8_bits, dtype)


@pytest.mark.parametrize("dtype", FLOATS[2:])
def test_few_random_bits_lack_variety(dtype: torch.dtype) -> None:
    assert "variety" in exponential(of_8_bits, dtype, n=1200)
    assert not slopes(of_8_bits, dtype)


def test_few_random_bits_cannot_be_rare() -> None:
    assert not coins(fair, 0.004, n=15000)
    assert "count at p=0.004" in coins(lambda n, g: (fair(n, g) * 256).floor() / 256, 0.004, n=15000, seed=2)


@pytest.mark.parametrize("uniforms", (stratified, lattice))
@pytest.mark.parametrize("dtype", FLOATS)
def test_slopes_may_be_too_even(uniforms: Uniforms, dtype: torch.dtype) -> None:
    assert slopes(fair, dtype, shift=-9)
    assert not slopes(uniforms, dtype, shift=-9)


@pytest.mark.parametrize("successes", (0, 30, 61, 99, 140, 2000))
def test_binomial_tails_are_exact(successes: int) -> None:
    n, p = 2000, 0.03
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)
            for k in range(n + 1)]  # fmt: skip
    tail = logs[successes:] if successes >= n * p else logs[: successes + 1]
    expected = min(1.0, 2 * math.fsum(map(math.exp, tail)))
    assert distribution.binomial_p(successes, n, p) == pytest.approx(expected, rel=1e-9)
    assert distribution.binomial_p(n - successes, n, 1 - p) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("uniforms", (stratified, lattice))
def test_a_fit_may_be_too_good(uniforms: Uniforms) -> None:
    for n in (1200, 6560):
        assert all("even distribution" in exponential(uniforms, dtype, n) for dtype in WIDE)
        assert all("even counts" in exponential(uniforms, dtype, n) for dtype in FLOATS[2:])


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_second_half_is_no_permutation_of_the_first(dtype: torch.dtype) -> None:
    for n in (1200, 6560):
        assert "equal halves" in exponential(shuffled_half, dtype, n)
    assert dtype not in WIDE or "repeats" in exponential(shuffled_half, dtype)


@pytest.mark.parametrize("uniforms", DEPENDENT)
@pytest.mark.parametrize("dtype", FLOATS)
def test_mirrored_and_rotated_samples_correlate(uniforms: Uniforms, dtype: torch.dtype) -> None:
    assert "lags" in exponential(uniforms, dtype, n=1280)
    assert "lags" in exponential(uniforms, dtype)
    assert not slopes(uniforms, dtype)


@pytest.mark.parametrize("uniforms", DEPENDENT)
@pytest.mark.parametrize("p", (None, 0.3))
def test_mirrored_and_rotated_coins_correlate(uniforms: Uniforms, p: float | None) -> None:
    assert "lags" in coins(uniforms, p)
    assert "lags" in coins(uniforms, p, n=20000)
