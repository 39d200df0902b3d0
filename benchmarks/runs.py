"""The measurements of whole runs: how busy a slow model leaves the judges, what the runner costs, memory, publishing."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measure import Result
from kgb_gym.operators import gold_source
from kgb_gym.verdict import CaseResult, Stage, Status, Verdict
from kgb_gym.verification.protocols import Engine, Job

BUSY, COST_MS, GROWTH_MIB, PUBLISH_S = 0.9, 20.0, 16.0, 10.0
"""The targets; `GROWTH_MIB` is what counts as flat between the 400th and the last of 2,000 episodes."""
EPISODES_AT_ONCE, ANSWER_S = 64, 0.2


class StandIn:
    """An engine whose workers take a fixed time for a verdict that is made up; counts how long they work."""

    def __init__(self, workers: int, seconds: float) -> None:
        self.workers, self.seconds = workers, seconds
        self.spans: list[tuple[float, float]] = []
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, job: Job) -> Future[Verdict]:
        return self._pool.submit(self._judge, job)

    def close(self) -> None:
        self._pool.shutdown()

    def _judge(self, job: Job) -> Verdict:
        began = time.monotonic()
        time.sleep(self.seconds)
        verdict = _verdict(job.operator, job.source, suite=job.suite, platform=job.platform, seed=job.seed)
        self.spans.append((began, time.monotonic()))
        return verdict


class Watched:
    """A real engine, and when each of its jobs was judged."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.workers = engine, engine.workers
        self.spans: list[tuple[float, float]] = []

    def submit(self, job: Job) -> Future[Verdict]:
        future: Future[Verdict] = self.engine.submit(job)
        future.add_done_callback(self._ended)
        return future

    def close(self) -> None:
        self.engine.close()

    def _ended(self, future: Future[Verdict]) -> None:
        now = time.monotonic()
        self.spans.append((now - future.result().durations.get("total", 0.0), now))


def busy() -> Iterator[Result]:
    """The share of the workers' time that 64 episodes keep them at work, while every answer takes 200 ms."""
    from kgb_gym.sandbox import LocalEngine

    stand_in = StandIn(8, 0.25)
    yield _busy("workers busy, 8 stand-ins of 250 ms", stand_in, 512)
    stand_in.close()
    with LocalEngine(workers=os.cpu_count() or 1, platform="cpu") as engine:
        engine.start()
        yield _busy(f"workers busy, {engine.workers} real ones", Watched(engine), 160)


