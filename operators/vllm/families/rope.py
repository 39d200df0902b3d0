"""Rotary position embedding: tables of angles and the rotation of pairs."""

from __future__ import annotations

import torch

from kgb_gym.operators.maker import Maker


def table(make: Maker, positions: int, rotated: int, dtype: torch.dtype) -> torch.Tensor:
    """cos and sin of drawn angles, (positions, rotated)."""
    angles = make.uniform((positions, rotated // 2), torch.float64, low=-3.14, high=3.14)
    return torch.cat((angles.cos(), angles.sin()), 1).to(dtype)


def rotated(heads: torch.Tensor, rows: torch.Tensor, is_neox: bool) -> torch.Tensor:
    """Heads (tokens, heads, size) rotated by the rows (tokens, r) of a table."""
    return _combine(heads, rows, is_neox, -1)


def magnitudes(heads: torch.Tensor, rows: torch.Tensor, is_neox: bool) -> torch.Tensor:
    """The same on absolute values."""
    return _combine(heads.abs(), rows.abs(), is_neox, 1)


def _combine(heads: torch.Tensor, rows: torch.Tensor, is_neox: bool, sign: int) -> torch.Tensor:
    half = rows.shape[1] // 2
    c, s = rows[:, None, :half], rows[:, None, half:]
    x = slice(0, half) if is_neox else slice(0, 2 * half, 2)
    y = slice(half, 2 * half) if is_neox else slice(1, 2 * half, 2)
    out = heads.clone()
    out[..., x] = heads[..., x] * c + sign * heads[..., y] * s
    out[..., y] = heads[..., y] * c + heads[..., x] * s
    return out
