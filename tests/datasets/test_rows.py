"""Rows mirror verdicts without loss, and episodes sum up their steps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from verdicts import case, timing, verdict

from kgb_gym.datasets import journal, schema
from kgb_gym.datasets.rows import episode_row, step_row, verdict_columns, verdict_from_row
from kgb_gym.verdict import Stage, Status


@pytest.mark.parametrize(
    "value",
    [
        verdict(),
        verdict(status=Status.HACK),
        verdict(status=Status.MISMATCH, cases=(case(passed=False), case("c1", skipped=True, error="Traceback…"))),
        verdict(cases=(case(speedup=1.5), case("c2", timing=timing(2.0, launch_bound=True))), speedup=1.5),
        verdict(status=Status.HARNESS_ERROR, cases=(), stage=Stage.RECEIVED),
    ],
)
def test_a_verdict_survives_the_table(value):
    batch = journal.encode("steps", step_row(value, episode_id="e", step=0))
    back = verdict_from_row(batch.to_pylist()[0])
    assert back == value
    assert back.durations == value.durations


def test_every_column_is_documented_and_every_verdict_column_exists():
    for table, columns in schema.COLUMNS.items():
        assert [c.name for c in columns] == schema.TABLES[table].names
        assert all(f.metadata[b"description"] for f in schema.TABLES[table])
        assert len(set(schema.TABLES[table].names)) == len(columns)
    assert set(verdict_columns(verdict())) <= set(schema.STEPS.names)


def test_unknown_columns_are_refused():
    with pytest.raises(ValueError, match="no such columns in steps: speeed"):
        step_row(None, episode_id="e", step=0, speeed=1)


def test_the_reward_is_the_sum_of_its_terms():
    row = step_row(verdict(), episode_id="e", step=0, reward_terms={"potential": 1.3, "token_cost": -0.02})
    assert row["reward"] == pytest.approx(1.28)
    assert row["reward_terms"] == [{"name": "potential", "value": 1.3}, {"name": "token_cost", "value": -0.02}]


def test_sampling_settings_without_a_column_go_to_extra():
    row = step_row(None, episode_id="e", step=0, sampling={"temperature": 0.8, "effort": "high"})
    assert row["sampling"]["temperature"] == 0.8
    assert row["sampling"]["extra"] == '{"effort": "high"}'


def test_an_episode_takes_its_best_submission():
    at = [datetime(2026, 1, 1, 0, 0, s, tzinfo=UTC) for s in (0, 10, 25)]
    steps = [
        step_row(
            verdict(status=Status.HACK),
            episode_id="e",
            step=0,
            reward=-0.5,
            tokens=10,
            started_at=at[0],
            ended_at=at[1],
        ),
        step_row(None, episode_id="e", step=1, tool="read_spec", tokens=5, reward=0.0),
        step_row(
            verdict(speedup=1.2, speedup_lower=1.1, baseline="native"),
            episode_id="e",
            step=2,
            reward=1.3,
            tokens=7,
            ended_at=at[2],
        ),
        step_row(verdict(status=Status.MISMATCH), episode_id="e", step=3, reward=0.0),
    ]
    row = episode_row(steps, method="reflection")
    assert (row["outcome"], row["best_step"], row["n_steps"], row["n_submissions"]) == ("passed", 2, 4, 3)
    assert row["clean_pass"] and row["hacked"] and row["comparable"] and row["complete"]
    assert row["reward_total"] == pytest.approx(0.8)
    assert (row["total_tokens"], row["wall_s"], row["speedup"]) == (22, 25.0, 1.2)


def test_a_harness_error_leaves_an_episode_unscored_not_failed():
    row = episode_row([step_row(verdict(status=Status.HARNESS_ERROR, clean=False), episode_id="e", step=0)])
    assert row["outcome"] == "harness_error"
    assert row["reward_valid"] is False


def test_an_episode_without_a_submission():
    assert episode_row([], episode_id="e", operator="aten/add")["outcome"] == "no_submission"
    with pytest.raises(ValueError, match="episode_id"):
        episode_row([])


def test_an_incomparable_baseline_is_marked():
    value = verdict(speedup=3.0, speedup_lower=2.9, baseline="oracle (not comparable)")
    assert episode_row([step_row(value, episode_id="e", step=0)])["comparable"] is False


def test_text_that_utf8_cannot_carry_is_kept_escaped():
    batch = journal.encode("steps", step_row(verdict(), episode_id="e", step=0, code="a\ud800b"))
    assert batch.to_pylist()[0]["code"] == "a\\ud800b"


def test_a_value_of_another_type_is_named():
    with pytest.raises(ValueError, match=r"steps\.seed takes int64"):
        journal.encode("steps", {"episode_id": "e", "step": 0, "seed": 1 << 80})
