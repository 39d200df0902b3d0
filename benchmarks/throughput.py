"""Throughput and latency of verifications: waiting workers against fresh ones, two workers against one, a long haul
with its memory and leftovers, `recv` against `step`."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import psutil

from benchmarks.comparison import Row, percentile, spread
from kgb_gym.operators import get, gold_source
from kgb_gym.platforms import get as get_platform
from kgb_gym.sandbox import LocalEngine
from kgb_gym.sandbox.devices import visible
from kgb_gym.sandbox.leases import Leases
from kgb_gym.verdict import Status, Verdict
from kgb_gym.verification.protocols import Job, Limits

SAMPLE = (
    "aten/cos", "aten/softmax", "aten/add", "aten/sum", "aten/t", "aten/eq", "aten/zeros", "aten/index_select",
    "vllm/rms_norm", "cublas/Saxpy_v2", "cublas/Sdot_v2", "aten/mul",
)  # fmt: skip
"""Short ones of every source and kind, for the sweep."""
SHORT = ("aten/cos", "aten/t", "cublas/Saxpy_v2", "aten/zeros")
"""For the long haul: `smoke`, untimed."""
READY_MS, SPEEDUP, GPUS, PER_MINUTE, MIB_PER_THOUSAND = 50.0, 1.8, 1.9, 400.0, 1.0
WARM = {
    "aten/softmax": (36, 3.0, ("softmax.int[*=1x256]", "softmax.int*[*=4096x256]", "softmax.int*[*=200x2560x3]")),
    "aten/cos": (18, 1.5, ("cos[dtype=*32,shape=*]", "cos[dtype=*16,shape=*]")),
}
"""Targets in seconds for as many `paper` cases as the published code runs: softmax's 18, and 18 more of the same sizes (6
of them masked by -inf, 12 with `out=`); cos's 18."""


def job(name: str, platform: str, suite: str, seed: int, *, timing: bool = True) -> Job:
    return Job(name, gold_source(name).encode(), suite=suite, platform=platform, seed=seed, timing=timing)


def ready(platform: str, repeats: int = 40) -> Iterator[Row]:
    """How long a worker takes to be ready: one that waited, and one forked when it is asked for, taken in turn."""
    roles = ("recorder", "player", "compiler") if get_platform(platform).interpreted else ("recorder", "player")
    with (
        LocalEngine(1, platform) as ahead,
        LocalEngine(1, platform, ahead=False) as fresh,
        ahead.spawner() as waits,
        fresh.spawner() as forks,
    ):
        for role in roles:
            times: dict[str, list[float]] = {"waits": [], "forks": []}
            for _ in range(repeats):
                until = time.monotonic() + 30
                while len(ahead.waiting()) < len(roles) and time.monotonic() < until:
                    time.sleep(0.02)
                for kind, spawner in (("waits", waits), ("forks", forks)):
                    began = time.perf_counter()
                    process = spawner.spawn(role, operator="aten/cos", platform=platform, limits=Limits())
                    process.ask({"hello": role}, deadline=time.monotonic() + 120)
                    times[kind].append(time.perf_counter() - began)
                    process.end()
            p95, other = (percentile(times[k], 0.95) * 1e3 for k in ("waits", "forks"))
            yield Row(f"{role} ready, 95th percentile", p95, "ms", "forked when asked for", other, READY_MS,
                      detail=f"waiting: {spread(times['waits'], 'ms', 1e3)}; median of fresh ones "
                             f"{statistics.median(times['forks']) * 1e3:.3g} ms")  # fmt: skip


def start(platform: str) -> Iterator[Row]:
    """From nothing to the first verdict, and to a full pool; what a waiting process holds."""
    began = time.perf_counter()
    with LocalEngine(1, platform) as engine:
        engine.start()
        warm = time.perf_counter() - began
        assert engine.submit(job("aten/t", platform, "smoke", 0, timing=False)).result().clean
        first = time.perf_counter() - began
        began = time.perf_counter()
        assert engine.submit(job("aten/t", platform, "smoke", 1, timing=False)).result().clean
        second = time.perf_counter() - began
        time.sleep(3)
        held = []
        for pid in engine.waiting():
            try:
                held.append(psutil.Process(pid).memory_full_info().uss / 2**20)
            except psutil.Error:
                continue
    yield Row("templates warm", warm, "s")
    yield Row("a verification of aten/t on smoke, warm", second, "s", "the first one, from nothing", first)
    if held:
        yield Row("memory of one waiting process (USS)", max(held), "MiB", detail=f"{len(held)} waited")


