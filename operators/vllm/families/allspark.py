"""AllSpark's order of 8-bit weights, their scales and zero points; checked by round trip and places worked out by hand.

32 columns and 16 rows make a unit of 512 bytes: eight lines of 64 bytes, one for the columns that are equal modulo 8.
"""

from __future__ import annotations

import torch


def places(k: int, n: int) -> torch.Tensor:
    """The flat byte (k, n) of every code."""
    row, column = torch.arange(k)[:, None], torch.arange(n)[None, :]
    r, depth = column % 32, row % 16
    line = (8 * (column // 32) + r % 8) * 4 * k
    return line + 64 * (row // 16) + 16 * (depth % 8 // 2) + 4 * (r // 8) + 2 * (depth // 8) + depth % 2


def padded(n: int) -> int:
    """Columns that are stored."""
    return -(-n // 32) * 32


def reorder(codes: torch.Tensor) -> torch.Tensor:
    """Codes (K, n) uint8 in AllSpark's order (N32, K); padding is 0."""
    k, n = codes.shape
    flat = torch.zeros(padded(n) * k, dtype=torch.uint8)
    flat[places(k, n).flatten()] = codes.flatten()
    return flat.view(padded(n), k)


def restore(words: torch.Tensor, n: int) -> torch.Tensor:
    """Inverse of `reorder`."""
    return words.flatten()[places(words.shape[1], n)]


def reorder_columns(values: torch.Tensor) -> torch.Tensor:
    """Scales or zero points (n,) as they are stored, (1, N32); padding is 0."""
    whole = torch.zeros(padded(values.numel()), dtype=values.dtype)
    whole[: values.numel()] = values
    return whole.view(-1, 4, 8).mT.reshape(1, -1)


def restore_columns(values: torch.Tensor, n: int) -> torch.Tensor:
    """Inverse of `reorder_columns`."""
    return values.view(-1, 8, 4).mT.reshape(-1)[:n]
