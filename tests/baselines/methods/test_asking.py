"""The methods that ask a model, through the openai SDK and a server on this machine."""

import json
import time
from dataclasses import replace

import datasets
import pytest

from kgb_gym import prompts
from kgb_gym.baselines import rollout
from kgb_gym.baselines.methods import find
from kgb_gym.baselines.methods.build import asking
from kgb_gym.baselines.models import ModelRefused, ModelUnavailable, Sampling
from kgb_gym.baselines.models.loopback import Answer
from kgb_gym.operators import get


def steps_of(folder):
    return datasets.load_dataset(str(folder), "steps", split="train", cache_dir=str(folder.parent / "cache")).to_list()


def contents(request):
    return [m["content"] for m in request.messages]


def test_a_sample_is_one_answer_to_the_prompt(make, serve, client, module):
    server, method = serve(module("mismatch"), module("passed")), find("pass@1")
    env = make(method)
    summary = rollout(env, asking(method, client(server)), seed=1)
    assert (summary.outcome, summary.clean, summary.steps) == ("mismatch", False, 1)
    assert (summary.method, summary.model, summary.synthetic) == ("pass@1", "stand-in", False)
    (request,) = server.requests
    assert contents(request) == [prompts.render(get("aten/cos"), "cpu", "smoke")]
    assert (request.body["temperature"], request.body["max_tokens"]) == (0.0, 16384)


def test_an_answer_without_a_module_ends_the_sample(make, serve, client, module):
    server, method = serve("I would rather not.", module("passed")), find("pass@5")
    summary = rollout(make(method), asking(method, client(server)), seed=1)
    assert (summary.outcome, summary.steps, summary.submissions) == ("no_submission", 1, 0)
    assert server.requests[0].body["temperature"] == 0.8


def test_everything_said_is_recorded(make, serve, client, module, tmp_path):
    server, method = serve(Answer(module("passed"), cached=5, reasoning="Easy.")), find("pass@1")
    env = make(method, record=tmp_path)
    rollout(env, asking(method, client(server), Sampling(temperature=0.3, seed=4, extra={"top_k": 9})), seed=1)
    env.close()
    (step,) = steps_of(tmp_path)
    assert step["completion"] == "<think>\nEasy.\n</think>\n" + module("passed")
    assert step["code"].startswith("# passed")
    assert (step["finish_reason"], step["model"], step["method"]) == ("stop", "stand-in", "pass@1")
    assert [m["role"] for m in step["messages"]] == ["user"]
    assert (step["usage_source"], step["cached_tokens"]) == ("reported", 5)
    assert step["prompt_tokens"] > 500
    assert step["sampling"]["temperature"] == 0.3
    assert json.loads(step["sampling"]["extra"]) == {"top_k": 9}
    assert step["synthetic"] is False


def test_usage_that_was_counted_is_recorded_as_such(make, serve, client, module, tmp_path):
    server, method = serve(Answer(module("passed"), usage=False)), find("pass@1")
    env = make(method, record=tmp_path)
    rollout(env, asking(method, client(server)), seed=1)
    env.close()
    (step,) = steps_of(tmp_path)
    assert (step["usage_source"], step["cached_tokens"]) == ("counted", 0)
    assert step["completion_tokens"] > 0


@pytest.mark.parametrize(
    ("answer", "reason", "says"),
    [
        (Answer("```python\n# passed", finish_reason="length"), "length", "was cut off"),
        (Answer("```python\n# syntax_error"), "stop", "it is syntax_error"),
    ],
)
def test_an_answer_that_was_cut_off_is_no_syntax_error(make, serve, client, tmp_path, answer, reason, says):
    method = find("pass@1")
    env = make(method, record=tmp_path)
    rollout(env, asking(method, client(serve(answer))), seed=1)
    env.close()
    (step,) = steps_of(tmp_path)
    assert step["finish_reason"] == reason
    assert says in step["observation"]
    assert (step["status"] == "syntax_error") == (reason == "stop")


def test_reflection_keeps_the_conversation(make, serve, client, module):
    answers = [module("syntax_error"), "```python\nimport tri", module("mismatch"), module("passed"), module("hack")]
    answers[1] = Answer(answers[1], finish_reason="length")
    server, method = serve(*answers), find("reflection")
    summary = rollout(make(method), asking(method, client(server)), seed=1)
    assert (summary.outcome, summary.clean, summary.steps) == ("passed", True, 4), "a clean pass ends it"
    first = prompts.render(get("aten/cos"), "cpu", "smoke")
    assert contents(server.requests[0]) == [first]
    last = server.requests[3].messages
    assert [m["role"] for m in last] == ["user", "assistant"] * 3 + ["user"]
    assert last[0]["content"] == first
    assert last[1]["content"] == module("syntax_error").strip()
    assert "it is syntax_error" in last[2]["content"]
    assert "cut off" in last[4]["content"]
    assert "should be 2.0, is 1.5" in last[6]["content"]
    assert all("# Correct it" in m["content"] for m in last[2::2])
    for before, after in zip(server.requests, server.requests[1:], strict=False):
        assert list(after.messages[: len(before.messages)]) == list(before.messages), "p_t begins with p_(t-1)"


