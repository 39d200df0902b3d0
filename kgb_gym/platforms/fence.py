"""Guard regions: memory with a strip of known bytes before and after it, which shows where a kernel wrote astray.

For devices whose memory cannot be watched address by address, as the interpreter's can (see `guard`). Not covered: a
write farther away than a strip is wide, and reads.
"""

from __future__ import annotations

from typing import Any

import torch

STRIP = 1 << 16
"""Bytes on either side. A whole block of 16384 float32 lanes past the end still lands in it."""
BYTE = 0xD1


class Fence:
    """Hands out memory of one device and knows its strips.

    Args:
        device: `cuda`, or `cpu` for tests.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._made: list[tuple[torch.Tensor, int]] = []

    def storage(self, nbytes: int) -> torch.UntypedStorage:
        """Memory of `nbytes` bytes between two strips; its content is undefined, its size fixed."""
        whole = torch.empty(nbytes + 2 * STRIP, dtype=torch.uint8, device=self._device)
        whole[:STRIP].fill_(BYTE)
        whole[STRIP + nbytes :].fill_(BYTE)
        self._made.append((whole, nbytes))
        inner: torch.UntypedStorage = whole.untyped_storage()[STRIP : STRIP + nbytes]
        return inner

    def holding(self, data: bytearray) -> torch.UntypedStorage:
        """Memory between two strips that holds a copy of `data`."""
        storage = self.storage(len(data))
        if data:
            self._made[-1][0][STRIP : STRIP + len(data)].copy_(torch.frombuffer(data, dtype=torch.uint8))
        return storage

    def stray(self) -> list[dict[str, Any]]:
        """What was written astray: of each memory that was, `nbytes`, the `side`, how many `bytes` changed, and how far
        (`distance`, in bytes) from the memory the nearest of them lies."""
        out = []
        for whole, nbytes in self._made:
            for side, strip in (("before", whole[:STRIP].flip(0)), ("after", whole[STRIP + nbytes :])):
                changed = strip != BYTE
                count = int(changed.sum())
                if count:
                    distance = int(changed.to(torch.uint8).argmax())
                    out.append({"nbytes": nbytes, "side": side, "bytes": count, "distance": distance})
        return out
