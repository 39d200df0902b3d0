"""Device time of a record against the baseline, taken by the player (DESIGN section 8).

Both sides are captured as CUDA graphs where they can be, and called plainly where either cannot; they run interleaved
in random order over rotated inputs, with the L2 cache flushed before each measurement or not (`Timer`). What the pairs
say, and when there are enough, is a matter of `sampling`. Host time for launches is taken apart. Not covered: clocks are
read (by the judge), never set; times include one graph launch on either side, which pulls ratios of kernels of a few
microseconds towards 1.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import torch

from kgb_gym.operators.catalog import get
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Seeded
from kgb_gym.verification.profile import watch
from kgb_gym.verification.protocols import Timer
from kgb_gym.verification.record import Record, Step, Tune, parse
from kgb_gym.verification.sampling import Pair, Rule, estimate, repeat
from kgb_gym.verification.tensors import unpack

LAUNCH_BOUND_US = 3.0
ROUND_US = 10_000.0
"""Device time of a round of runs back to back, where a run is not longer than that by itself."""
ROTATIONS = 3
ROTATION_BYTES = 8 << 20
"""Inputs larger than this are not rotated: the flush between measurements leaves nothing of them in the cache."""


def time_case(
    question: Mapping[str, Any], blobs: list[bytearray], kernels: Mapping[str, Any]
) -> tuple[dict[str, Any], list[memoryview]]:
    """Time one case on the current CUDA device.

    Args:
        question: `record`, `pick`, `call`, `operator`, `interface`, `timer`, `budget_s`, `calibrate` (time the baseline against
            itself instead), and `look` (say what ran on the GPU, and hand over what the timed loop leaves).
        blobs: the call's storages.
        kernels: the submission's jitted functions.

    Returns:
        `{"timing": {...}}`, or `{"untimed": ...}` if the baseline is not available here. After a look also `profile`
        (see `profile.watch`) and `plays`, with the outputs as in an answer to `play`.
    """
    from kgb_gym.operators.baseline import resolve
    from kgb_gym.verification.player import Playback, hand_over

    operator = get(question["operator"])
    interface = operator.interface(question["interface"])
    baseline = resolve(operator, interface, "nvidia")
    call = baseline.call
    if call is None:
        return {"untimed": baseline.label}, []
    record = parse(
        question["record"], input_bytes=[len(b) for b in blobs], kernels=frozenset(kernels), max_bytes=1 << 40
    )
    rng = random.Random(question["seed"])
    total = sum(len(b) for b in blobs)
    sides: list[tuple[Callable[[], None], Callable[[], None]]] = []
    fresh: list[Callable[[], None]] = []
    keep: list[Any] = []
    pick: dict[tuple[str, str], int] = {}
    for _ in range(ROTATIONS if total <= ROTATION_BYTES else 1):
        mine, theirs = (unpack(question["call"], blobs, "cuda") for _ in range(2))
        playback = Playback(record, mine[1], kernels, "cuda", question["seed"])
        playback.poison()
        pick = tune(record, playback, pick)
        steps = record.chosen(pick)
        args, kwargs = _real(theirs[0])

        def submission(playback: Playback = playback, steps: tuple[Step, ...] = steps) -> None:
            playback.run(steps)

        def reference(args: Any = args, kwargs: Any = kwargs) -> None:
            call(*args, **kwargs)

        written = [(mine[1][i], mine[1][i].clone()) for i in question["written"]]

        def refresh(playback: Playback = playback, written: Any = written) -> None:
            playback.poison()
            for storage, before in written:
                if storage.nbytes() == before.nbytes():
                    storage.copy_(before)

        fresh.append(refresh)
        sides.append((reference if question.get("calibrate") else submission, reference))
        keep += [mine, theirs, playback]
    for pair in sides:
        for side in pair:
            for _ in range(3):
                side()
    torch.cuda.synchronize()
    timer = Timer(**question["timer"])
    graphs = None if timer.method == "events" else capture(sides)
    told = estimate(measure(graphs or sides, rng, float(question["budget_s"]), timer, fresh))
    answer: dict[str, Any] = {
        "timing": {
            **asdict(told), "interval": list(told.interval), "cache": timer.cache,
            "method": "graph" if graphs else "events", "launch_bound": told.baseline_us < LAUNCH_BOUND_US,
            "submission_launch_us": launch_cost(sides[0][0], told.submission_us),
            "baseline_launch_us": launch_cost(sides[0][1], told.baseline_us),
        },
        "label": baseline.label, "wall": wall_clock((graphs or sides)[0][0], rng, told.submission_us),
    }  # fmt: skip
    out: list[memoryview] = []
    if question.get("look"):
        fresh[0]()
        (graphs or sides)[0][0]()
        torch.cuda.synchronize()
        inputs, _, playback = keep[0][1], keep[1], keep[2]
        answer["plays"] = [{"digests": hand_over(playback, inputs, question["written"], out)}]
        answer["profile"] = watch(sides[0][0])
    return answer, out


def wall_clock(run: Callable[[], None], rng: random.Random, device_us: float) -> dict[str, float]:
    """Wall microseconds of one of `count` runs back to back, `count` drawn, the best of three rounds: what device events
    cannot be talked out of. It holds the launches, which a busy machine makes slow. Of long runs fewer say as much."""
    most = min(40, max(4, int(ROUND_US / device_us)))
    count, rounds = rng.randint(max(2, most // 4), most), []
    for _ in range(3):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            run()
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - began) * 1e6 / count)
    return {"count": count, "us": min(rounds)}


def launch_cost(run: Callable[[], None], device_us: float) -> float:
    """Host microseconds to issue one plain run while the device is idle or behind: the best of three rounds of eight, or
    of fewer where a run is long."""
    count, rounds = min(8, max(1, int(ROUND_US / 3 / device_us))), []
    for _ in range(3):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            run()
        rounds.append((time.perf_counter() - began) * 1e6 / count)
    torch.cuda.synchronize()
    return min(rounds)


def measure(
    sides: Sequence[tuple[Callable[[], None], Callable[[], None]]], rng: random.Random, budget_s: float, timer: Timer,
    fresh: Sequence[Callable[[], None]] = (),
) -> list[Pair]:  # fmt: skip
    """Paired device times in microseconds, (submission, baseline), as many as the timer wants.

    `fresh`, one for each pair of sides, is called before each measurement: it takes away what earlier runs left in
    memory, so that no kernel finds its work done and leaves early.
    """
    flush = torch.empty(_flush_bytes(), dtype=torch.uint8, device="cuda") if timer.cache == "cold" else None

    stream = torch.cuda.current_stream()
    events = [tuple(torch.cuda.Event(enable_timing=True) for _ in range(4)) for _ in range(Rule.batch)]

    def once(number: int, which: int, start: torch.cuda.Event, stop: torch.cuda.Event) -> None:
        run = sides[number][which]
        if flush is None:
            run()  # what it reads is in the cache now
        if fresh:
            fresh[number]()
        if flush is not None:
            flush.zero_()
        start.record(stream)
        run()
        stop.record(stream)

    def take(done: int, count: int) -> list[Pair]:
        for number in range(done, done + count):
            marks = events[number - done]
            for which in (0, 1) if rng.random() < 0.5 else (1, 0):
                once(number % len(sides), which, *marks[2 * which : 2 * which + 2])
        torch.cuda.synchronize()
        return [(a.elapsed_time(b) * 1e3, c.elapsed_time(d) * 1e3) for a, b, c, d in events[:count]]

    rule = Rule(half_width=timer.half_width, most=timer.most)
    return repeat(take, budget_s, rule)


_tuned: dict[tuple[str, str], int] = {}
"""Chosen configurations of this player, which serves one submission and ends."""


def tune(record: Record, playback: Any, pick: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Choose among autotuned configurations by device time; the playback's memory holds garbage afterwards.

    Raises:
        Exception: what the last configuration raised, if none of them runs.
    """
    if not any(isinstance(s, Tune) for s in record.steps):
        return dict(pick)
    for step in record.steps:
        if not isinstance(step, Tune):
            playback.run([step])
            continue
        key = (step.function, step.key)
        if key not in _tuned:
            times: dict[int, float] = {}
            failure: Exception | None = None
            for index, choice in enumerate(step.choices):
                try:
                    times[index] = _quick_time(playback, choice)
                except Exception as error:  # noqa: BLE001 (a configuration that cannot run, or a call that cannot be captured, is left out)
                    failure = error
            if not times:
                assert failure is not None
                raise failure
            _tuned[key] = min(times, key=lambda i: times[i])
        playback.run(step.choices[_tuned[key]])
    return {**pick, **_tuned}