def test_reflection_gives_up_after_its_rounds(make, serve, client, module):
    server, method = serve(lambda r: Answer(module("mismatch", r.index))), find("reflection", rounds=3)
    summary = rollout(make(method), asking(method, client(server)), seed=1)
    assert (summary.outcome, summary.submissions, len(server.requests)) == ("mismatch", 3, 3)


def test_told_to_optimise_reflection_goes_on_after_a_pass(make, serve, client, module):
    server = serve(module("passed"), module("mismatch"), module("passed", "faster"))
    method = find("reflection", rounds=3, optimise=True)
    summary = rollout(make(method), asking(method, client(server)), seed=1)
    assert (summary.statuses, summary.clean) == (("passed", "mismatch", "passed"), True)
    assert "# Make it faster" in contents(server.requests[1])[-1]
    assert "# Correct it" in contents(server.requests[2])[-1]


def test_without_reflection_every_round_begins_anew(make, serve, client, module):
    server, method = serve(module("mismatch"), module("hack"), module("passed"), module("hack")), find("no-reflection")
    summary = rollout(make(method), asking(method, client(server)), seed=1)
    assert summary.statuses == ("mismatch", "hack", "passed"), "a hack neither passes nor ends it"
    assert {tuple(contents(r)) for r in server.requests} == {(prompts.render(get("aten/cos"), "cpu", "smoke"),)}


def test_the_single_step_agent_has_one_call(make, serve, client, module):
    text = '```json\n{"tool": "submit"}\n```\n' + module("passed")
    server, method = serve(text), find("single-step-agent")
    summary = rollout(make(method), asking(method, client(server)), seed=1)
    assert (summary.outcome, summary.steps) == ("passed", 1)
    (said,) = contents(server.requests[0])
    assert "one tool, and may call it once" in said
    server = serve('{"tool": "test", "arguments": {"code": "x"}}', module("passed"))
    summary = rollout(make(method), asking(method, client(server)), seed=1)
    assert (summary.outcome, summary.steps) == ("no_submission", 1), "whatever it calls, it has called"


def test_the_tool_agent_works_in_turns(make, serve, client, module, engine):
    test = '```json\n{"tool": "test", "arguments": {"cases": ["*"]}}\n```\n' + module("mismatch")
    server = serve(test, '{"tool": "read_spec"}', module("passed"), '{"tool": "finish"}')
    method = find("tool-agent")
    summary = rollout(make(method), asking(method, client(server)), seed=1)
    assert (summary.statuses, summary.steps, summary.terminated) == (("passed",), 4, True)
    assert [j.kind for j in engine.jobs] == ["test", "verify"]
    said = contents(server.requests[3])
    assert "- `test`:" in said[0]
    assert "Tool `test`: mismatch" in said[2]
    assert "# Specification" in said[4]
    assert "A clean pass" in said[6]


def test_a_wrong_key_is_raised_and_so_is_a_server_that_is_down(make, serve, client):
    method = find("pass@1")
    with pytest.raises(ModelRefused, match="key was refused"):
        rollout(make(method), asking(method, client(serve("ok", key="other"))), seed=1)
    with pytest.raises(ModelUnavailable, match="2 tries.*500"):
        rollout(make(method), asking(method, client(serve(Answer(status=500, error="down")))), seed=1)


def test_a_conversation_that_became_too_long_ends_with_what_it_has(make, serve, client, module, tmp_path):
    server, method = serve(module("mismatch"), Answer(status=400, error="context too long")), find("reflection")
    env = make(method, record=tmp_path)
    summary = rollout(env, asking(method, client(server)), seed=1)
    env.close()
    assert (summary.outcome, summary.steps, summary.terminated) == ("mismatch", 2, True)
    last = steps_of(tmp_path)[-1]
    assert last["finish_reason"] == "rejected"
    assert "context too long" in last["completion"]


def test_an_episode_ends_with_its_wall_budget_however_long_the_model_writes(make, serve, client, module):
    method = replace(find("reflection", wall_s=0.5))
    server = serve(Answer(module("passed"), delay_s=3.0))
    began = time.monotonic()
    summary = rollout(make(method), asking(method, client(server)), seed=1)
    assert (summary.outcome, summary.truncated, summary.reward_valid) == ("no_submission", True, True)
    assert time.monotonic() - began < 2.5


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", "no_submission"),
        ("```python\n# passed 1\n```\n```python\n# hack\n```\n```python\n# mismatch\n```", "mismatch"),
        ("x" * (2 << 20), "no_submission"),
        ("```python\n# passed\n" + "#" * (2 << 20) + "\n```", "no_submission"),
        ("caf\ufffd\n```python\n# passed\n```", "passed"),
    ],
    ids=["empty", "three blocks", "2 MB", "2 MB of code", "bad bytes"],
)
def test_any_answer_costs_one_turn_at_most(make, serve, client, text, outcome):
    method = find("pass@1")
    assert rollout(make(method), asking(method, client(serve(text))), seed=1).outcome == outcome
