"""What the allocator does with memory that is freed: kept for the next tensor, and given back between verifications.

By default the C library maps and unmaps large blocks, and every page of a fresh one is a fault: most of the time of an
operation on a few megabytes. Only glibc can be told; elsewhere nothing changes.
"""

from __future__ import annotations

import contextlib
import ctypes

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
MOST = 2**31 - 1


def keep() -> None:
    """Have this process, and those it forks, keep what they free from now on."""
    libc = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, MOST)


def give_back() -> None:
    """Return free memory to the machine."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