def _quick_time(playback: Any, steps: Sequence[Step]) -> float:
    playback.run(steps)
    torch.cuda.synchronize()
    samples = []
    for _ in range(7):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        playback.run(steps)
        stop.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(stop))
    return float(statistics.median(samples))


def capture(
    sides: Sequence[tuple[Callable[[], None], Callable[[], None]]],
) -> list[tuple[Callable[[], None], Callable[[], None]]] | None:
    """Both sides of every rotation as graph replays; None if any cannot be captured."""
    pool = torch.cuda.graph_pool_handle()
    out = []
    try:
        for pair in sides:
            mine, theirs = (_graph(side, pool) for side in pair)
            out.append((mine.replay, theirs.replay))
        for pair in out:
            for replay in pair:
                replay()
        torch.cuda.synchronize()
    except Exception:  # noqa: BLE001 (a configuration that cannot run, or a call that cannot be captured, is left out)
        torch.cuda.synchronize()
        return None
    return out


def _graph(run: Callable[[], None], pool: Any) -> torch.cuda.CUDAGraph:
    """A run as a graph. `torch.cuda.graph` would give the allocator's free memory back before each: dear, and no need."""
    graph = torch.cuda.CUDAGraph()
    here, aside = torch.cuda.current_stream(), _aside()
    aside.wait_stream(here)
    with torch.cuda.stream(aside):
        graph.capture_begin(pool=pool)
        try:
            run()
        finally:
            graph.capture_end()
    here.wait_stream(aside)
    return graph


@cache
def _aside() -> torch.cuda.Stream:
    """The stream on which graphs are captured: the default one can't be."""
    return torch.cuda.Stream()


def _flush_bytes() -> int:
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return int(max(2 * getattr(properties, "L2_cache_size", 64 << 20), 64 << 20))


def _real(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    def swap(value: Any) -> Any:
        return torch.Generator(device="cuda").manual_seed(value.seed) if isinstance(value, Seeded) else value

    return tuple(swap(a) for a in call.args), {k: swap(v) for k, v in call.kwargs.items()}
