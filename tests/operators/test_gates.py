"""What the two gates and the distribution tests let pass, and what they do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from kgb_gym import operators
from kgb_gym.operators import Close, Maker, Target, expected
from kgb_gym.operators.aten.families.sampling import bernoulli_tests
from kgb_gym.operators.distribution import FALSE_REJECT
from kgb_gym.operators.oracle import bind
from kgb_gym.platforms.interpreter import to_tf32

INF = math.inf


@pytest.mark.parametrize(
    ("precise", "got", "strict"),
    [
        (INF, INF, True),
        (INF, 0.0, False),
        (INF, -INF, False),
        (INF, math.nan, False),
        (1.0, INF, False),
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        (70000.0, INF, True),
        (70000.0, -INF, False),
        (70000.0, 65504.0, False),
        (65519.0, 65504.0, True),
    ],
)
def test_infinities_are_values(precise: float, got: float, strict: bool) -> None:
    exact = torch.tensor([precise], dtype=torch.float64)
    target = Target("return", exact.half(), exact)
    check = Close().check(target, torch.tensor([got], dtype=torch.float16), {})
    assert check.strict is strict


@pytest.mark.parametrize(("dtype", "kept"), [(torch.float32, -0.0), (torch.complex64, complex(0.0, -0.0))])
def test_what_must_be_kept_keeps_its_bits(dtype: torch.dtype, kept: complex) -> None:
    before = torch.tensor([1.0, kept], dtype=dtype)
    touched = torch.tensor([True, False])
    target = Target("C", before, before.to(torch.complex128 if dtype.is_complex else torch.float64), touched=touched)
    assert Close().check(target, before.clone(), {}).strict
    assert not Close().check(target, before + torch.zeros((), dtype=dtype), {}).strict
    assert not Close().check(target, torch.where(touched, before, before + 1), {}).paper


@pytest.mark.parametrize(("size", "paper"), [(1.0, False), (2.0**48, True), (2.0**-48, True)])
def test_the_papers_absolute_tolerance_is_for_numbers_of_size_one(size: float, paper: bool) -> None:
    """A sum of eight large terms that nearly cancel may be off by what one rounding of a term is."""
    exact = torch.tensor([size * 1e-4], dtype=torch.float64)
    got = (exact + size * 1e-3 * (3.0 if size == 1.0 else 1e-3)).float()
    comparison = Close(depth=lambda _: 8, scale=lambda _: torch.tensor([8 * size], dtype=torch.float64))
    assert comparison.check(Target("return", exact.float(), exact), got, {}).paper is paper


def by_tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(to_tf32(a.numpy())) @ torch.from_numpy(to_tf32(b.numpy()))


def by_halves(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.half().float() @ b.half().float()).float()


@pytest.mark.parametrize("product", [by_tf32, by_halves])
def test_mm_in_fp32_means_fp32(product: Callable[..., torch.Tensor]) -> None:
    shapes = ((15, 40, 64), (33, 53, 71), (15, 160, 1024), (1, 1, 32))
    caught = [not strict(product, "mm", M=m, N=n, K=k, dtype="float32") for m, n, k in shapes]
    assert all(caught[:3])
    assert all(strict(torch.mm, "mm", M=m, N=n, K=k, dtype="float32") for m, n, k in shapes)


def test_sum_in_fp16_accumulation_is_caught() -> None:
    def in_halves(x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros((), dtype=torch.float16)
        for value in x.reshape(-1):
            total = total + value
        return total

    assert not strict(in_halves, "sum", shape=[40, 25], dtype="float16")
    assert strict(lambda x: x.float().sum().half(), "sum", shape=[40, 25], dtype="float16")


def test_softmax_by_exp2_passes_and_fp16_exponentials_do_not() -> None:
    def by_exp2(x: torch.Tensor, dim: int) -> torch.Tensor:
        e = torch.exp2((x - x.amax(dim, keepdim=True)) * 1.4426950408889634)
        return e / e.sum(dim, keepdim=True)

    for shape, kind in (([64, 40], "normal"), ([2, 1037], "large"), ([4, 2560], "normal")):
        assert strict(by_exp2, "softmax.int", shape=shape, dtype="float32", dim=1, kind=kind)
    assert not strict(
        lambda x, dim: by_exp2(x.half().float(), dim), "softmax.int", shape=[64, 40], dtype="float32", dim=1
    )


def test_bernoulli_accepts_torch_and_rejects_patterns() -> None:
    p = torch.full((64, 64), 0.3, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        assert accepted(p, torch.bernoulli(p, generator=generator))
    row = torch.bernoulli(p[:16], generator=generator)
    assert not accepted(p, row.repeat(4, 1))
    assert not accepted(p, torch.bernoulli(p[:, ::2], generator=generator).repeat_interleave(2, dim=1))
    assert not accepted(p, torch.bernoulli(p * 1.2, generator=generator))
    assert not accepted(p, torch.rand(p.shape, generator=generator))


def accepted(p: torch.Tensor, sample: torch.Tensor) -> bool:
    tests = bernoulli_tests(p, sample)
    return all(t.p_value >= FALSE_REJECT / len(tests) for t in tests)


def strict(function: Callable[..., torch.Tensor], name: str, **params: Any) -> bool:
    """Whether a function passes the strict gate of one case."""
    operator = operators.get(f"aten/{name.partition('.')[0]}")
    interface = operator.interface(name)
    call = interface.call(Maker(1), params)
    (target,) = expected(operator, interface, call).returns
    return operator.compare.check(target, function(*call.args), bind(operator, interface, call)).strict


def test_a_scale_of_one_element_may_have_dimensions() -> None:
    reference = torch.ones(1, 64, dtype=torch.float64)
    gate = Close(scale=lambda arguments: torch.ones(1, 1))
    target = Target("out", reference.float(), reference)
    assert gate.check(target, reference.float(), {}).strict
    wrong = gate.check(target, reference.float() * 1.5, {})
    assert not wrong.strict and wrong.difference is not None and wrong.difference.mismatches == 64


def test_a_transposed_out_is_judged_by_right_values() -> None:
    """The CPU's `_softmax.out` writes a transposed `out` in the wrong order, in double precision as well."""
    operator = operators.get("aten/_softmax")
    interface = operator.interface("_softmax.out")
    case = next(c for c in interface.cases("quick") if c.params.get("out") == "transposed")
    call = interface.call(Maker(7), case.params)
    target = expected(operator, interface, call).written["out"]
    assert target.precise is not None
    torch.testing.assert_close(target.precise, torch.softmax(call.args[0].double(), case.params["dim"]))
