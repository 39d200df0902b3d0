"""Quantisations of the source `vllm` against codes worked out by hand."""

from __future__ import annotations

from typing import Any

import torch

from kgb_gym.operators import Call, expected, get
from kgb_gym.operators.oracle import bind


def answer(name: str, *args: Any) -> Any:
    operator = get(f"vllm/{name}")
    return expected(operator, operator.interfaces[0], Call(args))


def test_scaled_fp8_quant_by_hand() -> None:
    x, scale = torch.tensor([[1.0, -2.0], [0.0, 1000.0]]), torch.tensor([2.0])
    found = answer("scaled_fp8_quant", x, scale)
    assert found.returns[0].reference.float().tolist() == [[0.5, -1], [0, 448]]
    assert found.aliases == {1: "scale"} and not found.same_object
    found = answer("scaled_fp8_quant", x)
    assert found.returns[1].reference.tolist() == [torch.tensor(1000.0).div(448).item()]
    assert found.returns[0].reference.float()[1].tolist() == [0, 448]
    found = answer("scaled_fp8_quant", x, None, 4, torch.tensor([500.0]), True)
    codes, scales = found.returns
    assert codes.reference.shape == (4, 2) and scales.reference.shape == (4, 1)
    assert scales.precise[:2].flatten().tolist() == [2 / 448, 500 / 448]
    assert codes.reference.float()[:2].tolist() == [[224, -448], [0, 448]]


def test_a_given_output_is_returned() -> None:
    out = torch.zeros(1, 2).to(torch.float8_e4m3fn)
    found = answer("scaled_fp8_quant", torch.tensor([[1.0, -2.0]]), torch.ones(1), None, None, False, out)
    assert found.same_object == {0: "output"} and found.aliases[1] == "scale"
    assert found.written["output"].reference.float().tolist() == [[1, -2]]


def test_rows_that_pad_may_hold_anything() -> None:
    operator = get("vllm/scaled_fp8_quant")
    call = Call((torch.ones(1, 2), None, 3, None, True, None))
    arguments = bind(operator, operator.interfaces[0], call)
    for target in expected(operator, operator.interfaces[0], call).returns:
        got = target.reference.clone()
        got[1:] = torch.tensor(5.0).to(got.dtype)
        assert operator.compare.check(target, got, arguments).strict
        got[0] = torch.tensor(5.0).to(got.dtype)
        assert not operator.compare.check(target, got, arguments).strict


def test_scaled_int8_quant_by_hand() -> None:
    x = torch.tensor([[1.0, -2.0, 0.25], [0.0, 0.0, 0.0]])
    codes, scale, azp = answer("scaled_int8_quant", x).returns
    assert codes.reference.tolist() == [[64, -127, 16], [0, 0, 0]] and azp is None
    assert scale.precise.flatten().tolist() == [2 / 127, 0]
    found = answer("scaled_int8_quant", x, torch.tensor([0.5]), torch.tensor([100], dtype=torch.int32), False)
    # 0.25 / 0.5 is a tie, which goes to the even 0.
    assert found.returns[0].reference[0].tolist() == [102, 96, 100]
    assert found.aliases == {1: "scale", 2: "azp"}
    codes, scale, azp = answer("scaled_int8_quant", torch.tensor([[0.0, 51.0, 255.0]]), None, None, False).returns
    assert (scale.precise.item(), azp.reference.item()) == (1, -128)
    assert codes.reference.tolist() == [[-128, -77, 127]]


def test_a_zero_point_near_a_tie_takes_its_row_along() -> None:
    operator = get("vllm/scaled_int8_quant")
    # scale 1, least value 0.5: azp is -128.5.
    call = Call((torch.tensor([[0.5, 100.0, 255.5], [0.0, 100.0, 255.0]]), None, None, False))
    arguments = bind(operator, operator.interfaces[0], call)
    codes, _, azp = expected(operator, operator.interfaces[0], call).returns
    for row, passes in ((0, True), (1, False)):
        got = [t.reference.clone() for t in (codes, azp)]
        got[0][row, 1] -= 1
        got[1][row] -= 1
        assert operator.compare.check(codes, got[0], arguments).strict is passes
        assert operator.compare.check(azp, got[1], arguments).strict is passes