def stages(platform: str, repeats: int = 3) -> Iterator[Row]:
    """One verification at a time: seconds by stage. On a GPU with timings, of the whole suite and of as many cases as the
    published code runs (see `WARM`); on the CPU the `quick` suite."""
    where = get_platform(platform)
    with LocalEngine(1, platform) as engine:
        for name, (count, target, patterns) in WARM.items():
            whole = job(name, where.name, where.default_suite, 0)
            yield _staged(engine, whole, "", None, repeats)
            if where.timed:
                published = replace(whole, cases=tuple(_published(name, count, patterns)))
                yield _staged(engine, published, " (the published code's number)", target, repeats)


def _published(name: str, count: int, patterns: Sequence[str]) -> list[str]:
    globs = [p.replace("[", "[[]") for p in patterns]
    plain = [c for c in get(name).cases("paper") if any(fnmatchcase(c.id, g) for g in globs)]
    chosen = [c.id for c in plain if c.timed or count > get(name).counts("paper")["k"]]
    assert len(chosen) == count, f"{name}: {len(chosen)} cases"
    return chosen


def _staged(engine: LocalEngine, asked: Job, which: str, target: float | None, repeats: int) -> Row:
    verdicts = [engine.submit(replace(asked, seed=seed)).result() for seed in range(repeats + 1)]
    name, cases = asked.operator, verdicts[0].cases
    if bad := [v for v in verdicts if v.status is not Status.PASSED]:
        return Row(f"{name}: not clean", float("nan"), "s", detail=f"{bad[0].status}: {bad[0].message[:200]}")
    seconds = statistics.median(v.durations["total"] for v in verdicts[1:])
    timed = sum(c.timing is not None for c in cases)
    return Row(f"{name}, warm, {len(cases)} cases{which}, {timed} timed", seconds, "s", "the first one",
               verdicts[0].durations["total"], target, detail=by_stage(verdicts[1:]))  # fmt: skip


def pipelining(platform: str) -> Iterator[Row]:
    """A verification with cases made ready (on a GPU: kernels compiled, too) ahead, and without, in turn."""
    suite = get_platform(platform).default_suite
    repeats = 2 if get_platform(platform).timed else 6
    with LocalEngine(1, platform) as engine:
        for name in WARM:
            times: dict[bool, list[float]] = {True: [], False: []}
            for seed in range(repeats + 1):
                for on in (True, False) if seed % 2 else (False, True):
                    asked = replace(job(name, platform, suite, seed, timing=False), pipelined=on)
                    verdict = engine.submit(asked).result()
                    assert verdict.clean, verdict.message
                    if seed:
                        times[on].append(verdict.durations["total"])
            yield Row(f"{name}, untimed, {len(verdict.cases)} cases, pipelined", statistics.median(times[True]), "s",
                      "one after the other", statistics.median(times[False]))  # fmt: skip


def by_stage(verdicts: Sequence[Verdict]) -> str:
    """Median milliseconds of each stage."""
    names = sorted({n for v in verdicts for n in v.durations if n != "total"})
    middle = {n: statistics.median(v.durations.get(n, 0.0) for v in verdicts) * 1e3 for n in names}
    return "ms by stage: " + ", ".join(f"{n} {t:.0f}" for n, t in sorted(middle.items(), key=lambda x: -x[1]) if t >= 1)


def sweep(
    engine: LocalEngine, names: Sequence[str], platform: str, suite: str, seed: int
) -> tuple[float, list[Verdict]]:
    """Wall seconds of a warm engine for all of them, and the verdicts."""
    began = time.perf_counter()
    futures = [engine.submit(job(n, platform, suite, seed)) for n in names]
    verdicts = [f.result() for f in as_completed(futures)]
    return time.perf_counter() - began, verdicts


