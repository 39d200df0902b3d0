"""Guard regions, on the CPU: what is written beside a memory shows, and how far off."""

from __future__ import annotations

import pytest
import torch

from kgb_gym.platforms.fence import STRIP, Fence


def flat(storage: torch.UntypedStorage, start: int, count: int) -> torch.Tensor:
    """Bytes around a fenced memory, as a kernel with a wrong offset would reach them."""
    import ctypes

    buffer = (ctypes.c_uint8 * count).from_address(storage.data_ptr() + start)
    return torch.frombuffer(buffer, dtype=torch.uint8)


def test_memory_holds_what_it_was_given_and_nothing_is_astray() -> None:
    fence = Fence("cpu")
    storage = fence.holding(bytearray(b"\x01\x02\x03\x04"))
    assert storage.tolist() == [1, 2, 3, 4]
    storage.fill_(9)
    empty = fence.storage(0)
    assert (storage.nbytes(), empty.nbytes()) == (4, 0)
    assert fence.stray() == []


@pytest.mark.parametrize(
    ("start", "side", "distance"),
    [(-1, "before", 0), (-STRIP, "before", STRIP - 1), (8, "after", 0), (107, "after", 99)],
)
def test_a_byte_beside_it_is_found(start: int, side: str, distance: int) -> None:
    fence = Fence("cpu")
    fence.storage(16)
    storage = fence.storage(8)
    flat(storage, start, 1).fill_(0)
    assert fence.stray() == [{"nbytes": 8, "side": side, "bytes": 1, "distance": distance}]


def test_both_sides_and_every_memory_count() -> None:
    fence = Fence("cpu")
    first, second = fence.storage(8), fence.storage(24)
    flat(first, -4, 4).fill_(1)
    flat(second, -2, 2).fill_(1)
    flat(second, 24, 6).fill_(1)
    assert [(s["nbytes"], s["side"], s["bytes"]) for s in fence.stray()] == [
        (8, "before", 4), (24, "before", 2), (24, "after", 6),
    ]  # fmt: skip
