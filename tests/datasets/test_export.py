"""Rows for training: what is taken, what is left out, and what pairs with what."""

import pytest

from kgb_gym.datasets.export import KINDS, Choice, export

PROMPT = [{"role": "user", "content": "Write cos."}]


def step(number=0, *, episode="e", status="passed", messages=None, **more):
    clean = status == "passed"
    row = {
        "run_id": "r", "episode_id": episode, "step": number, "operator": "aten/cos", "env_id": "kgb/aten-cos-v0",
        "suite": "paper", "platform": "nvidia", "method": "pass@5", "model": "M", "messages": messages or PROMPT,
        "completion": f"{episode} {number} {status}", "action": "submit", "status": status, "clean": clean,
        "stage": "timed" if clean else "loaded", "cases": [], "speedup_lower": None, "reward": 1.0 if clean else 0.1,
        "reward_valid": True, "synthetic": False,
    }  # fmt: skip
    return {**row, **more}


def answers(rows):
    return [r["messages"][-1]["content"] for r in rows]


def test_only_clean_answers_are_learnt_from_unless_all_are_asked_for():
    steps = [step(0, status="mismatch"), step(1)]
    (row,) = export(steps, "sft")
    assert row["messages"] == [*PROMPT, {"role": "assistant", "content": "e 1 passed"}]
    assert (row["operator"], row["episode_id"], row["step"], row["reward"]) == ("aten/cos", "e", 1, 1.0)
    assert answers(export(steps, "sft", Choice(clean=False))) == ["e 0 mismatch", "e 1 passed"]


@pytest.mark.parametrize(
    ("more", "choice"),
    [
        ({"reward_valid": False}, Choice(clean=False, synthetic=True)),
        ({"synthetic": True}, Choice()),
        ({"operator": "cublas/Sgemm_v2"}, Choice(operators=("aten/*", "vllm/*"))),
        ({"method": "reflection"}, Choice(methods=("pass@*",))),
        ({"reward": 0.5}, Choice(min_reward=0.6)),
        ({"reward": None}, Choice(min_reward=0.0)),
        ({"messages": None}, Choice()),
        ({"completion": None}, Choice()),
    ],
)
def test_what_is_left_out(more, choice):
    kept = step(episode="kept")
    assert answers(export([step(**more) | more, kept], "sft", choice)) == ["kept 0 passed"]


def test_scripted_steps_on_request():
    assert len(list(export([step(synthetic=True)], "sft", Choice(synthetic=True)))) == 1


def test_an_episode_is_its_conversation_up_to_its_best_answer():
    longer = [*PROMPT, {"role": "assistant", "content": "e 0 mismatch"}, {"role": "user", "content": "It is wrong."}]
    steps = [step(0, status="mismatch"), step(1, messages=longer), step(0, episode="f", status="hack")]
    (row,) = export(steps, "sft-episodes")
    assert [m["role"] for m in row["messages"]] == ["user", "assistant", "user", "assistant"]
    assert answers(export(steps, "sft-episodes", Choice(clean=False))) == ["e 1 passed", "f 0 hack"]


def test_a_prompt_an_operator_whatever_was_answered():
    steps = [
        step(0, status="mismatch"),
        step(1, messages=[*PROMPT, *PROMPT]),
        step(0, operator="aten/mm", messages=[{}]),
    ]
    rows = list(export(steps, "prompts"))
    assert [(r["operator"], r["prompt"]) for r in rows] == [("aten/cos", PROMPT), ("aten/mm", [{}])]
    assert rows[0]["env_id"] == "kgb/aten-cos-v0"


def test_pairs_of_answers_to_the_same_messages():
    steps = [
        step(episode="fast", speedup_lower=1.5),
        step(episode="slow", speedup_lower=0.9),
        step(episode="near", speedup_lower=1.45),
        step(episode="wrong", status="mismatch"),
        step(episode="cheat", status="hack"),
        step(episode="again", status="mismatch", completion="wrong 0 mismatch"),
        step(episode="other", status="mismatch", messages=[*PROMPT, *PROMPT]),
        step(episode="tool", status="mismatch", action="tool"),
    ]
    rows = list(export(steps, "preferences"))
    assert {r["chosen"][0]["content"] for r in rows} == {"fast 0 passed"}
    assert [(r["rejected"][0]["content"], r["why"]) for r in rows] == [
        ("slow 0 passed", "faster"), ("wrong 0 mismatch", "clean over failed"), ("cheat 0 hack", "clean over hack"),
    ]  # fmt: skip
    assert all(r["prompt"] == PROMPT and r["chosen_reward"] > 0 for r in rows)


def test_nothing_clean_gives_no_pair():
    assert list(export([step(status="mismatch"), step(episode="f", status="hack")], "preferences")) == []


def test_kinds():
    assert set(KINDS) == {"sft", "sft-episodes", "prompts", "preferences"}
    with pytest.raises(ValueError, match="unknown kind 'songs'"):
        export([], "songs")
