"""Gathers of ragged sequences from paged caches into one dense buffer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from kgb_gym.operators.maker import Maker

LENGTHS = ("equal", "ragged")


@dataclass(frozen=True)
class Sequences:
    """Where the tokens of some sequences lie."""

    block_table: torch.Tensor
    """int32 (batch, most blocks)."""
    cu_seq_lens: torch.Tensor
    """int32 (batch + 1,): the sums of the lengths before each sequence, and of all."""
    seq_starts: torch.Tensor | None
    """int32 (batch,): how many tokens of each sequence come before the first one wanted."""
    token_to_seq: torch.Tensor
    """int32 (tokens,): the sequence of each token."""


def sequences(
    make: Maker, *, blocks: int, block_size: int, batch: int, tokens: int, lengths: str, starts: bool
) -> Sequences:  # fmt: skip
    """`batch` sequences of `tokens` tokens in all: of equal lengths, or drawn ones, zero among them.

    Raises:
        ValueError: `lengths` is unknown.
    """
    if lengths not in LENGTHS:
        raise ValueError(f"unknown lengths {lengths!r}: use one of {', '.join(LENGTHS)}")
    cuts = [tokens * b // batch for b in range(batch + 1)]
    if lengths == "ragged":
        inner = sorted(make.rng.randint(0, tokens) for _ in range(batch - 1))
        cuts = [0, *inner[:1], *inner[:1], *inner[2:], tokens][: batch + 1] if batch > 2 else [0, *inner, tokens]
        cuts[-1] = tokens
    most = -(-tokens // block_size) + 2
    table = make.integers((batch, most), torch.int32, low=0, high=blocks)
    begin = make.integers((batch,), torch.int32, low=0, high=2 * block_size + 1) if starts else None
    owner = [b for b in range(batch) for _ in range(cuts[b + 1] - cuts[b])]
    return Sequences(table, torch.tensor(cuts, dtype=torch.int32), begin, torch.tensor(owner, dtype=torch.int32))


def places(
    block_table: torch.Tensor, cu_seq_lens: torch.Tensor, seq_starts: torch.Tensor | None, block_size: int
) -> Iterator[tuple[int, int, int]]:
    """For each sequence's tokens in order: row of the destination, block, place in the block."""
    cuts, table = cu_seq_lens.tolist(), block_table.tolist()
    begins = [0] * len(table) if seq_starts is None else seq_starts.tolist()
    for row, begin, first, last in zip(table, begins, cuts[:-1], cuts[1:], strict=True):
        for token in range(first, last):
            page, inside = divmod(token - first + begin, block_size)
            yield token, row[page], inside


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other numbers of blocks, tokens and sequences, ragged, with and without starts."""
    tokens = max(1, params["tokens"] + rng.randint(-max(2, params["tokens"] // 4), max(2, params["tokens"] // 4)))
    drawn = {
        "blocks": rng.randint(1, params["blocks"] + 3),
        "block_size": rng.choice((4, 8, 16, 32, 64)),
        "batch": rng.randint(1, params["batch"] + 2),
        "tokens": tokens,
        "lengths": rng.choice(LENGTHS),
    }
    if "starts" in params:
        drawn["starts"] = rng.random() < 0.5
    return {**params, **drawn}


TABLES = (
    "block_table is int32 (sequences, most blocks): the blocks of each sequence in order; a block may serve several. "
    "cu_seq_lens is int32 (sequences + 1,): sequence b owns the rows cu_seq_lens[b] to cu_seq_lens[b + 1] of the "
    "destination; sequences may be empty"
)
