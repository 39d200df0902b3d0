"""The bandit of the examples: its templates are what their knobs say, and it plays, learns and records."""

import json
from pathlib import Path

import pytest

from kgb_gym.datasets.store import load
from kgb_gym.sandbox import shared_engine
from kgb_gym.verification.protocols import Job

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture
def bandit(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import train_bandit

    return train_bandit


def right(bandit, **others):
    wanted = {"route": "triton", "cover": "grid", "block": 64, "mask": "yes", "stride": "given", "compute": "exact"}
    return {k: v.index((wanted | others)[k]) for k, v in bandit.KNOBS.items()}


def test_every_knob_matters(bandit):
    engine = shared_engine("cpu")
    wrong = [
        {},
        {"mask": "no"},
        {"stride": "unit"},
        {"compute": "half"},
        {"route": "torch"},
        {"block": 16, "cover": "once"},
    ]
    jobs = [("cublas/Sscal_v2", change) for change in wrong] + [("vllm/rms_norm", {}), ("vllm/rms_norm", {"block": 16})]
    asked = [
        engine.submit(Job(name, bandit.source(name, right(bandit, **change)).encode(), suite="smoke", seed=3))
        for name, change in jobs
    ]
    said = [future.result().status.value for future in asked]
    assert said[0] == said[6] == "passed"
    assert said[4] == "hack"
    assert "passed" not in said[1:6] + said[7:]


def test_it_learns_what_is_paid(bandit):
    """Against a reward that stands in for the judge: right is 1.3, a hack -0.5, anything else 0.1."""
    policy = bandit.Policy(0)
    rewards = []
    for i in range(300):
        operator = bandit.OPERATORS[i % 4]
        chosen = policy.choose(operator)
        values = {k: bandit.KNOBS[k][v] for k, v in chosen.items()}
        good = (values["mask"], values["stride"], values["compute"]) == ("yes", "given", "exact")
        rewards.append(-0.5 if values["route"] == "torch" else 1.3 if good and values["cover"] != "once" else 0.1)
        policy.learn(operator, chosen, rewards[-1])
    assert sum(rewards[:50]) / 50 < 0.6
    assert sum(rewards[-50:]) / 50 > 1.1


def test_a_short_run_plays_and_records(bandit, tmp_path, capsys):
    (result,) = bandit.main([
        "--seeds", "0", "--steps", "2", "--random-steps", "1", "--num-envs", "3", "--workers", "1",
        "--record", str(tmp_path / "runs"), "--json", str(tmp_path / "all.json"), "--picture", str(tmp_path / "a.svg"),
    ])  # fmt: skip
    assert result["bandit"]["episodes"] == 6
    assert "of 1 seeds" in capsys.readouterr().out
    episodes = load(tmp_path / "runs" / "bandit-0").episodes.to_pylist()
    assert {(e["method"], e["synthetic"], e["complete"]) for e in episodes} == {("bandit", True, True)}
    assert len(episodes) == 6
    played = json.loads((tmp_path / "all.json").read_text())["results"][0]["bandit"]["rows"]
    assert sorted(round(e["reward_total"], 3) for e in episodes) == sorted(round(r["reward"], 3) for r in played)
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
