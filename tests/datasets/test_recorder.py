"""What `step` returned for is never lost nor doubled, and any folder loads with Hugging Face's library."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading

import pytest
from verdicts import verdict

from kgb_gym.datasets import journal, shards, store
from kgb_gym.datasets.publish import PublishError, publish
from kgb_gym.datasets.recorder import Recorder
from kgb_gym.datasets.rows import episode_row, step_row
from kgb_gym.datasets.runfile import ConfigMismatch, config_hash
from kgb_gym.verdict import Status

CONFIG = {"method": "gold", "budgets": {"turns": 5}, "operators": ["aten/softmax"]}


def a_step(episode="e0", step=0, **columns):
    return step_row(verdict(status=Status.MISMATCH), episode_id=episode, step=step, reward=0.1, **columns)


def record(recorder, episode="e0", steps=3):
    rows = [a_step(episode, i) for i in range(steps)]
    for row in rows:
        recorder.step(row)
    recorder.episode(episode_row(rows, sample=0))


def keys(folder):
    tables = store.load(folder)
    steps = list(zip(*(tables.steps.column(n).to_pylist() for n in ("episode_id", "step")), strict=True))
    return sorted(steps), sorted(tables.episodes.column("episode_id").to_pylist())


def dies_in_the_middle(folder):
    """In a child: two finished episodes, two steps of a third, then a kill that nothing can catch."""
    recorder = Recorder.open(folder, config=CONFIG)
    record(recorder, "a")
    record(recorder, "b")
    recorder.step(a_step("c", 0))
    recorder.step(a_step("c", 1))
    os.kill(os.getpid(), signal.SIGKILL)


def killed(folder):
    process = multiprocessing.get_context("spawn").Process(target=dies_in_the_middle, args=(folder,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


EXPECTED = [(e, i) for e in "ab" for i in range(3)] + [("c", 0), ("c", 1)]


def test_a_killed_process_loses_nothing(tmp_path):
    killed(tmp_path / "run")
    assert not shards.paths(tmp_path / "run", "steps")
    done = store.recover(tmp_path / "run")
    assert (done.steps, done.episodes, done.journals) == (8, 3, 2)
    assert keys(tmp_path / "run") == (EXPECTED, ["a", "b", "c"])
    outcomes = {r["episode_id"]: r["outcome"] for r in store.load(tmp_path / "run").episodes.to_pylist()}
    assert outcomes == {"a": "mismatch", "b": "mismatch", "c": "interrupted"}
    assert [e.episode_id for e in store.finished_episodes(tmp_path / "run")] == ["a", "b"]
    assert store.recover(tmp_path / "run") == store.Recovered(0, 0, 0)


@pytest.mark.parametrize("cut", [1, 5, 40, 300])
def test_a_torn_tail_costs_only_the_torn_row(tmp_path, cut):
    killed(tmp_path / "run")
    (path,) = (tmp_path / "run" / "journal").glob("steps-*")
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    assert keys(tmp_path / "run")[0] == EXPECTED[:-1]


def test_garbage_after_the_last_row_is_dropped(tmp_path):
    killed(tmp_path / "run")
    (path,) = (tmp_path / "run" / "journal").glob("steps-*")
    with path.open("ab") as file:
        file.write(b"\xff\xff\xff\xff\x10\x00\x00\x00garbage" * 3)
    assert keys(tmp_path / "run")[0] == EXPECTED


def test_a_crash_between_rename_and_removal_doubles_nothing(tmp_path, monkeypatch):
    killed(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.unlink", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            store.recover(tmp_path / "run")
    assert journal.files(tmp_path / "run" / "journal")
    assert shards.paths(tmp_path / "run", "steps")
    assert store.recover(tmp_path / "run").steps == 0
    assert keys(tmp_path / "run") == (EXPECTED, ["a", "b", "c"])


def test_a_live_journal_is_left_alone_yet_read(tmp_path):
    recorder = Recorder.open(tmp_path / "run", config=CONFIG)
    record(recorder, "a")
    recorder.step(a_step("b", 0))
    assert store.recover(tmp_path / "run") == store.Recovered(0, 0, 0, live=2)
    assert keys(tmp_path / "run") == ([("a", 0), ("a", 1), ("a", 2), ("b", 0)], ["a"])
    recorder.close()
    assert keys(tmp_path / "run") == ([("a", 0), ("a", 1), ("a", 2), ("b", 0)], ["a", "b"])


def test_flushing_keeps_open_episodes_whole(tmp_path):
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder:
        record(recorder, "a")
        recorder.step(a_step("b", 0))
        recorder.flush_shards()
        assert {k[0] for k in shards.stored_keys(tmp_path / "run", "steps")} == {"a"}
        recorder.step(a_step("b", 1))
        recorder.episode(episode_row([a_step("b", 0), a_step("b", 1)]))
    rows = store.load(tmp_path / "run").episodes.to_pylist()
    assert [(r["episode_id"], r["complete"], r["n_steps"]) for r in rows] == [("a", True, 3), ("b", True, 2)]
    assert not journal.files(tmp_path / "run" / "journal")


def test_a_journal_rotates_by_size(tmp_path):
    with Recorder.open(tmp_path / "run", config=CONFIG, rotate_bytes=50_000) as recorder:
        for i in range(30):
            record(recorder, f"e{i:02}")
        assert shards.paths(tmp_path / "run", "steps")
    steps, episodes = keys(tmp_path / "run")
    assert (len(steps), len(episodes)) == (90, 30)


def test_threads_share_a_recorder_while_it_flushes(tmp_path):
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder:
        workers = [
            threading.Thread(target=lambda n=n: [record(recorder, f"{n}-{i}") for i in range(10)]) for n in range(6)
        ]
        for worker in workers:
            worker.start()
        while any(w.is_alive() for w in workers):
            recorder.flush_shards()
        for worker in workers:
            worker.join()
    steps, episodes = keys(tmp_path / "run")
    assert (len(steps), len(set(steps)), len(episodes)) == (180, 180, 60)


def in_a_child(recorder, name):
    record(recorder, name)
    recorder.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # pyarrow's threads: the child only records
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_processes_share_a_folder(tmp_path, how):
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder:
        recorder.step(a_step("parent", 0))
        context = multiprocessing.get_context(how)
        children = [context.Process(target=in_a_child, args=(recorder, f"child{i}")) for i in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join(60)
            assert child.exitcode == 0
        recorder.step(a_step("parent", 1))
    steps, episodes = keys(tmp_path / "run")
    assert (len(steps), episodes) == (8, ["child0", "child1", "parent"])


def test_a_recorder_pickles(tmp_path):
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder, pickle.loads(pickle.dumps(recorder)) as other:
        record(recorder, "a")
        record(other, "b")
    assert keys(tmp_path / "run")[1] == ["a", "b"]


def test_the_true_row_replaces_one_made_in_recovery(tmp_path):
    first = Recorder.open(tmp_path / "run", config=CONFIG)
    second = Recorder.open(tmp_path / "run", config=CONFIG)
    rows = [a_step("a", i) for i in range(2)]
    for row in rows:
        first.step(row)
    first.close()
    second.episode(episode_row(rows))
    second.close()
    (row,) = store.load(tmp_path / "run").episodes.to_pylist()
    assert (row["outcome"], row["complete"]) == ("mismatch", True)


def test_another_config_is_refused_with_the_difference(tmp_path):
    Recorder.open(tmp_path / "run", config=CONFIG).close()
    with pytest.raises(ConfigMismatch) as caught:
        Recorder.open(tmp_path / "run", config={**CONFIG, "budgets": {"turns": 8}, "suite": "paper"})
    assert "budgets.turns: recorded 5, given 8" in str(caught.value)
    assert 'suite: recorded (absent), given "paper"' in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    Recorder.open(tmp_path / "run", config={**CONFIG, "operators": ("aten/softmax",)}).close()
    with pytest.raises(FileExistsError, match="holds a run already"):
        Recorder.open(tmp_path / "run", config=CONFIG, resume=False)
    assert config_hash({"a": 1, "b": 2}) == config_hash({"b": 2, "a": 1})


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match=r"thesis\.tex"):
        Recorder.open(tmp_path, config=CONFIG)


def test_keys_are_unique(tmp_path):
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder:
        recorder.step(a_step())
        with pytest.raises(ValueError, match="recorded before"):
            recorder.step(a_step())
        with pytest.raises(ValueError, match="needs step"):
            recorder.step({"episode_id": "e"})
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder, pytest.raises(ValueError, match="another id"):
        recorder.step(a_step(step=1))
    with pytest.raises(ValueError, match="closed"):
        recorder.step(a_step("z"))


def test_a_full_disk_costs_the_row_and_nothing_else(tmp_path, monkeypatch):
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder:
        recorder.step(a_step("a", 0))
        write = os.write
        with monkeypatch.context() as patch:

            def half(fd, data):
                write(fd, bytes(data[: len(data) // 2]))
                raise OSError(28, "No space left on device")

            patch.setattr(os, "write", half)
            with pytest.raises(OSError, match="No space"):
                recorder.step(a_step("a", 1))
        recorder.step(a_step("a", 1))
        recorder.step(a_step("a", 2))
    assert keys(tmp_path / "run")[0] == [("a", 0), ("a", 1), ("a", 2)]


def test_calibration_is_kept_in_the_run_file(tmp_path):
    with Recorder.open(tmp_path / "run", config=CONFIG, hardware={"gpus": ["H200"]}) as recorder:
        recorder.calibrate({"ratio": 1.001})
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["calibration"] == {"ratio": 1.001}
    assert run["hardware"] == {"gpus": ["H200"]}
    assert run["config_hash"] == config_hash(CONFIG)


LOADER = """
import sys
from datasets import load_dataset
steps = load_dataset(sys.argv[1], "steps", split="train")
episodes = load_dataset(sys.argv[1], "episodes", split="train")
row = steps[0]
assert row["cases"][0]["difference"]["mismatches"] == 12, row["cases"]
assert row["ended_at"].tzinfo is not None
print(len(steps), len(episodes), len(steps.features))
"""


def loaded(folder, tmp_path):
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    command = [sys.executable, "-c", LOADER, str(folder)]
    done = subprocess.run(
        command, check=False, cwd=elsewhere, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_hugging_face_loads_a_run_and_what_was_published_of_it(tmp_path):
    killed(tmp_path / "run")
    store.recover(tmp_path / "run")
    assert loaded(tmp_path / "run", tmp_path)[:2] == ["8", "3"]
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder:
        record(recorder, "d")
        recorder.flush_shards()
        recorder.step(a_step("open", 0))
        assert loaded(tmp_path / "run", tmp_path)[:2] == ["11", "4"]
        with pytest.raises(PublishError, match="still being recorded"):
            publish(tmp_path / "run", str(tmp_path / "published"))
    done = publish(tmp_path / "run", str(tmp_path / "published"))
    assert (done.steps, done.episodes) == (12, 5)
    assert loaded(tmp_path / "published", tmp_path)[:2] == ["12", "5"]
    assert keys(tmp_path / "published") == keys(tmp_path / "run")
    with pytest.raises(PublishError, match="not an empty folder"):
        publish(tmp_path / "run", str(tmp_path / "published"))


def test_the_hub_needs_a_token(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder:
        with pytest.raises(PublishError, match="no recorded step"):
            publish(tmp_path / "run", "hf://someone/something")
        record(recorder)
    with pytest.raises(PublishError, match="hf auth login"):
        publish(tmp_path / "run", "hf://someone/something")


def test_nothing_leaves_the_machine_without_the_hubs_prefix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.HfApi", None)
    with Recorder.open(tmp_path / "run", config=CONFIG) as recorder:
        record(recorder)
    done = publish(tmp_path / "run", "someone/something")
    assert (tmp_path / "someone" / "something" / "data").is_dir() and done.steps > 0
    with pytest.raises(PublishError, match="no dataset of the hub"):
        publish(tmp_path / "run", "hf://nobody")


def test_there_must_be_a_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no run"):
        store.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no run"):
        store.recover(tmp_path)
