"""The vLLM oracles against examples worked out by hand, and what the gates reject."""

from __future__ import annotations

import math

import pytest
import torch

from kgb_gym.operators import Call, Maker, expected, get
from kgb_gym.operators.oracle import bind
from kgb_gym.operators.vllm.families import cache, norm

NAMES = ("vllm/rms_norm", "vllm/reshape_and_cache")


def test_rms_norm_by_hand() -> None:
    operator = get("vllm/rms_norm")
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    weight = torch.tensor([2.0, -1.0])
    call = Call((torch.full((2, 2), float("nan")), x, weight, 0.5))
    precise = expected(operator, operator.interfaces[0], call).written["out"].precise
    assert precise is not None
    root = math.sqrt(12.5 + 0.5)
    torch.testing.assert_close(
        precise, torch.tensor([[6 / root, -4 / root], [0, 0]], dtype=torch.float64), rtol=1e-14, atol=0
    )


def emulated(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """The definition with both of its roundings."""
    wide = x.float()
    scaled = (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)).to(x.dtype)
    return (scaled.float() * weight.float()).to(x.dtype)


def narrow(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """All arithmetic in the tensors' own type, in which squares overflow."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True)) * weight


def test_both_roundings_pass_and_wrong_answers_fail() -> None:
    operator = get("vllm/rms_norm")
    interface = operator.interfaces[0]
    failed: set[tuple[str, str]] = set()
    for case in interface.cases("quick"):
        call = interface.call(Maker(1), case.params)
        arguments = bind(operator, interface, call)
        target = expected(operator, interface, call).written["out"]
        right = emulated(arguments["input"], arguments["weight"], arguments["epsilon"])
        check = operator.compare.check(target, right, arguments)
        assert check.strict and check.paper, (case.id, check)
        wrongs = {
            "zeros": torch.zeros_like(right),
            "scaled": right * 0.9,
            "no epsilon": emulated(arguments["input"], arguments["weight"], 0.0),
            "half squares": narrow(arguments["input"], arguments["weight"]),
        }
        for name, wrong in wrongs.items():
            if not operator.compare.check(target, wrong, arguments).strict:
                failed.add((name, str(case.params["dtype"])))
    dtypes = ("float16", "bfloat16", "float32")
    assert {("zeros", d) for d in dtypes} | {("scaled", d) for d in dtypes} <= failed
    assert {("no epsilon", d) for d in dtypes} <= failed
    assert ("half squares", "float16") in failed


def test_a_subnormal_intermediate_passes() -> None:
    operator = get("vllm/rms_norm")
    x = torch.full((1, 4096), 1.0, dtype=torch.float16)
    x[0, :64] = torch.arange(1, 65, dtype=torch.float16) * 2.0**-24
    weight = torch.full((4096,), 5.3, dtype=torch.float16)
    call = Call((torch.zeros_like(x), x * 0.7, weight, 1e-6))
    arguments = bind(operator, operator.interfaces[0], call)
    target = expected(operator, operator.interfaces[0], call).written["out"]
    assert operator.compare.check(target, emulated(x * 0.7, weight, 1e-6), arguments).strict


@pytest.mark.parametrize("layout", norm.LAYOUTS)
@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 8), (2, 3, 4, 8)])
def test_norm_inputs_are_dense_in_the_last_dimension(layout: str, shape: tuple[int, ...]) -> None:
    x = norm.rows(Maker(0), shape, torch.float16, "zero_row", layout)
    assert x.shape == shape and x.stride(-1) == 1
    assert x.is_contiguous() == (layout in ("contiguous", "offset"))
    assert not x.reshape(-1, 8)[0].any()


def test_reshape_and_cache_by_hand() -> None:
    operator = get("vllm/reshape_and_cache")
    # Two heads of size 8, blocks of 2 slots, x = 4; three rows of which two are used; token 1 is skipped.
    key = torch.arange(48.0).view(3, 2, 8)
    value = -key
    key_cache = torch.full((2, 2, 2, 2, 4), 100.0)
    value_cache = torch.full((2, 2, 8, 2), 200.0)
    one = torch.ones(1)
    call = Call((key, value, key_cache, value_cache, torch.tensor([3, -1]), "auto", one, one))
    written = expected(operator, operator.interfaces[0], call).written
    keys, values = written["key_cache"].reference, written["value_cache"].reference
    assert written["key_cache"].precise is None
    # Slot 3 is place 1 of block 1.
    assert keys[1, 0, 0, 1].tolist() == [0, 1, 2, 3] and keys[1, 0, 1, 1].tolist() == [4, 5, 6, 7]
    assert keys[1, 1, 0, 1].tolist() == [8, 9, 10, 11]
    assert values[1, 1, :, 1].tolist() == [-8, -9, -10, -11, -12, -13, -14, -15]
    assert int((keys != 100).sum()) == 16 and int((values != 200).sum()) == 16


def test_bytes_of_e4m3() -> None:
    # 448 saturates; ties go to even: 17 between 16 (0x58) and 18 (0x59), 19 between 18 and 20 (0x5a).
    numbers = [1.0, -1.0, 448.0, 1000.0, -1e30, float("inf"), 17.0, 19.0, 2.0**-9, 2.0**-10, 3 * 2.0**-10, 2.0**-6, 0.0]
    want = [0x38, 0xB8, 0x7E, 0x7E, 0xFE, 0x7E, 0x58, 0x5A, 0x01, 0x00, 0x02, 0x08, 0x00]
    assert cache.to_e4m3(torch.tensor(numbers), torch.ones(1)).tolist() == want
    assert cache.to_e4m3(torch.tensor([3.0]), torch.tensor([1.5])).tolist() == [0x40]


@pytest.mark.parametrize("kind", cache.SLOTS)
def test_slots(kind: str) -> None:
    for tokens in (1, 2, 5, 8):
        slots = cache.slot_mapping(Maker(tokens), tokens, 2, 4, kind)
        kept = slots[slots >= 0].tolist()
        assert len(set(kept)) == len(kept) and all(s < 8 for s in kept)
        assert len(kept) == {"all": tokens, "none": 0, "some": tokens - (tokens + 2) // 3}[kind]
    with pytest.raises(ValueError, match="do not fit"):
        cache.slot_mapping(Maker(0), 9, 2, 4, kind)


def test_keys_have_padded_rows() -> None:
    interface = get("vllm/reshape_and_cache").interfaces[0]
    params = {
        "tokens": 3, "heads": 2, "head_size": 16, "blocks": 2, "block_size": 4, "dtype": "float16",
        "kv_cache_dtype": "fp8", "extra_rows": 2, "padding": 5,
    }  # fmt: skip
    key, value, key_cache, value_cache, slots, *_ = interface.call(Maker(0), params).args
    assert key.shape == (5, 2, 16) and key.stride() == (37, 16, 1) and value.stride() == (42, 16, 1)
    assert key_cache.shape == (2, 2, 1, 4, 16) and key_cache.dtype is torch.uint8
    assert value_cache.shape == (2, 2, 16, 4) and slots.shape == (3,)


@pytest.mark.parametrize(
    ("name", "k", "timed"), [("vllm/rms_norm", 60, 16), ("vllm/reshape_and_cache", 18, 14)]
)  # fmt: skip
def test_published_counts(name: str, k: int, timed: int) -> None:
    counts = get(name).counts("paper")
    assert (counts["k"], counts["k_timed"]) == (k, timed) and counts["k_extra"] > 0
    assert len(get(name).cases("quick")) <= 40 and len(get(name).cases("smoke")) == 2


@pytest.mark.parametrize("name", NAMES)
def test_hidden_cases_build(name: str) -> None:
    operator = get(name)
    interface = operator.interfaces[0]
    for seed in range(20):
        case = interface.hidden(seed, "quick")
        assert case == interface.hidden(seed, "quick")
        assert expected(operator, interface, interface.call(Maker(seed), case.params)).written
