"""Policies play whole episodes against the real engine."""

import datasets
import pytest

from kgb_gym.baselines import EpisodeSummary, get_policy, policies, rollout
from kgb_gym.baselines.scripted import ScriptedPolicy
from kgb_gym.operators import gold_source
from kgb_gym.verdict import Status


def test_the_registry():
    assert {"gold", "scripted"} <= set(policies())
    for name in ("gold", "scripted"):
        policy = get_policy(name)
        assert (policy.method, policy.synthetic) == (name, True)
    with pytest.raises(ValueError, match="gold, scripted|unknown policy"):
        get_policy("oracle")
    with pytest.raises(TypeError):
        get_policy("gold", temperature=1)
    with pytest.raises(ValueError, match="most"):
        get_policy("scripted", most=-1)


@pytest.mark.parametrize("name", ["aten/softmax", "vllm/rms_norm", "cublas/Saxpy_v2"])
def test_gold_passes(make, name):
    summary = rollout(make(), get_policy("gold"), operator=name, seed=0)
    assert isinstance(summary, EpisodeSummary)
    assert summary.best is not None
    assert (summary.outcome, summary.clean, summary.steps, summary.terminated) == ("passed", True, 1, True), (
        summary.best
    )
    assert 1.29 < summary.reward < 1.3


def test_the_script_fails_before_it_passes(make, tmp_path):
    policy = ScriptedPolicy(most=3)
    seed = next(s for s in range(100) if _length(policy, s) == 4)
    env = make(record=tmp_path)
    summary = rollout(env, policy, operator="aten/softmax", seed=seed, record={"sample": 1})
    env.close()
    assert summary.clean
    assert summary.statuses[-1] == "passed"
    assert len(summary.statuses) == summary.submissions == summary.steps == 4
    assert "passed" not in summary.statuses[:-1]
    load = {"split": "train", "cache_dir": str(tmp_path.parent / "cache")}
    steps = datasets.load_dataset(str(tmp_path), "steps", **load).to_list()
    (episode,) = datasets.load_dataset(str(tmp_path), "episodes", **load).to_list()
    assert [s["status"] for s in steps] == list(summary.statuses)
    assert all(s["synthetic"] and s["method"] == "scripted" for s in steps)
    assert (episode["synthetic"], episode["outcome"], episode["sample"]) == (True, "passed", 1)
    assert episode["reward_total"] == pytest.approx(summary.reward)
    assert steps[-1]["code"] == gold_source("aten/softmax")
    assert [m["role"] for m in steps[-1]["messages"]] == ["user", "assistant"] * 3 + ["user"]
    assert "```python" in steps[0]["completion"]
    hacks = summary.statuses.count(Status.HACK)
    assert summary.reward == pytest.approx(1.3 - 0.5 * hacks, abs=0.02)


def _length(policy, seed):
    policy.reset("aten/softmax", seed)
    return len(policy._script)


def test_scripts_are_seeded():
    one, two = ScriptedPolicy(), ScriptedPolicy()
    scripts = set()
    for seed in range(20):
        one.reset("aten/softmax", seed)
        two.reset("aten/softmax", seed)
        assert one._script == two._script
        assert one._script[-1] is None
        assert len(one._script) <= 4
        scripts.add(tuple(d.name for d in one._script if d))
    assert len(scripts) > 5


def test_a_policy_that_raises_leaves_the_episode_to_the_record(make, tmp_path):
    class Faulty(ScriptedPolicy):
        def act(self, observation, info):
            if info["turn"] == 1:
                raise ConnectionError("the model's server is gone")
            return super().act(observation, info)

    env = make(record=tmp_path)
    policy = Faulty()
    seed = next(s for s in range(100) if _length(policy, s) > 1)
    with pytest.raises(ConnectionError):
        rollout(env, policy, operator="aten/softmax", seed=seed)
    env.close()
    load = {"split": "train", "cache_dir": str(tmp_path.parent / "cache")}
    (episode,) = datasets.load_dataset(str(tmp_path), "episodes", **load).to_list()
    assert episode["n_steps"] == 1
