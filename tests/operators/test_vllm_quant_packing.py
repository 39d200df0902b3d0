"""Packed codes of the source `vllm`: round trips, and words worked out by hand."""

from __future__ import annotations

import pytest
import torch

from kgb_gym.operators import Call, Maker, expected, get
from kgb_gym.operators.vllm.families import allspark, marlin, packing


def codes(k: int, n: int, bits: int) -> torch.Tensor:
    return packing.random_codes(Maker(3), (k, n), bits)


def returned(name: str, *args: object) -> torch.Tensor:
    operator = get(f"vllm/{name}")
    return expected(operator, operator.interfaces[0], Call(args)).returns[0].reference


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_gptq_round_trips(bits: int) -> None:
    some = codes(96, 6, bits)
    packed = packing.pack_rows(some, bits)
    assert packed.shape == (96 * bits // 32, 6)
    assert packing.unpack_rows(packed, bits).equal(some)
    assert packing.unshuffle(packing.shuffle(packed, bits), bits).equal(some)


def test_gptq_words_by_hand() -> None:
    ascending = torch.arange(8).view(8, 1)
    assert packing.pack_rows(ascending, 4).item() == 0x76543210
    assert packing.pack_rows(ascending[:4], 8).item() == 0x03020100
    assert packing.pack_rows(torch.full((8, 1), 15), 4).item() == -1
    # Code 10 of 3 bits begins at bit 30 and ends in the second word; code 21 at bit 63.
    ten, last = torch.zeros(32, 1).int(), torch.zeros(32, 1).int()
    ten[10], last[21] = 7, 5
    assert packing.pack_rows(ten, 3).flatten().tolist() == [-(1 << 30), 1, 0]
    assert packing.pack_rows(last, 3).flatten().tolist() == [0, -(1 << 31), 2]


def test_shuffle_by_hand() -> None:
    assert packing.shuffle(torch.tensor([[0x76543210]]), 4).item() == 0x75316420
    assert packing.shuffle(torch.tensor([[0x03020100]]), 8).item() == 0x03020100
    # 2 bits: code 1 goes to bit 16, code 2 to bit 2.
    assert packing.shuffle(torch.tensor([[0b11_01_00]]), 2).item() == (1 << 16) + (3 << 2)
    # 3 bits: code 13 is the fourth of the second word; code 30's bits go to bit 15 of the three words, code 31's to 31.
    some = torch.zeros(32, 1).int()
    some[13], some[30], some[31] = 5, 0b101, 0b010
    words = packing.shuffle(packing.pack_rows(some, 3), 3).flatten()
    assert words.tolist() == [1 << 15, (5 << 19) - (1 << 31), 1 << 15]


@pytest.mark.parametrize("bits", [4, 8])
def test_awq(bits: int) -> None:
    some = codes(5, 64, bits)
    assert packing.unpack_awq(packing.pack_awq(some, bits), bits).equal(some)
    by_hand = {4: 0x75316420, 8: 0x03010200}
    assert packing.pack_awq(torch.arange(32 // bits).view(1, -1), bits).item() == by_hand[bits]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_marlin_tiles_fill_every_bit_once(bits: int, wide: bool) -> None:
    where = marlin.places(64, 128, bits, wide)
    bit = (where[0] * 32 + where[1]).flatten().sort().values
    assert bit.equal(torch.arange(64 * 128) * bits)
    some = codes(64, 128, bits)
    assert marlin.unpack(marlin.repack(some, bits, wide), where, bits).equal(some)


def test_marlin_tiles_by_hand() -> None:
    # Thread 0 of a tensor-core tile holds rows 0, 1, 8 and 9 of column 0 and of column 8.
    first = [(0, 0), (1, 0), (8, 0), (9, 0), (0, 8), (1, 8), (8, 8), (9, 8)]
    word, bit = marlin.places(16, 64, 4)
    assert [int(word[k, n]) for k, n in first] == [0] * 8
    assert [int(bit[k, n]) // 4 for k, n in first] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert int(word[0, 16]) == 1 and int(word[2, 0]) == 4 and int(word[0, 1]) == 16
    word, bit = marlin.places(16, 64, 8)
    assert [int(word[k, n]) for k, n in first] == [0] * 4 + [1] * 4
    assert [int(bit[k, n]) // 8 for k, n in first] == [0, 2, 1, 3, 0, 2, 1, 3]


def test_marlin_columns() -> None:
    assert marlin.scale_order(64, True)[:9].tolist() == [0, 8, 16, 24, 32, 40, 48, 56, 1]
    assert marlin.scale_order(32, False)[:9].tolist() == [0, 1, 8, 9, 16, 17, 24, 25, 2]
    assert marlin.zero_order(64, 4)[:8].tolist() == [0, 16, 32, 48, 8, 24, 40, 56]
    for order in (marlin.scale_order(128, True), marlin.scale_order(128, False), marlin.zero_order(128, 8)):
        assert order.sort().values.equal(torch.arange(128))


@pytest.mark.parametrize("bits", [4, 8])
def test_marlin_24(bits: int) -> None:
    word, bit = marlin.sparse_places(128, 128, bits)
    assert (word * 32 + bit).flatten().sort().values.equal(torch.arange(64 * 128) * bits)
    assert marlin.metadata_places(128, 128).flatten().sort().values.equal(torch.arange(128 * 128 // 16))


def test_allspark() -> None:
    some = codes(48, 40, 8).byte()
    assert allspark.restore(allspark.reorder(some), 40).equal(some)
    assert allspark.reorder(some).shape == (64, 48)
    # Columns 0, 8, 16 and 24 with rows 0, 1, 8 and 9 are the first 16 bytes.
    place = allspark.places(32, 32)
    assert [int(place[k, n]) for n in (0, 8) for k in (0, 1, 8, 9)] == list(range(8))
    assert int(place[2, 0]) == 16 and int(place[16, 0]) == 64 and int(place[0, 1]) == 128
    values = torch.arange(40.0)
    stored = allspark.reorder_columns(values)
    assert stored.shape == (1, 64) and stored[0, :5].tolist() == [0, 8, 16, 24, 1]
    assert allspark.restore_columns(stored, 40).equal(values)


def test_pack_scale_by_hand() -> None:
    scales = torch.tensor([1.0, 0.0, 448.0, -0.001953125]).to(torch.float8_e4m3fn)
    packed = returned("cutlass_pack_scale_fp8", scales)
    assert packed.shape == (32,)
    assert packed[:8].float().tolist() == [-8, -7, -6, -5, -4, -3, -2, -1]
    assert packed[8:16].view(torch.uint8).tolist() == [0x80] * 8
    assert packed[16:24].float().tolist() == [-448.0] * 8
    assert packed[24:].view(torch.uint8).tolist() == [8, 7, 6, 5, 4, 3, 2, 1]


def test_int4_for_fp8_by_hand() -> None:
    word = torch.tensor([[0x0123_89EF - (1 << 32) * 0]], dtype=torch.int32)
    # 0..3 become 15..12; 8, 9, 14, 15 become 0, 1, 6, 7.
    assert returned("marlin_int4_fp8_preprocess", word).item() == torch.tensor(0xFEDC0167 - (1 << 32)).item()
    zeros = torch.tensor([[0x33333333]], dtype=torch.int32)
    # Against 3: 0, 1, 2 stay below (15 - v), 3 is 0, 8 is 5, 9 is 6, 14 is 11, 15 is 12.
    assert returned("marlin_int4_fp8_preprocess", word, zeros).item() == torch.tensor(0xFED056BC - (1 << 32)).item()


def test_repack_permutes_rows() -> None:
    some = codes(32, 64, 4)
    words = packing.pack_rows(some, 4)[None]
    order = Maker(1).permutation(32)
    tiles = returned("gptq_marlin_moe_repack", words, order.int()[None], 32, 64, 4)
    assert tiles.shape == (1, 2, 128)
    assert marlin.unpack(tiles[0], marlin.places(32, 64, 4), 4).equal(some[order])
    same = returned("awq_marlin_moe_repack", packing.pack_awq(some)[None], torch.empty(1, 0), 32, 64, 4)
    assert marlin.unpack(same[0], marlin.places(32, 64, 4), 4).equal(some)


def test_hadamard_by_hand() -> None:
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]]).half()
    assert returned("hadacore_transform", x, False).tolist() == [[5.0, -1.0, -2.0, 0.0]]
    twice = returned("hadacore_transform", returned("hadacore_transform", torch.eye(8).half(), False), False)
    torch.testing.assert_close(twice, torch.eye(8).half(), rtol=0, atol=2e-3)


def test_vertical_slash_by_hand() -> None:
    lengths = torch.tensor([8], dtype=torch.int32)
    verticals, slashes = torch.tensor([[[0, 5]]], dtype=torch.int32), torch.tensor([[[4, 0]]], dtype=torch.int32)
    operator = get("vllm/convert_vertical_slash_indexes")
    answer = expected(operator, operator.interfaces[0], Call((lengths, lengths, verticals, slashes, 8, 4, 4)))
    count, offset, columns, _ = (t.reference for t in answer.returns)
    # Queries 0..3: slash 4 is out of reach, slash 0 covers keys 0..3. Queries 4..7: slash 4 covers 0..3, slash 0 4..7,
    # as one range of two blocks. All verticals lie inside.
    assert count.tolist() == [[[1, 2]]] and columns[0, 0, 1].item() == 0
    assert offset.tolist() == [[[[0, 0], [0, 4]]]]
