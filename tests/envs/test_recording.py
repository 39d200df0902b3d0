import datasets
import gymnasium
import pyarrow as pa
import pytest

from kgb_gym.datasets import schema
from kgb_gym.datasets.journal import read
from kgb_gym.datasets.recorder import Recorder
from kgb_gym.datasets.rows import verdict_from_row
from kgb_gym.envs.budgets import Budgets
from kgb_gym.verdict import Status


@pytest.fixture
def tables(tmp_path):
    def load(folder=tmp_path):
        cache = str(tmp_path.parent / f"{tmp_path.name}-cache")
        return tuple(
            datasets.load_dataset(str(folder), name, split="train", cache_dir=cache).to_list()
            for name in ("steps", "episodes")
        )

    return load


def test_every_step_and_episode(make, submit, call, tables, tmp_path, engine):
    env = make("kgb/ms-v0", record=tmp_path)
    about = {"method": "m@1", "model": "some-model", "synthetic": True, "sample": 2, "samples": 5, "rounds": 3}
    env.reset(seed=0, options={"operator": "aten/add", "record": about})
    transcript = {
        "messages": [{"role": "user", "content": "write"}], "finish_reason": "stop", "token_ids": [1, 2],
        "logprobs": [-0.5, -1.0], "sampling": {"temperature": 0.8, "min_p": 0.1},
    }  # fmt: skip
    total = 0.0
    returned = []
    for action in (
        submit(
            "mismatch 1/4", {"prompt_tokens": 9000, "completion_tokens": 60}, completion="said", transcript=transcript
        ),
        call("test", code="passed", cases=["add.out*"]),
        {"kind": 1, "tool": "odd"},
        {"kind": 0, "code": 3},
        submit("passed", finish=True),
    ):
        observation, reward, *_, info = env.step(action)
        returned.append((observation, reward, info))
        total += reward
    env.close()
    steps, episodes = tables()
    assert [s["step"] for s in steps] == list(range(5))
    assert [s["action"] for s in steps] == ["submit", "tool", "tool", "tool", "submit"]
    assert [s["tool"] for s in steps] == [None, "test", "odd", "unknown", None]
    assert [s["status"] for s in steps] == ["mismatch", "passed", None, None, "passed"]
    assert [s["terminated"] for s in steps] == [False] * 4 + [True]
    for row, (observation, reward, info) in zip(steps, returned, strict=True):
        assert row["reward"] == pytest.approx(reward)
        assert {t["name"]: t["value"] for t in row["reward_terms"]} == info["reward_terms"]
        assert (row["tokens"], row["usage_source"]) == (info["tokens"], info["tokens_source"])
        assert row["observation"] == observation["message"]
        assert (row["method"], row["model"], row["synthetic"], row["env_id"]) == (
            "m@1",
            "some-model",
            True,
            "kgb/ms-v0",
        )
    first = steps[0]
    assert first["code"] == "mismatch 1/4"
    assert (first["completion"], first["finish_reason"], first["token_ids"]) == ("said", "stop", [1, 2])
    assert first["messages"] == transcript["messages"]
    assert first["sampling"]["temperature"] == 0.8
    assert verdict_from_row(first) == engine.answer(engine.jobs[0])
    assert first["verdict_seed"] == engine.jobs[0].seed
    (episode,) = episodes
    assert episode["reward_total"] == pytest.approx(total)
    assert (episode["outcome"], episode["clean_pass"], episode["best_step"]) == ("passed", True, 4)
    assert (episode["n_steps"], episode["n_submissions"], episode["sample"], episode["complete"]) == (5, 2, 2, True)
    assert episode["total_tokens"] == sum(s["tokens"] for s in steps)
    assert {s["episode_id"] for s in steps} == {episode["episode_id"]}


def test_a_step_is_on_the_disk_when_step_returns(make, submit, tmp_path):
    env = make(record=tmp_path)
    env.reset(seed=0)
    env.step(submit("mismatch 1/4"))
    journals = list((tmp_path / "journal").iterdir())
    rows = [row for j in journals for batch in read(j) for row in batch.to_pylist()]
    assert [r["status"] for r in rows] == ["mismatch"]


