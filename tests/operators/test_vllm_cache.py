"""Caches of the source `vllm`: stores, gathers, copies and conversions against bytes worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from kgb_gym.operators import Call, Maker, expected, get
from kgb_gym.operators.vllm.families import blocks, cache, gathering


def written(name: str, *args: object) -> dict[str, torch.Tensor]:
    operator = get(f"vllm/{name}")
    answer = expected(operator, operator.interfaces[0], Call(args))
    return {n: t.reference for n, t in answer.written.items()}


def test_reshape_and_cache_flash_by_hand() -> None:
    key = torch.arange(16.0).view(2, 2, 4)
    keys, values = torch.full((2, 3, 2, 4), 100.0), torch.full((2, 3, 2, 4), 200.0)
    one = torch.ones(1)
    after = written("reshape_and_cache_flash", key, -key, keys, values, torch.tensor([-1, 4]), "auto", one, one)
    # Slot 4 is place 1 of block 1.
    assert after["key_cache"][1, 1].tolist() == key[1].tolist()
    assert after["value_cache"][1, 1].tolist() == (-key[1]).tolist()
    assert int((after["key_cache"] != 100).sum()) == 8 and int((after["value_cache"] != 200).sum()) == 8


@pytest.mark.parametrize("layout", cache.FLASH)
def test_flash_layouts(layout: str) -> None:
    keys, values = cache.flash(Maker(0), 3, 4, 2, 8, torch.float16, layout)
    assert keys.shape == values.shape == (3, 4, 2, 8) and keys.stride() == values.stride()
    assert keys.stride() == {"nhd": (64, 16, 8, 1), "hnd": (64, 8, 32, 1), "joint": (128, 16, 8, 1)}[layout]
    with pytest.raises(ValueError, match="unknown layout"):
        cache.flash(Maker(0), 3, 4, 2, 8, torch.float16, "dhn")


def test_concat_and_cache_mla_by_hand() -> None:
    latent, rope = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0], [6.0]])
    stored = torch.zeros(2, 2, 3)
    after = written("concat_and_cache_mla", latent, rope, stored, torch.tensor([2, -1]), "auto", torch.ones(1))
    assert after["kv_cache"].tolist() == [[[0, 0, 0], [0, 0, 0]], [[1, 2, 5], [0, 0, 0]]]
    after = written(
        "concat_and_cache_mla", latent, rope, stored.byte(), torch.tensor([0, 3]), "fp8", torch.tensor([2.0])
    )
    # 0.5, 1, 2.5 and 1.5, 2, 3
    assert after["kv_cache"].tolist() == [[[0x30, 0x38, 0x42], [0, 0, 0]], [[0, 0, 0], [0x3C, 0x40, 0x44]]]


def test_tiles_of_mla_by_hand() -> None:
    latent, rope = torch.zeros(1, 512).half(), torch.arange(64.0).view(1, 64).half()
    latent[0, 128:256] = 2.0
    latent[0, 130] = -4.0
    stored = torch.zeros(1, 1, 656, dtype=torch.uint8)
    args = (latent, rope, stored, torch.tensor([0]), "fp8_ds_mla", torch.ones(1))
    slot = written("concat_and_cache_mla", *args)["kv_cache"][0, 0]
    assert slot[:128].tolist() == [0] * 128
    # The tile's scale is 4 / 448, so 2 is 224 = 1.75 * 2**7 and -4 is -448.
    assert slot[128].item() == 0x76 and slot[130].item() == 0xFE
    scales = slot[512:528].view(torch.float32)
    assert scales.tolist() == [2.0**-126, torch.tensor(4.0).div(448).item(), 2.0**-126, 2.0**-126]
    assert slot[528:].view(torch.float16).tolist() == list(range(64))


def test_convert_fp8_by_hand() -> None:
    numbers = torch.tensor([[1.0, -3.0, 1e6, 34.0]])
    out = written("convert_fp8", torch.zeros(1, 4, dtype=torch.uint8), numbers, 2.0)["output"]
    assert out.tolist() == [[0x30, 0xBC, 0x7E, 0x58]]
    back = written("convert_fp8", torch.zeros(1, 4), torch.tensor([[0x30, 0xBC, 0x7E, 0x7F]], dtype=torch.uint8), 2.0)[
        "output"
    ]
    assert back[0, :3].tolist() == [1.0, -3.0, 896.0] and math.isnan(back[0, 3].item())


def test_every_finite_byte_survives_the_round_trip() -> None:
    every = torch.arange(256).to(torch.uint8)
    finite = every[(every & 0x7F) != 0x7F]
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        numbers = cache.from_e4m3(finite, 1.0, dtype)
        assert cache.to_e4m3(numbers, torch.ones(1)).equal(finite)
    # By the definition: sign, four bits of exponent with bias 7, three of mantissa.
    byte = finite.int()
    sign, exponent, mantissa = 1.0 - 2.0 * (byte >> 7), (byte >> 3) & 15, byte & 7
    normal = (1 + mantissa / 8) * torch.exp2(exponent - 7.0)
    by_hand = sign * torch.where(exponent > 0, normal, mantissa / 8 * 2.0**-6)
    assert cache.from_e4m3(finite, 1.0, torch.float32).equal(by_hand)


def test_copies_of_blocks_by_hand() -> None:
    caches = [torch.arange(6.0).view(3, 2), -torch.arange(6.0).view(3, 2)]
    pairs = torch.tensor([[0, 2], [0, 1]])
    after = written("copy_blocks_mla", caches, pairs)
    assert after["kv_caches[0]"].tolist() == [[0, 1]] * 3 and after["kv_caches[1]"].tolist() == [[0, -1]] * 3
    after = written("copy_blocks", caches[:1], caches[1:], pairs[:1])
    assert after["key_caches[0]"].tolist() == [[0, 1], [2, 3], [0, 1]]
    assert after["value_caches[0]"].tolist() == [[0, -1], [-2, -3], [0, -1]]
    after = written("swap_blocks", caches[0], torch.zeros(4, 2), torch.tensor([[2, 0], [1, 3]]))
    assert after["dst"].tolist() == [[4, 5], [0, 0], [0, 0], [2, 3]]


def test_copies_never_chain() -> None:
    for pairs in range(6):
        drawn = blocks.mapping(Maker(pairs), 12, pairs)
        read, put = set(drawn[:, 0].tolist()), drawn[:, 1].tolist()
        assert len(set(put)) == pairs and not read & set(put)
    with pytest.raises(ValueError, match="need 5 blocks"):
        blocks.mapping(Maker(0), 4, 3)


def test_gathers_by_hand() -> None:
    # Blocks of two tokens; sequence 0 has three tokens in blocks 2 and 0, sequence 1 none, sequence 2 one token.
    src = torch.arange(6.0).view(3, 2, 1)
    table = torch.tensor([[2, 0], [1, 1], [1, 2]], dtype=torch.int32)
    cuts = torch.tensor([0, 3, 3, 4], dtype=torch.int32)
    dst = torch.full((4, 1), 9.0)
    assert written("cp_gather_cache", src, dst, table, cuts, 3)["dst"].flatten().tolist() == [4, 5, 0, 2]
    starts = torch.tensor([1, 0, 2], dtype=torch.int32)
    assert written("cp_gather_cache", src, dst, table, cuts, 3, starts)["dst"].flatten().tolist()[0::3] == [5, 4]


def test_gather_dequantises_and_leaves_the_rest() -> None:
    src = torch.full((2, 2, 576), 0x38, dtype=torch.uint8)
    src[1] = 0x40
    table, cuts = torch.tensor([[1]], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32)
    dst, owner = torch.full((3, 576), 9.0), torch.zeros(3, dtype=torch.int32)
    args = (src, dst, table, cuts, owner, 2, "fp8", torch.tensor([1.5]))
    assert written("gather_and_maybe_dequant_cache", *args)["dst"][:, 0].tolist() == [3, 9, 9]


def test_indexer_blocks_hold_keys_then_scales() -> None:
    cache_ = torch.zeros(1, 2, 132, dtype=torch.uint8)
    flat = cache_.view(-1)
    flat[:128], flat[128:256], flat[256:260], flat[260:264] = 1, 2, 3, 4
    out = torch.zeros(2, 128, dtype=torch.uint8), torch.zeros(2, 4, dtype=torch.uint8)
    tables = torch.tensor([[0]], dtype=torch.int32), torch.tensor([0, 2], dtype=torch.int32)
    after = written("cp_gather_indexer_k_quant_cache", cache_, *out, *tables)
    assert after["dst_k"].unique(dim=1).tolist() == [[1], [2]]
    assert after["dst_scale"].tolist() == [[3] * 4, [4] * 4]


def test_ragged_sequences_add_up() -> None:
    for seed in range(20):
        for batch in (1, 2, 3, 9):
            drawn = gathering.sequences(
                Maker(seed), blocks=4, block_size=4, batch=batch, tokens=11, lengths="ragged", starts=True
            )
            cuts = drawn.cu_seq_lens.tolist()
            assert len(cuts) == batch + 1 and cuts[0] == 0 and cuts[-1] == 11 and cuts == sorted(cuts)
            assert len(drawn.token_to_seq) == 11
            assert len(list(gathering.places(drawn.block_table, drawn.cu_seq_lens, drawn.seq_starts, 4))) == 11
