"""Codes of a few bits in int32 words: GPTQ, AWQ and the shuffle of exllama.

The orders of AWQ and of the shuffle were checked by round trips and by words worked out by hand (tests); a reader of
either format need only know which bits hold which code:

    GPTQ, b bits       word i of a column holds codes i*32/b, i*32/b + 1, ... from the lowest bits up
    GPTQ, 3 bits       32 codes are one 96-bit number over three words, code i at bits 3i .. 3i+2
    AWQ, 4 bits        word c of a row holds columns 8c + (0, 2, 4, 6, 1, 3, 5, 7) from the lowest nibble up
    AWQ, 8 bits        columns 4c + (0, 2, 1, 3) from the lowest byte up
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from kgb_gym.operators.maker import Maker

AWQ = {4: (0, 2, 4, 6, 1, 3, 5, 7), 8: (0, 2, 1, 3)}
"""Which of a word's columns each field holds, lowest bits first."""


def random_words(make: Maker, shape: Sequence[int]) -> torch.Tensor:
    """int32 words of random bits."""
    return make.integers(shape, torch.int32, low=-(2**31), high=2**31)


def random_codes(make: Maker, shape: Sequence[int], bits: int) -> torch.Tensor:
    """Codes of `bits` bits, int32."""
    return make.integers(shape, torch.int32, low=0, high=1 << bits)


def signed(words: torch.Tensor) -> torch.Tensor:
    """The int32 words of these unsigned 32-bit numbers (int64)."""
    return torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)


def unpack_bits(words: torch.Tensor, bits: int) -> torch.Tensor:
    """Words (..., W) to codes (..., W*32/bits), lowest bits first; three bits by threes of words."""
    wide = words.long() & 0xFFFFFFFF
    if bits == 3:
        a, b, c = wide.unflatten(-1, (-1, 3)).unbind(-1)
        # The 96 bits as two numbers that fit int64: codes 0 .. 15 and 16 .. 31.
        halves = torch.stack((a | (b & 0xFFFF) << 32, b >> 16 | c << 16), -1)
        return (halves[..., None] >> torch.arange(0, 48, 3) & 7).flatten(-3).int()
    return (wide[..., None] >> torch.arange(0, 32, bits) & ((1 << bits) - 1)).flatten(-2).int()


def pack_bits(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Inverse of `unpack_bits`."""
    wide = codes.long()
    if bits == 3:
        halves = (wide.unflatten(-1, (-1, 2, 16)) << torch.arange(0, 48, 3)).sum(-1)
        low, high = halves.unbind(-1)
        words = torch.stack((low & 0xFFFFFFFF, low >> 32 | (high & 0xFFFF) << 16, high >> 16), -1)
        return signed(words.flatten(-2))
    fields = wide.unflatten(-1, (-1, 32 // bits)) << torch.arange(0, 32, bits)
    return signed(fields.sum(-1))


def pack_rows(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """GPTQ weights: codes (..., K, N) to words (..., K*bits/32, N)."""
    return pack_bits(codes.mT, bits).mT.contiguous()


def unpack_rows(words: torch.Tensor, bits: int) -> torch.Tensor:
    """Inverse of `pack_rows`."""
    return unpack_bits(words.mT, bits).mT.contiguous()


def pack_awq(codes: torch.Tensor, bits: int = 4) -> torch.Tensor:
    """AWQ: codes (..., N) to words (..., N*bits/32)."""
    order = torch.tensor(AWQ[bits])
    return pack_bits(codes.unflatten(-1, (-1, 32 // bits))[..., order].flatten(-2), bits)


def unpack_awq(words: torch.Tensor, bits: int = 4) -> torch.Tensor:
    """Inverse of `pack_awq`."""
    order = torch.tensor(AWQ[bits]).argsort()
    fields: torch.Tensor = unpack_bits(words, bits).unflatten(-1, (-1, 32 // bits))
    return fields[..., order].flatten(-2)


def shuffled_places(bits: int) -> torch.Tensor:
    """For every code of one unit (a word, or three words of 3-bit codes) its lowest bit's place after the shuffle:
    even codes in the low halves of words, odd ones in the high halves. Not for 3-bit codes 30 and 31, whose bits j lie
    at bits 15 and 31 of word j."""
    if bits == 3:
        return torch.tensor([32 * (i // 10) + 3 * (i % 10 // 2) + 16 * (i % 2) for i in range(30)])
    if bits == 8:
        return torch.arange(0, 32, 8)
    return torch.tensor([bits * (i // 2) + 16 * (i % 2) for i in range(32 // bits)])


def shuffle(words: torch.Tensor, bits: int) -> torch.Tensor:
    """GPTQ words (rows, N) in exllama's order of codes."""
    unit = 3 if bits == 3 else 1
    codes = unpack_rows(words, bits).long().unflatten(0, (-1, unit * 32 // bits))
    places = shuffled_places(bits)
    parts = []
    for word in range(unit):
        here = (places // 32 == word).nonzero().flatten()
        value = (codes[:, here] << (places[here] % 32)[:, None]).sum(1)
        if bits == 3:
            value = value | (codes[:, 30] >> word & 1) << 15 | (codes[:, 31] >> word & 1) << 31
        parts.append(value)
    return signed(torch.stack(parts, 1).flatten(0, 1)).contiguous()


def unshuffle(words: torch.Tensor, bits: int) -> torch.Tensor:
    """Codes (K, N) of words in exllama's order."""
    unit = 3 if bits == 3 else 1
    wide: torch.Tensor = (words.long() & 0xFFFFFFFF).unflatten(0, (-1, unit))
    places = shuffled_places(bits)
    codes = wide[:, places // 32] >> (places % 32)[:, None] & ((1 << bits) - 1)
    if bits == 3:
        last = [sum((wide[:, j] >> bit & 1) << j for j in range(3)) for bit in (15, 31)]
        codes = torch.cat((codes, torch.stack([torch.as_tensor(c) for c in last], 1)), 1)
    return codes.flatten(0, 1).int()
