"""What is made for one case after the other, each while the one before is in use."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Made = TypeVar("Made")


@contextlib.contextmanager
def one_ahead(ahead: bool, items: Sequence[Item], make: Callable[[Item], Made]) -> Iterator[Iterator[Made]]:
    """What `make` gives for each item, in order.

    Args:
        ahead: make the next one meanwhile, in one thread of one core; else each when it is asked for.
        items: of what.
        make: must bear being called beside what the caller does. What it raises is raised at its turn.
    """
    if not ahead or not items:
        yield map(make, items)
        return
    pool = ThreadPoolExecutor(1, "kgb-ahead", initializer=torch.set_num_threads, initargs=(1,))

    def made() -> Iterator[Made]:
        coming = pool.submit(make, items[0])
        for following in items[1:]:
            now, coming = coming.result(), pool.submit(make, following)
            yield now
        yield coming.result()

    try:
        yield made()
    finally:
        pool.shutdown(cancel_futures=True)
