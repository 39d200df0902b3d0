"""The layouts of Marlin's weights, scales and zero points, each as the place of one element.

A place is a flat index of an int32 word and the lowest bit in it; packing and unpacking are a scatter and a gather
over places. The tests hold words worked out by hand, and that places fill every word once.
"""

from __future__ import annotations

import torch

from kgb_gym.operators.vllm.families.packing import signed

SINGLE = (0, 1, 8, 9, 16, 17, 24, 25)


def places(k: int, n: int, bits: int, wide: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Word and bit (k, n) of every code: tiles of 16 x 64, or of 32 x 32 where `wide` (for 8-bit activations)."""
    row, column = torch.arange(k)[:, None], torch.arange(n)[None, :]
    pack = 32 // bits
    line = column % 8
    if wide:
        word = (row // 32 * (n // 32) + column // 32) * (1024 // pack)
        quarter = column % 32 // 16 * 2 + column % 16 // 8
        high, depth = row % 32 // 16, row % 16
        thread, i = 4 * line + depth // 4, depth % 4
        if bits == 4:
            return _both(word + 4 * thread + quarter, 4 * (2 * i + high))
        return _both(word + 8 * thread + 2 * quarter + high, 8 * i)
    word = row // 16 * (n * 16 // pack)
    quarter, high = column % 64 // 16, column % 16 // 8
    depth = row % 8
    thread, i = 4 * line + depth // 2, 2 * (row % 16 // 8) + depth % 2
    if bits == 4:
        e = i + 4 * high
        return _both(word + column // 64 * 128 + 4 * thread + quarter, 4 * (e // 2 + 4 * (e % 2)))
    return _both(word + column // 64 * 256 + 8 * thread + 2 * quarter + high, 8 * (2 * (i % 2) + i // 2))


def sparse_places(k: int, n: int, bits: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Word and bit (k / 2, n) of the codes that are kept of k rows, two of every four."""
    row, column = torch.arange(k // 2)[:, None], torch.arange(n)[None, :]
    pack = 32 // bits
    within = column % 64
    thread, high, j = 4 * (within // 8) + row % 8 // 2, within % 8 // 4, within % 4
    i = 2 * (row % 16 // 8) + row % 2
    word = row // 16 * (n * 16 // pack)
    if bits == 4:
        e = i + 4 * high
        return _both(word + column // 64 * 128 + 4 * thread + j, 4 * (e // 2 + 4 * (e % 2)))
    return _both(word + column // 64 * 256 + 8 * thread + 2 * j + high, 8 * (2 * (i % 2) + i // 2))


def metadata_places(k: int, n: int) -> torch.Tensor:
    """The int16 (k / 16, n) that holds the positions of column n's kept codes of 16 rows."""
    c, column = torch.arange(k // 16)[:, None], torch.arange(n)[None, :]
    row = 64 * (column // 64) + 2 * (column % 2) + column % 8 // 4 + 32 * (column % 4 // 2) + 4 * (column % 64 // 8)
    step = torch.where((row % 2 == 0) & (c % 2 == 1), 1, torch.where((row % 2 == 1) & (c % 2 == 0), -1, 0))
    row, c = row + step, c - step
    return c // 2 * 2 * n + 2 * row + c % 2


def pack(codes: torch.Tensor, where: tuple[torch.Tensor, torch.Tensor], bits: int, rows: int) -> torch.Tensor:
    """The words (rows, ...) of codes at their places."""
    words, bit = where
    flat = torch.zeros(codes.numel() * bits // 32, dtype=torch.int64)
    flat.scatter_add_(0, words.flatten(), (codes.long() << bit).flatten())
    return signed(flat).view(rows, -1)


def unpack(words: torch.Tensor, where: tuple[torch.Tensor, torch.Tensor], bits: int) -> torch.Tensor:
    """The codes of words at their places."""
    word, bit = where
    return (words.reshape(-1).long()[word] >> bit & ((1 << bits) - 1)).int()


def repack(codes: torch.Tensor, bits: int, wide: bool = False) -> torch.Tensor:
    """Codes (K, N) in tiles, int32 (K / 16, N * bits / 2)."""
    k, n = codes.shape
    return pack(codes, places(k, n, bits, wide), bits, k // 16)


def scale_order(n: int, grouped: bool) -> torch.Tensor:
    """Which column each stored scale belongs to: transposed 8 x 8 where there are groups, else a permutation of 32."""
    if grouped:
        return torch.arange(n).view(-1, 8, 8).mT.reshape(n)
    return (
        torch.arange(n).view(-1, 32)[:, :1, None] + torch.tensor([[2 * i + s for s in SINGLE] for i in range(4)])
    ).reshape(n)


def zero_order(n: int, bits: int) -> torch.Tensor:
    """Which column the zero point in each field of a row of words belongs to, lowest bits of the first word first."""
    fields = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7] if bits == 4 else [0, 2, 1, 3])
    return scale_order(n, True).view(-1, len(fields))[:, fields].reshape(n)


def _both(word: torch.Tensor, bit: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    word, bit = torch.broadcast_tensors(word, bit)
    return word, bit


TILES = (
    "The returned int32 words, row i of an expert for rows 16i to 16i + 15 of codes (k, n). With n1 = n % 64, k1 = k % "
    "16, t = 4 * (n % 8) + k1 % 8 // 2, i = 2 * (k1 // 8) + k1 % 2, w = n1 // 16, h = n1 % 16 // 8:\n"
    "  4 bits  word 128 * (n // 64) + 4 * t + w of the row, with e = i + 4h nibble e // 2 + 4 * (e % 2)\n"
    "  8 bits  word 256 * (n // 64) + 8 * t + 2 * w + h of the row, byte 2 * (i % 2) + i // 2"
)
WIDE_TILES = (
    "Where is_a_8bit is true, tiles of 32 x 32 one after the other, in the flat words of an expert. With base = ((k // "
    "32) * (N / 32) + n // 32) * (1024 / codes a word), w = n % 32 // 16 * 2 + n % 16 // 8, h = k % 32 // 16, t = 4 * "
    "(n % 8) + k % 16 // 4, i = k % 4:\n"
    "  4 bits  word base + 4 * t + w, nibble 2 * i + h\n"
    "  8 bits  word base + 8 * t + 2 * w + h, byte i"
)
