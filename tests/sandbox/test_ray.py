"""A run on a Ray cluster of two nodes, one of which is killed in its midst: nothing is lost, and resuming finds all.

The cluster runs on this machine and is started here.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pytest

from kgb_gym.operators import gold_source
from kgb_gym.runs import PlainProgress, Run, RunConfig
from kgb_gym.sandbox import engines
from kgb_gym.sandbox.engines import EngineError
from kgb_gym.verdict import Status
from kgb_gym.verification.protocols import Job

ray = pytest.importorskip("ray")

# Ray leaves handles of its own to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

OPERATORS = ("aten/t", "cublas/Saxpy_v2", "aten/cos", "aten/add", "aten/add_", "aten/zeros")


class Watched(PlainProgress):
    """Tells the test when the first episode is over."""

    def __init__(self):
        super().__init__(io.StringIO())
        self.first = threading.Event()

    def end(self, episode, outcome):
        super().end(episode, outcome)
        self.first.set()


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two nodes with room for one worker each; the second one may be killed."""
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="kgb-ray-")  # short: Ray's sockets lie in it
    kept = dict(os.environ)
    os.environ["TMPDIR"] = folder
    # A cluster on this machine alone needs no token, which Ray would keep in the home folder.
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0", RAY_AUTH_MODE="disabled")
    before = set(psutil.Process().children(recursive=True))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.folder, made.victim = folder, made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()
    _, alive = psutil.wait_procs(set(psutil.Process().children(recursive=True)) - before, timeout=20)
    os.environ.clear()
    os.environ.update(kept)
    shutil.rmtree(folder, ignore_errors=True)
    assert alive == []


def templates(folder):
    """Processes of the cluster's engines, which lie in its folder: templates, and what they forked."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(word.startswith(f"{folder}/kgb-gym-") for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_node_lost_in_mid_run(cluster, tmp_path):
    config = RunConfig(method="gold", operators=OPERATORS, suite="smoke", platform="cpu")
    engine, progress = engines.make("ray", workers=2, platform="cpu"), Watched()
    try:
        until = time.monotonic() + 240
        while len(set(engine.nodes())) < 2:
            assert time.monotonic() < until, engine.nodes()
            time.sleep(0.1)
        assert len(templates(cluster.folder)) >= 4
        run = Run(config, tmp_path / "run", engine=engine, workers=4, progress=progress)
        done = []
        thread = threading.Thread(target=lambda: done.append(run.carry_out()))
        thread.start()
        assert progress.first.wait(60)
        cluster.remove_node(cluster.victim, allow_graceful=False)
        thread.join(120)
        (summary,) = done
        assert [o.clean for o in summary.outcomes] == [True] * len(OPERATORS)
        assert engine.requeued >= 1
        assert len(set(engine.nodes())) == 1
        again = Run(config, tmp_path / "run", engine=engine, workers=4, progress=Watched()).carry_out()
        assert (again.resumed, again.total) == (len(OPERATORS), len(OPERATORS))

        wrong = Job("aten/t", b"def t(self:\n", suite="smoke")
        assert engine.submit(wrong).result(60).status is Status.SYNTAX_ERROR
        unknown = Job("aten/no_such_operator", gold_source("aten/t").encode())
        verdict = engine.submit(unknown).result(60)
        assert verdict.status is Status.HARNESS_ERROR
        pending = [engine.submit(Job("aten/cos", gold_source("aten/cos").encode())) for _ in range(3)]
    finally:
        engine.close()
        engine.close()
    assert {p.result(5).status for p in pending} <= {Status.HARNESS_ERROR, Status.PASSED}
    assert engine.submit(wrong).result(5).status is Status.HARNESS_ERROR
    until = time.monotonic() + 20
    while templates(cluster.folder) and time.monotonic() < until:
        time.sleep(0.2)
    assert templates(cluster.folder) == []
    # The killed node's own folder may be left: Ray kills what could have removed it.
    assert len(list(Path(cluster.folder).glob("kgb-gym-*"))) <= 1


def test_wrong_use():
    with pytest.raises(ValueError, match="local, ray"):
        engines.make("slurm", workers=1)
    with pytest.raises(ValueError, match="at least 1"):
        engines.make("ray", workers=0, platform="cpu")


def test_without_ray_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(EngineError, match=r"kgb-gym\[ray\]"):
        engines.make("ray", workers=1, platform="cpu")
