"""A run's plan: the same configuration always gives the same episodes."""

from dataclasses import replace

import pytest

from kgb_gym.datasets.runfile import canonical, config_hash
from kgb_gym.runs import RunConfig, plan

CONFIG = RunConfig(method="gold", operators=("aten/cos", "aten/mm"), suite="smoke", platform="cpu", samples=3)


def test_operator_by_operator_each_sample_in_order():
    assert [e.key for e in plan(CONFIG)] == [
        ("aten/cos", 0), ("aten/cos", 1), ("aten/cos", 2), ("aten/mm", 0), ("aten/mm", 1), ("aten/mm", 2),
    ]  # fmt: skip


def test_it_is_deterministic_and_all_seeds_differ():
    assert plan(CONFIG) == plan(replace(CONFIG))
    seeds = [e.seed for e in plan(CONFIG)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= s < 1 << 63 for s in seeds)
    assert plan(replace(CONFIG, seed=1))[0].seed != seeds[0]


def test_a_seed_does_not_depend_on_the_other_operators():
    alone = plan(replace(CONFIG, operators=("aten/mm",), samples=1))
    assert alone[0].seed == plan(CONFIG)[3].seed


def test_the_configuration_is_canonical_json_and_every_setting_counts():
    assert canonical(CONFIG.to_dict())
    others = [
        replace(CONFIG, seed=7),
        replace(CONFIG, samples=2),
        replace(CONFIG, suite="quick"),
        replace(CONFIG, operators=("aten/cos",)),
        replace(CONFIG, budgets=replace(CONFIG.budgets, max_turns=3)),
        replace(CONFIG, reward=replace(CONFIG.reward, hack=1.0)),
        replace(CONFIG, limits=replace(CONFIG.limits, call_s=1.0)),
    ]
    hashes = {config_hash(c.to_dict()) for c in [CONFIG, *others]}
    assert len(hashes) == len(others) + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"samples": 0}, "samples must be at least 1"),
        ({"seed": -1}, "seed must not be negative"),
        ({"operators": ()}, "at least one operator"),
        ({"operators": ("aten/cos", "aten/cos")}, "named twice"),
    ],
)
def test_nonsense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **change)