def test_abandoned_episodes_have_their_outcome(make, submit, tables, tmp_path):
    env = make(record=tmp_path)
    env.reset(seed=0)
    env.step(submit("mismatch 1/4"))
    env.reset()
    env.step(submit("hack"))
    env.reset()
    env.close()
    _, episodes = tables()
    assert sorted(e["outcome"] for e in episodes) == ["hack", "mismatch"]
    assert all(e["complete"] for e in episodes)


def test_truncation_is_recorded(make, call, tables, tmp_path):
    env = make(record=tmp_path, budgets=Budgets(max_turns=1))
    env.reset(seed=0)
    env.step(call("read_spec"))
    env.close()
    steps, episodes = tables()
    assert (steps[0]["truncated"], episodes[0]["outcome"]) == (True, "no_submission")


def test_our_failures_are_marked(make, submit, tables, tmp_path, fake_engine, verdict):
    env = make(record=tmp_path, engine=fake_engine(lambda job: verdict(Status.HARNESS_ERROR, job=job)))
    env.reset(seed=0)
    env.step(submit("x", {"completion_tokens": 90_000}, finish=True))
    env.close()
    steps, episodes = tables()
    assert (steps[0]["reward_valid"], steps[0]["reward"]) == (False, 0.0)
    assert not episodes[0]["reward_valid"]


@pytest.mark.parametrize("text", ["\ud800 lone", "\x00 null", "🙂 é"])
def test_any_text_can_be_recorded(make, submit, tables, tmp_path, text):
    env = make(record=tmp_path)
    env.reset(seed=0)
    transcript = {"messages": [{"role": "user", "content": text}]}
    env.step(submit(text, completion=text, transcript=transcript, finish=True))
    env.close()
    steps, _ = tables()
    assert steps[0]["code"] == text.encode("utf-8", "backslashreplace").decode()


def test_vectors_record_exactly_their_steps(engine, submit, call, tables, tmp_path):
    env = gymnasium.make_vec("kgb/ms-v0", num_envs=3, engine=engine, platform="cpu", record=tmp_path)
    env.reset(seed=0, options={"record": {"method": "v", "synthetic": True}})
    total = 0.0
    for _ in range(4):
        _, rewards, *_ = env.step([submit("mismatch 1/4"), submit("passed", finish=True), call("nope")])
        total += rewards.sum()
    env.close()
    steps, episodes = tables()
    assert len(steps) == 12
    assert len(episodes) == 6
    assert sorted(e["n_steps"] for e in episodes) == [1, 1, 1, 1, 4, 4]
    assert sum(s["reward"] for s in steps) == pytest.approx(total)
    assert sum(e["reward_total"] for e in episodes) == pytest.approx(total)
    assert {e["method"] for e in episodes} == {"v"}
    assert {s["env_id"] for s in steps} == {"kgb/ms-v0"}


def test_a_shared_recorder_stays_open(make, submit, tables, tmp_path):
    first = make()
    recorder = Recorder.open(tmp_path, config=first.unwrapped.setting.config())
    for _ in range(2):
        env = make(record=recorder)
        env.reset(seed=0)
        env.step(submit("passed", finish=True))
        env.close()
    recorder.close()
    steps, episodes = tables()
    assert (len(steps), len(episodes)) == (2, 2)


def test_another_configuration_is_refused(make, tmp_path):
    make(record=tmp_path).close()
    with pytest.raises(ValueError, match="max_turns"):
        make(record=tmp_path, budgets=Budgets(max_turns=3))


def test_every_recorded_column_is_in_the_schema(make, submit, tmp_path):
    env = make(record=tmp_path)
    env.reset(seed=0)
    env.step(submit("passed", finish=True))
    env.close()
    for table in ("steps", "episodes"):
        (shard,) = (tmp_path / "data").rglob(f"{table}*.parquet")
        assert pa.parquet.read_schema(shard).names == schema.TABLES[table].names
