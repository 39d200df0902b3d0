"""Products with quantised weights, and the selective scan: small examples by hand, and what the gates reject."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from kgb_gym.operators import Call, Maker, Operator, expected, get
from kgb_gym.operators.compare import Target
from kgb_gym.operators.maker import ScalarType
from kgb_gym.operators.oracle import bind
from kgb_gym.operators.vllm.families import packing

CASES: dict[str, dict[str, Any]] = {
    "gptq_gemm": {"m": 8, "n": 64, "k": 1024, "bit": 4, "group": 128, "order": "perm"},
    "awq_gemm": {"m": 8, "n": 64, "k": 1024, "group": 128, "splits": 1},
    "allspark_w8a16_gemm": {"m": 8, "n": 64, "k": 1024, "dtype": "float16", "zeros": True},
    "gptq_marlin_gemm": {"m": 8, "n": 64, "k": 1024, "bits": 4, "group": 128, "dtype": "float16", "zeros": "codes"},
    "gptq_marlin_24_gemm": {"m": 8, "n": 128, "k": 1024},
}


def judged(name: str, params: dict[str, Any]) -> tuple[Operator, Target, dict[str, Any]]:
    operator = get(f"vllm/{name}")
    interface = operator.interfaces[0]
    call = interface.call(Maker(7), params)
    return operator, expected(operator, interface, call).returns[0], bind(operator, interface, call)


@pytest.mark.parametrize("name", CASES)
def test_gates_of_products(name: str) -> None:
    operator, target, arguments = judged(name, CASES[name])
    precise, gate = target.precise, operator.compare
    assert precise is not None

    def passes(got: torch.Tensor) -> bool:
        return gate.check(target, got.half(), arguments).strict

    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(precise.shape, generator=generator, dtype=torch.float64)
    assert passes(precise)
    assert not passes(precise * 1.01)
    # Rounded weights give an error of half a unit of the terms' root sum of squares; a product in 16 bits several.
    spread = gate.noise(arguments)
    assert passes(precise + 0.9 * spread * noise)
    assert not passes(precise + 4 * spread * noise)
    one = precise.clone()
    one[3, 5] += 0.1 * precise.square().mean().sqrt()
    assert not passes(one)


def test_gptq_gemm_by_hand() -> None:
    # All codes 3 and all zeros 15 (+ 1), scale 0.5, two groups: W = -6.5 in the first, -13 in the second.
    words = packing.pack_rows(torch.full((64, 32), 3), 4)
    zeros = packing.pack_bits(torch.full((2, 32), 15), 4)
    scales = torch.tensor([0.5, 1.0]).half()[:, None].expand(2, 32).contiguous()
    a = torch.zeros(1, 64).half()
    a[0, 0], a[0, 40] = 1.0, 2.0
    groups = torch.arange(64).int() // 32
    operator = get("vllm/gptq_gemm")
    for exllama, index in ((False, groups), (True, torch.empty(0).int())):
        weight = packing.shuffle(words, 4) if exllama else words
        call = Call((a, weight, zeros, scales, index, exllama, False, 4))
        answer = expected(operator, operator.interfaces[0], call).returns[0]
        assert answer.reference.tolist() == [[-6.5 - 2 * 13.0] * 32]
    call = Call((a, words, zeros, scales, groups, False, True, 4))
    assert expected(operator, operator.interfaces[0], call).returns[0].reference[0, 0] == -6.0 - 2 * 12.0


def test_marlin_writes_the_output_given() -> None:
    operator = get("vllm/gptq_marlin_gemm")
    interface = operator.interfaces[0]
    params = {"m": 2, "n": 64, "k": 128, "bits": 8, "group": -1, "dtype": "bfloat16", "bias": True}
    with_c = expected(operator, interface, interface.call(Maker(2), {**params, "given": True}))
    without = expected(operator, interface, interface.call(Maker(2), {**params, "given": False}))
    assert with_c.same_object == {0: "c"} and not without.same_object
    assert with_c.written["c"].reference.equal(without.returns[0].reference)
    assert interface.call(Maker(2), params).args[11] == ScalarType(8, 128)


def test_scaled_products_by_hand() -> None:
    operator = get("vllm/cutlass_scaled_mm")
    a, b = torch.tensor([[1, 2], [3, -4]]).to(torch.int8), torch.tensor([[5, 6], [7, 8]]).to(torch.int8).T
    rows, columns = torch.tensor([[1.0], [0.5]]), torch.tensor([[2.0, 4.0]])
    call = Call((a, b, rows, columns, torch.float16, torch.tensor([1.0, 0.0]).half()))
    # a @ b is [[17, 23], [-9, -11]].
    answer = expected(operator, operator.interfaces[0], call).returns[0].reference
    assert answer.tolist() == [[35.0, 92.0], [-8.0, -22.0]]
    operator = get("vllm/cutlass_scaled_mm_azp")
    call = Call((a, b, rows, columns, torch.float16, torch.tensor([11, 15]).int(), torch.tensor([1, 2]).int()))
    answer = expected(operator, operator.interfaces[0], call).returns[0].reference
    assert answer.tolist() == [[12.0, 32.0], [-31.0, -82.0]]


def test_blocks_have_their_own_scales() -> None:
    operator = get("vllm/cutlass_scaled_mm")
    one = torch.ones(1, 256).to(torch.float8_e4m3fn)
    b = torch.ones(128, 256).to(torch.float8_e4m3fn).T
    call = Call((one, b, torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0], [0.25]]), torch.float16))
    assert expected(operator, operator.interfaces[0], call).returns[0].reference[0, 0] == 128 + 64


def test_selective_scan_by_hand() -> None:
    operator = get("vllm/selective_scan_fwd")
    u, delta = torch.tensor([[2.0, 3.0]]), torch.tensor([[1.0, 0.5]])
    states = torch.tensor([[[10.0]], [[20.0]]])
    a, b, c = torch.tensor([[-1.0]]), torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, -1.0]]])
    arguments = (
        u, delta, a, b, c, torch.tensor([4.0]), None, None, False, torch.tensor([0, 2]).int(), torch.tensor([1]).int(),
        torch.tensor([True]), states, -1,
    )  # fmt: skip
    written = expected(operator, operator.interfaces[0], Call(arguments)).written
    first = math.exp(-1) * 20 + 2
    second = math.exp(-0.5) * first + 0.5 * 2 * 3
    torch.testing.assert_close(written["delta"].precise, torch.tensor([[first + 8, -second + 12]]).double())
    assert written["ssm_states"].reference[0].item() == 10
    assert written["ssm_states"].reference[1].item() == pytest.approx(second)
    padded = expected(
        operator, operator.interfaces[0], Call((*arguments[:10], torch.tensor([-1]).int(), *arguments[11:]))
    )
    assert padded.written["delta"].reference.equal(delta) and padded.written["ssm_states"].reference.equal(states)
