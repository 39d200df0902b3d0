"""A/A of the real baselines: each timed against itself on its own timed cases, as a verification times it; needs a GPU."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.comparison import Row, percentile
from kgb_gym.operators import Case, Maker, Operator, match
from kgb_gym.operators import get as get_operator

LONG_US, LONG = 10.0, 0.02
"""Largest deviation from 1 of device times of so many microseconds and more."""
EACH = 6
"""Cases of one operator."""


def baselines(source: str = "cublas", each: int = EACH) -> Iterator[Row]:
    """The largest deviation of the speedup of a source's baselines against themselves.

    Args:
        source: `cublas` or `aten`.
        each: cases an operator, from its smallest to its largest.
    """
    from kgb_gym.sandbox import heap
    from kgb_gym.sandbox.devices import lock_name, visible
    from kgb_gym.sandbox.leases import Leases

    taken: list[tuple[float, float, str]] = []
    told: list[str] = []
    heap.keep()
    device = visible()[0]
    for name in match([f"{source}/*"]):
        operator = get_operator(name)
        for case in spread_over([c for c in operator.cases("paper") if c.timed], each):
            with Leases().hold(lock_name(device), exclusive=True):
                answer = against_itself(operator, case)
            if "timing" in answer:
                timing = answer["timing"]
                taken.append((timing["baseline_us"], abs(timing["speedup"] - 1), case.id))
            else:
                told.append(f"{name}: {answer.get('untimed') or answer}"[:200])
    long = sorted((t for t in taken if t[0] >= LONG_US), key=lambda t: -t[1])
    short = [t for t in taken if t[0] < LONG_US]
    if long:
        off = [t[1] for t in long]
        worst = "; ".join(f"{case} {us:.1f} µs {share:.2%}" for us, share, case in long[:3])
        yield Row(f"{source} against itself, {len(long)} cases of {LONG_US:g} µs and more: largest deviation", off[0], "",
                  target=LONG, detail=f"median {statistics.median(off):.2%}, 95th percentile {percentile(off, 0.95):.2%}; "
                                      f"{sum(o > LONG for o in off)} above {LONG:.0%}; largest: {worst}")  # fmt: skip
    if short:
        off = [t[1] for t in short]
        yield Row(f"{source} against itself, {len(short)} shorter cases: largest deviation", max(off), "",
                  detail=f"median {statistics.median(off):.2%}")  # fmt: skip
    if told or not taken:
        yield Row(f"{source}: not timed", len(told), "cases", detail="; ".join(told[:3]))


def spread_over(cases: Sequence[Case], count: int) -> list[Case]:
    """At most so many of the cases, one of each size that the numbers in their parameters make, smallest and largest
    among them."""
    by_size = {_size(c.params): c for c in sorted(cases, key=lambda c: c.id)}
    ordered = [by_size[s] for s in sorted(by_size)]
    if len(ordered) <= count:
        return ordered
    step = (len(ordered) - 1) / max(1, count - 1)
    return [ordered[round(i * step)] for i in range(count)]


def _size(value: Any) -> float:
    """The product of all whole numbers from 2 on: grows with every dimension."""
    if isinstance(value, dict):
        return _size(list(value.values()))
    if isinstance(value, (list, tuple)):
        product = 1.0
        for part in value:
            product *= _size(part)
        return product
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and value > 1 else 1.0


def against_itself(operator: Operator, case: Case, seed: int = 1) -> dict[str, Any]:
    """The player's own timing of one case's baseline against itself, in this process."""
    from kgb_gym.verification.protocols import Timer
    from kgb_gym.verification.record import Record, encode
    from kgb_gym.verification.tensors import pack
    from kgb_gym.verification.timing import time_case

    interface = operator.interface(case.interface)
    tree, blobs = pack(interface.call(Maker(seed), case.params))
    timer = Timer()
    question = {
        "record": encode(Record((), (), (), ())), "pick": {}, "call": tree, "operator": operator.id,
        "interface": interface.name, "seed": seed, "written": [], "timer": asdict(timer), "budget_s": timer.case_s,
        "calibrate": True,
    }  # fmt: skip
    return time_case(question, [bytearray(b) for b in blobs], {})[0]
