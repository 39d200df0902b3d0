"""GGML's blocks: bytes worked out by hand, and a second, element by element reading of all types."""

from __future__ import annotations

import struct

import pytest
import torch

from kgb_gym.operators import Call, Maker, expected, get
from kgb_gym.operators.oracle import bind
from kgb_gym.operators.vllm.families import ggml


def value(block: bytes, kind: int, e: int) -> float:
    """Element e of a block, by the format's definition."""

    def half(at: int) -> float:
        return float(struct.unpack_from("<e", block, at)[0])

    if kind == 8:
        return half(0) * struct.unpack_from("b", block, 2 + e)[0]
    if kind in (2, 3, 6, 7):
        start = {2: 2, 3: 4, 6: 6, 7: 8}[kind]
        q = block[start + e % 16] >> 4 if e >= 16 else block[start + e % 16] & 15
        if kind in (6, 7):
            q += 16 * (struct.unpack_from("<I", block, start - 4)[0] >> e & 1)
        return half(0) * q + half(2) if kind in (3, 7) else half(0) * (q - {2: 8, 6: 16}[kind])
    upper, s, line = e // 128, e % 128 // 32, e % 32
    if kind == 10:
        scale = block[e // 16]
        q = block[16 + 32 * upper + line] >> 2 * s & 3
        return half(80) * (scale & 15) * q - half(82) * (scale >> 4)
    if kind == 11:
        t = e // 16
        low = block[96 + t] & 15 if t < 8 else block[96 + t - 8] >> 4
        scale = low + 16 * (block[104 + t % 4] >> 2 * (t // 4) & 3) - 32
        q = block[32 + 32 * upper + line] >> 2 * s & 3
        return half(108) * scale * (q if block[line] >> (4 * upper + s) & 1 else q - 4)
    if kind == 14:
        low = block[64 * upper + 32 * (s % 2) + line] >> (4 if s >= 2 else 0) & 15
        q = low + 16 * (block[128 + 32 * upper + line] >> 2 * s & 3)
        return half(208) * struct.unpack_from("b", block, 192 + e // 16)[0] * (q - 32)
    j = e // 32
    packed = block[4:16]
    if j < 4:
        a, b = packed[j] & 63, packed[j + 4] & 63
    else:
        a = (packed[j + 4] & 15) + (packed[j - 4] >> 6) * 16
        b = (packed[j + 4] >> 4) + (packed[j] >> 6) * 16
    q = block[(16 if kind == 12 else 48) + 32 * (j // 2) + line] >> 4 * (j % 2) & 15
    if kind == 13:
        q += 16 * (block[16 + line] >> j & 1)
    return half(0) * a * q - half(2) * b


@pytest.mark.parametrize("kind", ggml.TYPES)
def test_every_element_of_every_type(kind: int) -> None:
    elements, size = ggml.TYPES[kind]
    weights = ggml.random_blocks(Maker(kind), kind, 2, 2 * elements)
    assert weights.shape == (2, 2 * size) and ggml.width(kind, 2 * elements) == 2 * size
    by_hand = [
        [value(bytes(row[at : at + size].tolist()), kind, e) for at in (0, size) for e in range(elements)]
        for row in weights
    ]
    torch.testing.assert_close(ggml.dequantized(weights, kind), torch.tensor(by_hand).double(), rtol=1e-6, atol=1e-9)


def test_blocks_by_hand() -> None:
    # d = 2, then the bytes 0x91, 0, 0, ...: elements 0 and 16 have codes 1 and 9, all others 0.
    four = torch.tensor([[0x00, 0x40, 0x91] + [0] * 15], dtype=torch.uint8)
    y = ggml.dequantized(four, 2)[0]
    assert y[0] == -14 and y[16] == 2 and y[1] == -16
    # Q8_0: d = 0.5, codes -1 and 127.
    eight = torch.tensor([[0x00, 0x38, 0xFF, 0x7F] + [0] * 30], dtype=torch.uint8)
    assert ggml.dequantized(eight, 8)[0, :3].tolist() == [-0.5, 63.5, 0]
    answer = expected(
        get("vllm/ggml_dequantize"), get("vllm/ggml_dequantize").interfaces[0], Call((four, 2, 1, 32, None))
    )
    assert answer.returns[0].reference.dtype is torch.float16 and answer.returns[0].reference[0, 0] == -14


def quantised(x: torch.Tensor) -> torch.Tensor:
    """x in 8 bits with a scale for every 32 elements."""
    blocks = x.double().view(x.shape[0], -1, 32)
    step = blocks.abs().amax(-1, keepdim=True) / 127
    return ((blocks / step).round() * step.half().double()).view(x.shape)


@pytest.mark.parametrize("kind", ggml.TYPES)
def test_eight_bit_activations_pass_and_less_does_not(kind: int) -> None:
    operator = get("vllm/ggml_mul_mat_a8")
    interface = operator.interfaces[0]
    call = interface.call(Maker(5), {"k": 512, "row": 40, "kind": kind, "batch": 9, "dtype": "float16"})
    answer, arguments = expected(operator, interface, call).returns[0], bind(operator, interface, call)
    weights = ggml.dequantized(arguments["W"], kind)
    gate = operator.compare
    assert gate.check(answer, (quantised(arguments["X"]) @ weights.T).half(), arguments).strict
    assert gate.check(answer, answer.precise.half(), arguments).strict
    assert not gate.check(answer, (answer.precise * 1.05).half(), arguments).strict
    # A kernel that takes the scale of the first block for all of a row.
    wrong = ggml.dequantized(arguments["W"].roll(ggml.TYPES[kind][1], 1), kind)
    assert not gate.check(answer, (arguments["X"].double() @ wrong.T).half(), arguments).strict


def test_moe_slots() -> None:
    operator = get("vllm/ggml_moe_a8")
    interface = operator.interfaces[0]
    params = {"experts": 3, "tokens": 4, "top_k": 2, "k": 64, "row": 5, "kind": 8, "dtype": "float32", "more": 1}
    call = interface.call(Maker(1), params)
    arguments = bind(operator, interface, call)
    answer = expected(operator, interface, call).returns[0].reference
    slots, owners = arguments["sorted_token_ids"], arguments["expert_ids"]
    for block, expert in enumerate(owners.tolist()):
        for slot in slots[4 * block : 4 * block + 4].tolist():
            if slot < 8:
                by_hand = ggml.dequantized(arguments["W"][expert], 8) @ arguments["X"][slot // 2].double()
                torch.testing.assert_close(answer[slot].double(), by_hand, rtol=1e-6, atol=1e-6)
    assert owners[-1] == -1 and slots[-4:].tolist() == [8] * 4
    assert sorted(s for s in slots.tolist() if s < 8) == list(range(8))
