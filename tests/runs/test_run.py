"""A run with the real judge: recorded, resumed, refused where it must be."""

import io
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from kgb_gym.datasets.runfile import ConfigMismatch
from kgb_gym.datasets.store import finished_episodes, load
from kgb_gym.runs import PlainProgress, Run, RunConfig
from kgb_gym.runs.run import FolderBusy, _claimed
from kgb_gym.sandbox import shared_engine

GOLD = RunConfig(method="gold", operators=("aten/cos", "aten/t"), suite="smoke", platform="cpu")


@pytest.fixture(scope="module")
def engine():
    return shared_engine("cpu")


def carry_out(config, folder, engine, workers=2):
    return Run(config, folder, engine=engine, workers=workers, progress=PlainProgress(io.StringIO())).carry_out()


@pytest.fixture(scope="module")
def done(engine, tmp_path_factory):
    """A finished run and its summary."""
    folder = tmp_path_factory.mktemp("run")
    return folder, carry_out(GOLD, folder, engine)


def test_every_episode_is_played_and_recorded(done):
    folder, summary = done
    assert summary.complete and not summary.interrupted
    assert (summary.total, summary.clean, summary.failed, summary.unscored, summary.resumed) == (2, 2, 0, 0, 0)
    tables = load(folder)
    assert sorted(tables.steps.column("operator").to_pylist()) == ["aten/cos", "aten/t"]
    rows = tables.episodes.to_pylist()
    assert {r["method"] for r in rows} == {"gold"}
    assert {(r["sample"], r["samples"], r["complete"], r["clean_pass"], r["synthetic"]) for r in rows} == {
        (0, 1, True, True, True)
    }
    assert {r["env_id"] for r in rows} == {"kgb/aten-cos-v0", "kgb/aten-t-v0"}
    assert {r["run_id"] for r in rows} == {summary.run_id}


def test_the_same_call_again_does_nothing_more(done, engine):
    folder, first = done
    again = carry_out(GOLD, folder, engine)
    assert again.resumed == again.total == 2
    assert [(o.operator, o.outcome, o.clean) for o in again.outcomes] == [
        (o.operator, o.outcome, o.clean) for o in first.outcomes
    ]
    assert load(folder).steps.num_rows == 2


def test_another_configuration_is_refused_with_the_difference(done, engine):
    folder, _ = done
    with pytest.raises(ConfigMismatch, match="seed: recorded 0, given 5"):
        carry_out(replace(GOLD, seed=5), folder, engine)


def test_workers_are_no_part_of_the_configuration(done, engine):
    folder, _ = done
    assert carry_out(GOLD, folder, engine, workers=1).resumed == 2


def test_one_process_at_a_time(done, engine):
    folder, _ = done
    with _claimed(folder), pytest.raises(FolderBusy, match="another process"):
        carry_out(GOLD, folder, engine)


def test_a_folder_with_other_things_is_left_alone(tmp_path, engine):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(FileExistsError, match=r"holds no run: thesis\.tex"):
        carry_out(GOLD, tmp_path, engine)


def test_an_unscored_episode_is_taken_up_again(tmp_path):
    """A closed engine answers with `harness_error`: our failure. The next call plays those episodes again."""
    from kgb_gym.sandbox import LocalEngine

    closed = LocalEngine(workers=1, platform="cpu")
    closed.close()
    config = replace(GOLD, operators=("aten/t",))
    first = carry_out(config, tmp_path, closed)
    assert (first.unscored, first.clean, first.failed) == (1, 0, 1)
    second = carry_out(config, tmp_path, shared_engine("cpu"))
    assert (second.resumed, second.clean, second.unscored) == (0, 1, 0)


def test_nonsense_is_refused(tmp_path, engine):
    with pytest.raises(ValueError, match="workers must be at least 1"):
        Run(GOLD, tmp_path, engine=engine, workers=0, progress=PlainProgress(io.StringIO()))
    with pytest.raises(ValueError, match="unknown policy"):
        Run(replace(GOLD, method="x"), tmp_path, engine=engine, workers=1, progress=PlainProgress(io.StringIO()))


class Command:
    """`kgb run` as a process of its own."""

    def __init__(self, folder, operators, samples=1):
        self.arguments = [
            *(sys.executable, "-m", "kgb_gym", "run", "--method", "gold", "--operators", operators),
            *(
                "--suite",
                "smoke",
                "--platform",
                "cpu",
                "--samples",
                str(samples),
                "--out",
                str(folder),
                "--workers",
                "1",
            ),
        ]
        self.folder = folder

    def start(self):
        return subprocess.Popen(self.arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

    def finish(self):
        done = subprocess.run([*self.arguments, "--json"], capture_output=True, text=True, timeout=240, check=False)
        return done.returncode, json.loads(done.stdout)


def read_until(process, text, seconds=180):
    """Lines of standard error until one holds the text."""
    lines, limit = [], time.monotonic() + seconds
    for line in process.stderr:
        lines.append(line)
        if text in line:
            return lines
        assert time.monotonic() < limit
    raise AssertionError(f"ended without {text!r}: {lines}")


def test_ctrl_c_ends_the_run_cleanly_and_it_resumes(tmp_path):
    command = Command(tmp_path / "run", "aten/t", samples=40)
    process = command.start()
    read_until(process, "[ 2/40]")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "stopping" in err
    assert "Traceback" not in err
    finished = len(finished_episodes(command.folder))
    assert 2 <= finished < 40
    assert not list((command.folder / "journal").glob("*.arrows")), "the recorder was closed"
    code, summary = command.finish()
    assert code == 0
    assert summary["resumed"] == finished
    assert summary["clean"] == 40
    rows = [r for r in load(command.folder).episodes.to_pylist() if r["complete"]]
    assert sorted(r["sample"] for r in rows) == list(range(40))


def test_a_termination_is_as_clean(tmp_path):
    command = Command(tmp_path / "run", "aten/t", samples=40)
    process = command.start()
    read_until(process, "[ 1/40]")
    process.terminate()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "stopping" in err and "Traceback" not in err


def test_a_killed_run_loses_nothing_and_resumes_to_the_same_set(tmp_path):
    command = Command(tmp_path / "run", "aten/t", samples=30)
    told = 0
    for end in (3, 9, 17):
        process = command.start()
        lines = read_until(process, f"[{end:2}/30]")
        started = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait(30)
        process.stderr.close()
        assert started and psutil.wait_procs(started, timeout=30)[1] == [], "nothing is left running"
        told += sum(line.startswith("[") for line in lines)
        assert len(finished_episodes(command.folder)) >= told
    code, summary = command.finish()
    assert code == 0
    assert summary["clean"] == summary["episodes"] == 30
    tables = load(command.folder)
    rows = [r for r in tables.episodes.to_pylist() if r["complete"]]
    assert sorted(r["sample"] for r in rows) == list(range(30))
    seeds = {(r["sample"], r["seed"]) for r in rows}
    assert len(seeds) == 30
    keys = [(s["episode_id"], s["step"]) for s in tables.steps.select(["episode_id", "step"]).to_pylist()]
    assert len(keys) == len(set(keys)) >= 30
