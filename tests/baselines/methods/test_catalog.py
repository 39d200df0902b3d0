"""What each method is."""

import pytest

from kgb_gym.baselines.methods import find, methods, names
from kgb_gym.baselines.methods.build import asking


def test_the_methods_of_the_paper():
    assert {m.name for m in methods()} >= {
        "pass@1", "reflection", "no-reflection", "single-step-agent", "claude-code", "opencode", "autokernel", "ako4all",
        "cuda-optimized-skill",
    }  # fmt: skip
    assert [n for n in names() if n != "pass@k"] == [m.name for m in methods()[1:]]
    assert all(m.wall_s == 1800 for m in methods()), "30 minutes an operator"


def test_sampling_as_in_the_paper():
    one, five = find("pass@1"), find("pass@5")
    assert (one.samples, one.temperature, five.samples, five.temperature) == (1, 0.0, 5, 0.8)
    assert five.early_stop
    assert (five.budgets.max_submissions, five.budgets.max_turns) == (1, 1)
    unbiased = find("pass@5", samples=20, early_stop=False)
    assert (unbiased.name, unbiased.samples, unbiased.early_stop) == ("pass@5", 20, False)


def test_rounds():
    assert find("reflection").budgets.max_submissions == 5
    method = find("no-reflection", rounds=3)
    assert (method.budgets.max_submissions, method.budgets.stop_on_clean) == (3, True)
    assert not find("reflection", optimise=True).budgets.stop_on_clean


def test_settings():
    assert find("tool-agent", wall_s=60).budgets.wall_s == 60
    agent = find("claude-code", wall_s=60)
    assert (agent.wall_s, agent.budgets.wall_s > 600) == (60, True), "the last kernel is still verified"
    assert find("tool-agent", max_tokens=5000).budgets.max_tokens == 5000


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("pass@0", {}, "unknown method 'pass@0': use one of pass@k, "),
        ("oracle", {}, "unknown method"),
        ("pass@5", {"samples": 3}, "needs at least 5 samples"),
        ("reflection", {"samples": 0}, "samples must be at least 1"),
        ("reflection", {"rounds": 0}, "rounds must be at least 1"),
        ("pass@5", {"rounds": 2}, "has no rounds"),
        ("no-reflection", {"optimise": True}, "can't be told to optimise"),
        ("tool-agent", {"wall_s": 0}, "wall budget must be positive"),
        ("tool-agent", {"max_tokens": 0}, "max_tokens must be at least 1"),
    ],
)
def test_nonsense_is_refused(name, settings, message):
    with pytest.raises(ValueError, match=message):
        find(name, **settings)


def test_a_method_that_asks_no_model_gets_no_client():
    with pytest.raises(ValueError, match="gold asks no model"):
        asking(find("gold"), None)
