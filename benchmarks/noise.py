"""A/A: a kernel timed against itself, 200 whole measurements for each length; needs a GPU.

Beside it, in the same run, what interleaving gains: the same events taken one side after the other.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.comparison import Row, percentile

LENGTHS_US = (2, 4, 7, 10, 20, 100, 1000)
"""Device times aimed at; what was measured stands in the row."""
REPEATS = 200
LONG, MIDDLE = 0.02, 0.05
"""Largest deviation from 1: device times of 10 µs and more, and from 3 to 10 µs."""


def noise(repeats: int = REPEATS) -> Iterator[Row]:
    """The largest deviation of the speedup of `torch.cos` against itself, by its length."""
    import torch

    from kgb_gym.sandbox.devices import lock_name, visible
    from kgb_gym.sandbox.leases import Leases
    from kgb_gym.verification.protocols import Timer
    from kgb_gym.verification.sampling import estimate
    from kgb_gym.verification.timing import capture, measure

    device = visible()[0]
    sizes = dict(zip(LENGTHS_US, _sizes(torch), strict=True))
    rng = random.Random(1)
    for cache, lengths in (("cold", LENGTHS_US), ("warm", (10,))):
        for length in lengths:
            source = torch.randn(sizes[length], device="cuda")
            out = torch.empty_like(source)

            def run(source: Any = source, out: Any = out) -> None:
                torch.cos(source, out=out)

            sides = [(run, run)]
            graphs = capture(sides) or sides
            timer = Timer(cache=cache)  # type: ignore[arg-type]
            off, us, pairs, blocks = [], [], [], []
            began = time.perf_counter()
            with Leases().hold(lock_name(device), exclusive=True):
                for _ in range(repeats):
                    taken = measure(graphs, rng, timer.case_s, timer)
                    told = estimate(taken)
                    off.append(abs(told.speedup - 1))
                    us.append(told.baseline_us)
                    pairs.append(told.repeats)
                seconds = (time.perf_counter() - began) / repeats
                for _ in range(min(repeats, 50)):
                    blocks.append(abs(_block(torch, run) / _block(torch, run) - 1))
            middle = statistics.median(us)
            target = LONG if middle >= 10 else MIDDLE if middle >= 3 else None
            yield Row(f"A/A, {cache}, {middle:.1f} µs: largest deviation", max(off), "",
                      "one side after the other, plain events", max(blocks), target,
                      detail=f"median {statistics.median(off):.2%}, 95th percentile {percentile(off, 0.95):.2%} of "
                             f"{repeats}; {statistics.median(pairs):.0f} pairs, {seconds * 1e3:.0f} ms each")  # fmt: skip


def _block(torch: Any, run: Callable[[], None], count: int = 100) -> float:
    """Mean of plain calls between events, as most harnesses take it."""
    times = []
    for _ in range(count):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        stop.record()
        times.append((start, stop))
    torch.cuda.synchronize()
    return statistics.mean(a.elapsed_time(b) for a, b in times)


def _sizes(torch: Any) -> list[int]:
    """Sizes whose graph replays take about the lengths aimed at: from a line through two long ones."""
    sizes = (1 << 24, 1 << 27)
    times = []
    for size in sizes:
        x = torch.randn(size, device="cuda")
        out = torch.empty_like(x)
        torch.cos(x, out=out)
        times.append(_block(torch, lambda x=x, out=out: torch.cos(x, out=out), 20) * 1e3)
    slope = (times[1] - times[0]) / (sizes[1] - sizes[0])
    floor = 2.0  # microseconds that the smallest kernel takes
    return [max(256, int((length - floor) / slope)) for length in LENGTHS_US]