def episodes(count: int = 2000) -> Iterator[Result]:
    """What the runner itself costs an episode of one submission, and what it holds on to over many."""
    process = psutil.Process()
    resident: list[int] = []

    class Counting(StandIn):
        def submit(self, job: Job) -> Future[Verdict]:
            resident.append(process.memory_info().rss)
            return super().submit(job)

    engine = Counting(1, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        began, cpu = time.perf_counter(), time.process_time()
        _play(engine, Path(folder), count, workers=1, policies=Gold)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    engine.close()
    cost = 1e3 * cpu / count
    detail = f"{count} episodes; wall {1e3 * wall / count:.1f} ms with two flushes to the disk"
    yield Result("runner, CPU an episode", cost, "ms", f"≤ {COST_MS:.0f}", cost <= COST_MS, detail)
    early, late = max(resident[count // 10 : count // 5]), max(resident[-count // 10 :])
    growth = (late - early) / 2**20
    detail = f"{early / 2**20:.0f} MiB by the {count // 5}th, {late / 2**20:.0f} MiB at the end"
    yield Result("memory gained by then", growth, "MiB", f"≤ {GROWTH_MIB:.0f}", growth <= GROWTH_MIB, detail)


def publishing(steps: int = 10_000) -> Iterator[Result]:
    """From a run folder to a published one, its check by loading included."""
    from kgb_gym.datasets.publish import publish
    from kgb_gym.datasets.recorder import Recorder
    from kgb_gym.datasets.rows import episode_row, step_row

    code, copies = gold_source("aten/softmax"), 20
    made_up = _verdict("aten/softmax", code.encode(), suite="quick", platform="cpu")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as source, tempfile.TemporaryDirectory() as target:
        run = Path(source) / "run"
        with Recorder.open(run, config={"benchmark": 1}) as recorder:
            for number in range(steps // 4 // copies):
                name = f"e{number}"
                rows = [
                    step_row(made_up, episode_id=name, step=i, code=f"{code}\n# {number} {i}",
                             messages=[{"role": "user", "content": code}], completion=f"{i}\n{code}\n{number}",
                             action="submit", tokens=900, reward=0.0)
                    for i in range(4)
                ]  # fmt: skip
                for row in rows:
                    recorder.step(row)
                recorder.episode(episode_row(rows, episode_id=name, operator="aten/softmax"))
        _multiply(run, copies)
        began, cpu = time.perf_counter(), time.process_time()
        done = publish(run, str(Path(target) / "published"))
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    detail = f"{done.steps} steps of {done.episodes} episodes; {cpu:.1f} s of CPU"
    yield Result("publishing", seconds, "s", f"≤ {PUBLISH_S:.0f}", seconds <= PUBLISH_S, detail)


def _multiply(run: Path, copies: int) -> None:
    """Shards like those that are there, under other episode ids: recording ten thousand steps is measured elsewhere."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    for path in sorted((run / "data").glob("*.parquet")):
        table = pq.read_table(path)
        place = table.schema.get_field_index("episode_id")
        for number in range(1, copies):
            ids = pc.binary_join_element_wise(table.column("episode_id"), str(number), "-")
            head, _, tail = path.name.rpartition("-")
            copy = table.set_column(place, table.schema.field(place), ids)
            pq.write_table(copy, path.with_name(f"{head}-{number + 100:0{len(tail.partition('.')[0])}d}.parquet"))


class Gold:
    """A policy that sends the gold kernel without a thought."""

    method, model, synthetic = "gold", None, True

    def reset(self, operator: str, seed: int) -> None:
        self._code = gold_source(operator)

    def act(self, observation: Any, info: Any) -> Any:
        import kgb_gym

        return kgb_gym.submit(self._code)

    def close(self) -> None:
        pass


def _verdict(operator: str, source: bytes, **more: Any) -> Verdict:
    case = CaseResult("f[n=4]", "f", {"n": 4}, "paper", passed=True, passed_paper=True)
    return Verdict(
        operator=operator, source_sha256=hashlib.sha256(source).hexdigest(), stage=Stage.GENUINE,
        status=Status.PASSED, message="passes", cases=(case,) * 20, clean=True, clean_paper=True, **more,
    )  # fmt: skip


def _busy(name: str, engine: Any, count: int) -> Result:
    from kgb_gym.baselines.methods import find
    from kgb_gym.baselines.methods.build import asking
    from kgb_gym.baselines.models import Endpoint, connect
    from kgb_gym.baselines.models.loopback import Answer, LoopbackServer

    answer = Answer(f"```python\n{gold_source('aten/t')}\n```", delay_s=ANSWER_S)
    with LoopbackServer(lambda request: answer) as server, tempfile.TemporaryDirectory() as folder:
        client = connect(Endpoint("stand-in", base_url=server.url))
        method = find("pass@1")
        _play(engine, Path(folder), count, workers=EPISODES_AT_ONCE, policies=lambda: asking(method, client))
        client.close()
    # Between the first full house and the last: what a run's beginning and end leave idle says nothing.
    begins, ends = sorted(s[0] for s in engine.spans), sorted(s[1] for s in engine.spans)
    start, end = begins[engine.workers - 1], ends[-engine.workers]
    worked = sum(max(0.0, min(e, end) - max(s, start)) for s, e in engine.spans)
    share = worked / (engine.workers * (end - start))
    detail = f"{count} episodes, {EPISODES_AT_ONCE} at once, answers after {ANSWER_S * 1e3:.0f} ms; {end - start:.1f} s"
    return Result(name, 100 * share, "%", f"≥ {100 * BUSY:.0f}", share >= BUSY, detail)


def _play(engine: Engine, folder: Path, count: int, *, workers: int, policies: Callable[[], Any]) -> None:
    from kgb_gym.envs import Budgets
    from kgb_gym.runs import PlainProgress, Run, RunConfig

    config = RunConfig(
        method="pass@1", operators=("aten/t",), suite="smoke", platform="cpu", samples=count, early_stop=False,
        budgets=Budgets(max_submissions=1),
    )  # fmt: skip
    run = Run(
        config, folder / "run", engine=engine, workers=workers, progress=PlainProgress(io.StringIO()), policies=policies
    )
    summary = run.carry_out()
    if summary.clean != count or threading.active_count() > 2 * EPISODES_AT_ONCE + 32:
        raise RuntimeError(f"{summary.clean} of {count} episodes clean, {threading.active_count()} threads")


ALL = {"busy": busy, "episodes": episodes, "publish": publishing}
