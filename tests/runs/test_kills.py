"""A run that is killed ten times, at moments that nobody chose, ends with the tables of one that was left alone."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from kgb_gym.datasets.store import finished_episodes, load
from kgb_gym.metrics import compute
from kgb_gym.report import comparison_tables, failure_table, paper_tables, summary_tables

KILLS = 10
EPISODES = 64
LIMIT_S = 240.0
"""Wall seconds for one whole run."""


class Ahead:
    """Processes that are ready to carry out a run, some of them started before they are needed."""

    def __init__(self, ahead):
        self.started = [self._start() for _ in range(ahead)]
        self.ended = []

    def _start(self):
        return subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("believing_run.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip

    def begin(self, folder):
        """A process that has begun the run there."""
        self.started.append(self._start())
        process = self.started.pop(0)
        self.ended.append(process)
        process.stdin.write(f"{folder}\n")
        process.stdin.flush()
        until(process, "begins")
        return process

    def whole(self, folder):
        """Let a process carry out the run to its end."""
        assert self.begin(folder).wait(LIMIT_S) == 0

    def close(self):
        for process in (*self.started, *self.ended):
            process.kill()
            process.wait(60)
            process.stdin.close()
            process.stdout.close()


@pytest.fixture
def ahead():
    processes = Ahead(2)
    yield processes
    processes.close()


def until(process, start):
    """Read lines until one begins like that."""
    for line in process.stdout:
        if line.startswith(start):
            return
    raise AssertionError(f"it ended before {start!r}")


def told(folder):
    """Every table that a report prints, without wall times: those are the clock's."""
    tables = load(folder)
    place = tables.episodes.schema.get_field_index("wall_s")
    field = tables.episodes.schema.field(place)
    zeros = pa.array([0.0] * tables.episodes.num_rows, field.type)
    metrics = compute(tables.steps, tables.episodes.set_column(place, field, zeros))
    printed = [*paper_tables(metrics), *comparison_tables(metrics), *summary_tables(metrics), failure_table(metrics)]
    return [t.text() for t in printed], json.dumps(metrics.to_dict(), sort_keys=True)


def steps(folder):
    """What was done in the episodes that count."""
    tables = load(folder)
    whole = {e["episode_id"]: e for e in tables.episodes.to_pylist() if e["complete"]}
    rows = tables.steps.select(["episode_id", "step", "operator", "code", "status", "reward", "seed"]).to_pylist()
    found = [
        (s["operator"], whole[s["episode_id"]]["sample"], s["step"], s["code"], s["status"], s["reward"], s["seed"])
        for s in rows if s["episode_id"] in whole
    ]  # fmt: skip
    assert len({f[:3] for f in found}) == len(found), "no step stands there twice"
    return sorted(found)


def test_ten_kills_leave_the_same_tables(ahead, tmp_path):
    ahead.whole(tmp_path / "whole")
    drawn = random.Random(seed := random.randrange(10**6))
    before = 0
    for kill in range(KILLS):
        process = ahead.begin(tmp_path / "broken")
        for _ in range(episodes := drawn.randrange(5)):
            until(process, "[")
        time.sleep(drawn.uniform(0, 0.02 if episodes else 0.2))  # without an episode: while it begins
        process.kill()
        assert process.wait(60) == -signal.SIGKILL, f"it was over before kill {kill}, seed {seed}"
        if (tmp_path / "broken" / "run.json").exists():
            after = len(finished_episodes(tmp_path / "broken"))
            assert before + episodes <= after < EPISODES, (
                f"{before} + {episodes}, now {after} of {EPISODES} (seed {seed})"
            )
            before = after
    assert before > 0, f"seed {seed}"
    ahead.whole(tmp_path / "broken")
    assert steps(tmp_path / "broken") == steps(tmp_path / "whole"), f"seed {seed}"
    assert told(tmp_path / "broken") == told(tmp_path / "whole"), f"seed {seed}"
    assert load(tmp_path / "broken").episodes.num_rows >= EPISODES
    assert not list((tmp_path / "broken" / "journal").glob("*.arrows"))


def test_a_full_disk_ends_the_run_and_the_same_call_goes_on(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import believing_run

    write, left = os.write, [40]

    def full(fd, data):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            believing_run.carry_out(tmp_path / "full")
    before = len(finished_episodes(tmp_path / "full"))
    assert 0 < before < EPISODES
    believing_run.carry_out(tmp_path / "full")
    believing_run.carry_out(tmp_path / "never")
    assert steps(tmp_path / "full") == steps(tmp_path / "never")
    assert told(tmp_path / "full") == told(tmp_path / "never")