def workers(platform: str, rounds: int = 3) -> Iterator[Row]:
    """The sweep of gold kernels with one worker and with two, in turn; on several GPUs, with one and with two GPUs."""
    where = get_platform(platform)
    suite, many = where.default_suite, 2
    devices = visible()
    if where.timed and len(devices) > 1:
        kept = os.environ.get("CUDA_VISIBLE_DEVICES")
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[0].uuid
        one = LocalEngine(4, platform)
        os.environ["CUDA_VISIBLE_DEVICES"] = f"{devices[0].uuid},{devices[1].uuid}"
        two = LocalEngine(8, platform)
        if kept is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = kept
        title, other, target = "two GPUs, 4 workers each", "one GPU, 4 workers", GPUS
    else:
        many = 4 if where.timed else 2
        one, two = LocalEngine(1, platform), LocalEngine(many, platform)
        title, other, target = f"{many} workers", "one worker", SPEEDUP
    rates: dict[str, list[float]] = {"one": [], "two": []}
    with one, two:
        for engine in (one, two):
            sweep(engine, SHORT * many, platform, "smoke", 0)
        for number in range(rounds):
            for kind, engine in (("one", one), ("two", two)) if number % 2 else (("two", two), ("one", one)):
                seconds, verdicts = sweep(engine, SAMPLE, platform, suite, number + 1)
                assert all(v.clean for v in verdicts), [
                    f"{v.operator}: {v.message[:200]}" for v in verdicts if not v.clean
                ]
                rates[kind].append(60 * len(verdicts) / seconds)
    high, low = statistics.median(rates["two"]), statistics.median(rates["one"])
    yield Row(f"gold sweep of {len(SAMPLE)} operators, {suite}, {title}", high, "per minute", other, low, target,
              at_most=False, of_ratio=True,
              detail=f"rounds {', '.join(f'{r:.3g}' for r in rates['two'])} against "
                     f"{', '.join(f'{r:.3g}' for r in rates['one'])}; {by_stage(verdicts)}")  # fmt: skip


