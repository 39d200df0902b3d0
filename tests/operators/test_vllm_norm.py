"""Normalisations of the source `vllm` against numbers worked out by hand, and what their gates reject."""

from __future__ import annotations

import math

import pytest
import torch

from kgb_gym.operators import Call, Maker, expected, get
from kgb_gym.operators.oracle import bind
from kgb_gym.operators.vllm.families.judging import Codes, Near, codes, step_of, value

NAN = float("nan")


def test_fused_add_rms_norm_by_hand() -> None:
    operator = get("vllm/fused_add_rms_norm")
    x, residual = torch.tensor([[1.0, 5.0]]), torch.tensor([[2.0, -1.0]])
    call = Call((x, residual, torch.tensor([2.0, -1.0]), 0.5))
    written = expected(operator, operator.interfaces[0], call).written
    assert written["residual"].reference.tolist() == [[3.0, 4.0]]
    root = math.sqrt(12.5 + 0.5)
    torch.testing.assert_close(
        written["input"].precise, torch.tensor([[6 / root, -4 / root]]).double(), rtol=1e-7, atol=0
    )


def test_the_norm_is_of_the_rounded_sum() -> None:
    operator = get("vllm/fused_add_rms_norm")
    # 2048 + 1 is 2048 in fp16, so the mean square is 2048**2 and the first element of the norm is exactly 1.
    x, residual = torch.full((1, 1), 2048.0).half(), torch.ones(1, 1).half()
    written = expected(operator, operator.interfaces[0], Call((x, residual, torch.ones(1).half(), 0.0))).written
    assert written["residual"].reference.item() == 2048.0
    assert written["input"].precise.item() == 1.0  # type: ignore[union-attr]


def test_per_token_quant_by_hand() -> None:
    operator = get("vllm/rms_norm_dynamic_per_token_quant")
    x, weight = torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.tensor([1.0, 1.0])
    codes_, scales = expected(operator, operator.interfaces[0], Call((x, weight, 12.5, torch.int8))).returns
    # mean square 12.5, epsilon 12.5: y = x / 5; scale = 0.8 / 127; 0.6 * 127 / 0.8 = 95.25.
    assert codes_.reference.tolist() == [[95, 127], [0, 0]]
    assert scales.reference.flatten().tolist() == pytest.approx([0.8 / 127, 2.0**-23])
    bound = torch.tensor([0.4])
    codes_, scales = expected(
        operator, operator.interfaces[0], Call((x, weight, 12.5, torch.float8_e4m3fn, bound))
    ).returns
    # 0.6 and 0.8 over 0.4 / 448 saturate.
    assert codes_.reference.float().tolist() == [[448, 448], [0, 0]]
    assert scales.reference[0].item() == pytest.approx(0.4 / 448)
    assert scales.reference[1].item() == pytest.approx(1 / (448 * 512))


def test_per_block_quant_by_hand() -> None:
    operator = get("vllm/rms_norm_per_block_quant")
    x = torch.ones(3, 128).half()
    x[:, 64:] = 0.5
    x[1] *= -1
    call = Call((x, torch.ones(128).half(), 1e-6, torch.int8, [1, 64], None, None, True))
    codes_, scales = expected(operator, operator.interfaces[0], call).returns
    assert scales.reference.shape == (3, 2) and scales.reference.stride() == (1, 3)
    assert codes_.reference.abs().unique().tolist() == [127] and codes_.reference[1].max() == -127
    y = torch.tensor([1.0, 0.5]) / math.sqrt((1 + 0.25) / 2)
    torch.testing.assert_close(scales.reference[0], y / 127, rtol=1e-3, atol=0)


@pytest.mark.parametrize("name", ["rms_norm_dynamic_per_token_quant", "rms_norm_per_block_quant"])
def test_residual_is_added_unrounded_and_kept_rounded(name: str) -> None:
    operator = get(f"vllm/{name}")
    for case in operator.cases("quick"):
        if not case.params["use_residual"]:
            continue
        call = operator.interfaces[0].call(Maker(1), case.params)
        arguments = bind(operator, operator.interfaces[0], call)
        answer = expected(operator, operator.interfaces[0], call)
        total = arguments["input"].float() + arguments["residual"].float()
        assert answer.written["residual"].reference.equal(total.to(arguments["input"].dtype))
        y_scale = answer.returns[1].reference
        assert y_scale.shape[0] == total.shape[0] and bool((y_scale > 0).all())


def test_steps_of_codes() -> None:
    numbers = torch.tensor([0.0, 2.0**-9, 2.0**-6, 1.0, 1.9, 2.0, 448.0]).double()
    assert step_of(numbers, torch.float8_e4m3fn).tolist() == [2.0**-9, 2.0**-9, 2.0**-9, 0.125, 0.125, 0.25, 32.0]
    assert step_of(numbers, torch.int8).tolist() == [1.0] * 7


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn])
def test_codes_may_fall_either_way_at_ties_only(dtype: torch.dtype) -> None:
    quotient = torch.randn(4000, generator=torch.Generator().manual_seed(1)).double() * 40
    quotient[:2] = torch.tensor([16.5, -100000.0]) if dtype is torch.int8 else torch.tensor([17.0, -100000.0])
    target = codes("return[0]", quotient, dtype)
    judge = Codes()
    assert judge.check(target, target.reference, {}).strict
    tie = target.reference.clone()
    tie[0] = torch.tensor(17.0 if dtype is torch.int8 else 18.0).to(dtype)
    assert judge.check(target, tie, {}).strict
    wrong = target.reference.clone()
    wrong[5] = torch.tensor(float(wrong[5].float()) * 1.25 + 1).to(dtype)
    assert not judge.check(target, wrong, {}).strict
    one_percent = codes("", quotient * 1.01, dtype).reference
    assert not Codes(2.0**-6).check(target, one_percent, {}).strict
    nearly = codes("", quotient * (1 + 2.0**-9 * torch.randn(4000, generator=torch.Generator().manual_seed(2))), dtype)
    assert Codes(2.0**-6).check(target, nearly.reference, {}).strict
    assert not judge.check(target, torch.zeros_like(target.reference), {}).strict


def test_near() -> None:
    target = value("return[1]", torch.tensor([1.0, 0.0, 3.0]).double())
    assert Near(1e-3).check(target, torch.tensor([1.0005, 0.0, 3.0]), {}).strict
    assert not Near(1e-3).check(target, torch.tensor([1.002, 0.0, 3.0]), {}).strict
    assert not Near(1e-3).check(target, torch.tensor([1.0, 1e-9, 3.0]), {}).strict
    assert not Near(1e-3).check(target, torch.tensor([NAN, 0.0, 3.0]), {}).paper