def haul(platform: str, seconds: float) -> Iterator[Row]:
    """Short verifications for so many seconds: how many a minute, what memory grows by, and what is left behind."""
    timed = get_platform(platform).timed
    count = min(8, os.cpu_count() or 1) if timed else 2
    with LocalEngine(1, platform) as first:  # what it opens for good (the driver's files) is no leak of the others
        assert first.submit(job("aten/t", platform, "smoke", 0, timing=False)).result().clean
    shm, fds = set(os.listdir("/dev/shm")), psutil.Process().num_fds()
    latencies: list[float] = []
    verdicts: list[Verdict] = []
    memory: list[tuple[int, float]] = []
    engine = LocalEngine(count, platform)
    with engine:
        sweep(engine, SHORT * count, platform, "smoke", 0)
        children = {p.pid for p in psutil.Process().children(recursive=True)}
        pending: dict[Future[Verdict], float] = {}
        began, done, seed = time.perf_counter(), 0, 1
        while pending or time.perf_counter() - began < seconds:
            while len(pending) < 2 * count and time.perf_counter() - began < seconds:
                future = engine.submit(job(SHORT[seed % len(SHORT)], platform, "smoke", seed, timing=False))
                pending[future] = time.perf_counter()
                seed += 1
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                assert future.result().clean, future.result().message
                verdicts = [*verdicts[-99:], future.result()]
                latencies.append(time.perf_counter() - pending.pop(future))
                done += 1
                if done % 10 == 0:
                    memory.append((done, _long_lived(engine)))
        wall = time.perf_counter() - began
        time.sleep(2)
        now = {p.pid for p in psutil.Process().children(recursive=True)}
        stray = len(now) - len(children)
        files = [p for p in Path(engine._root).rglob("*") if "job-" in p.name]
        locks = (
            [h for d in visible() for h in Leases().holders(d.uuid or f"gpu-{d.index}") if h.pid in now]
            if timed
            else []
        )
    gc.collect()
    shm_left = set(os.listdir("/dev/shm")) - shm
    left = [f"{stray} processes"] * (stray > 0) + [f"{len(files)} files"] * bool(files) + ["locks"] * bool(locks)
    left += [f"shared memory {sorted(shm_left)[:3]}"] * bool(shm_left)
    left += ["descriptors"] * (psutil.Process().num_fds() > fds) + ["folder"] * Path(engine._root).exists()
    yield Row(f"short verifications, smoke, untimed, {count} workers", 60 * done / wall, "per minute",
              target=PER_MINUTE if timed else None, at_most=False,
              detail=f"{done} in {wall:.0f} s; queue and work: {spread(latencies, 's')}; {by_stage(verdicts)}")  # fmt: skip
    if len(memory) >= 6:
        slope = statistics.linear_regression(*zip(*memory[len(memory) // 3 :], strict=True)).slope * 1000
        yield Row("memory growth of engine, templates and judges (anonymous)", slope, "MiB per 1,000", target=MIB_PER_THOUSAND,
                  detail=f"{memory[0][1]:.0f} MiB after {memory[0][0]}, {memory[-1][1]:.0f} MiB after {memory[-1][0]}")  # fmt: skip
    yield Row(
        "left behind", len(left), "things", target=0, detail=", ".join(left) or "no process, lock, file, shared memory"
    )


def _long_lived(engine: LocalEngine) -> float:
    """MiB of anonymous memory resident in the processes that outlive a verification. Pages that they share count for each:
    whether a page is shared changes with every child that a template forks, which is no growth."""
    pids = [
        os.getpid(),
        *(t._process.pid for t in engine._templates.values()),
        *(j.pid for j in engine._judges.values()),
    ]
    total = 0
    for pid in pids:
        try:
            told = psutil.Process(pid).memory_info()
            total += told.rss - told.shared
        except psutil.Error:
            continue
    return total / 2**20


def vector(platform: str, seconds: float = 40.0) -> Iterator[Row]:
    """Four sub-environments, one of which tests its whole suite at every step and the others a few cases: finished steps
    a minute with `recv`, and with `step`."""
    import gymnasium

    import kgb_gym

    names = ["aten/t", "aten/zeros", "aten/cos", "aten/softmax"]
    sources = [gold_source(n) for n in names]
    budgets = {"max_turns": 1 << 30, "max_tokens": 1 << 40, "wall_s": 1e9}

    def action(i: int, turn: int) -> object:
        more = {"cases": ["*"]} if i == 3 else {}
        return kgb_gym.call("test", code=f"{sources[i]}\n# {turn}\n", **more)

    rates, slow = {}, {}
    with LocalEngine(4 if get_platform(platform).timed else 2, platform) as engine:
        for kind in ("step", "recv"):
            env = gymnasium.make_vec("kgb/ms-v0", num_envs=4, engine=engine, platform=platform, suite="quick",
                                     budgets=budgets)  # fmt: skip
            env.reset(seed=0, options={"operator": names})
            env.step([action(i, 0) for i in range(4)])
            counts, turn = [0] * 4, 0
            if kind == "recv":
                env.send([action(i, 0) for i in range(4)])
            began = time.perf_counter()
            while time.perf_counter() - began < seconds:
                turn += 1
                if kind == "step":
                    env.step([action(i, turn) for i in range(4)])
                    counts = [c + 1 for c in counts]
                    continue
                got = env.recv()
                for i in got.ids.tolist():
                    counts[i] += 1
                env.send([action(i, turn) for i in got.ids.tolist()], got.ids)
            minutes = (time.perf_counter() - began) / 60
            rates[kind], slow[kind] = sum(counts) / minutes, counts[3] / minutes
            env.close()
    yield Row("vector of 4, one slow: steps with recv", rates["recv"], "per minute", "lockstep `step`", rates["step"],
              detail=f"of the slow one {slow['recv']:.3g} and {slow['step']:.3g} per minute")  # fmt: skip
