import json

import pytest

from kgb_gym.envs.actions import Action, BadAction, InvalidAction, parse
from kgb_gym.envs.wrappers import ChatWrapper, blocks, read

CODE = "import triton\n\nx = '`'\n"
FENCED = f"```python\n{CODE}```"


def understood(text, **more):
    return parse(read(text, **more))


@pytest.mark.parametrize(
    "text",
    [
        FENCED,
        f"Here it is:\n\n{FENCED}\n\nDone.",
        f"```py\n{CODE}```",
        f"```\n{CODE}```",
        f"~~~python\n{CODE}~~~",
        f"````python\n{CODE}````",
        f"A draft:\n```python\nx = 1\n```\nNo, rather:\n{FENCED}",
        f"{FENCED}\nRun it:\n```bash\npython x.py\n```",
        f"<think>\nperhaps ```python\nx = 1\n</think>\n{FENCED}",
    ],
)
def test_a_module(text):
    action = understood(text)
    assert isinstance(action, Action)
    assert (action.kind, action.code, action.completion) == ("submit", CODE, text)


def test_carriage_returns():
    assert understood(FENCED.replace("\n", "\r\n")).code == CODE


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "test", "arguments": {"code": "x"}}',
        '```json\n{"tool": "test", "arguments": {"code": "x"}}\n```',
        'Let me test:\n```\n{"tool": "test", "arguments": {"code": "x"}}\n```\n',
        '```json\n{"tool": "test"}\n```\n```python\nx```\n```',
    ],
)
def test_a_tool_call(text):
    action = understood(text)
    assert isinstance(action, Action)
    assert (action.kind, action.tool, action.arguments["code"].strip("`\n")) == ("call", "test", "x")


def test_finishing():
    assert understood('{"tool": "finish"}').tool == "finish"
    assert understood('{"finish": true}').tool == "finish"
    both = understood(FENCED + '\n```json\n{"finish": true}\n```')
    assert (both.kind, both.finish) == ("submit", True)
    assert understood('{"tool": "test", "arguments": {"code": "x"}, "finish": true}').finish


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nimport tri", "cut off: its last code block"),
        (f"{FENCED}\nBetter:\n```python\nimport tri", "cut off: its last code block"),
        ("<think>\nI wonder", "cut off while you were thinking"),
        ("I cannot.", "neither a module nor a tool call"),
        ("", "neither a module nor a tool call"),
        ("```python\n```", "neither a module nor a tool call"),
        ("```rust\nfn main() {}\n```", "neither a module nor a tool call"),
        ('{"tool": 3}', "A tool call is a JSON object"),
        ('{"tool": "test", "arguments": [1]}', "A tool call is a JSON object"),
        ('{"tool": "test", "arguments": {"usage": {}}}', "no argument usage"),
    ],
)
def test_what_means_nothing(text, error):
    action = understood(text)
    assert isinstance(action, BadAction)
    assert error in action.error
    assert action.completion == text


def test_a_length_stop_without_code_is_told_apart():
    action = understood("Well, first", transcript={"finish_reason": "length"})
    assert "before it held any code" in action.error


def test_blocks():
    found = blocks("```a\n1\n```\n~~~b\n```\n~~~\n```c\n2")
    assert [(b.language, b.text, b.closed) for b in found] == [
        ("a", "1\n", True),
        ("b", "```\n", True),
        ("c", "2\n", False),
    ]


def test_in_an_environment(make):
    env = ChatWrapper(make())
    env.reset(seed=0)
    observation, *_ = env.step("```python\nmismatch 1/4\n```")
    assert observation["status"] == "mismatch"
    observation, _, terminated, _, info = env.step("```python\nmismatch 1")
    assert "cut off" in observation["message"]
    assert info["action"] == "bad"
    usage = {"prompt_tokens": 90_000, "completion_tokens": 10_000}
    _, _, terminated, _, info = env.step({"text": json.dumps({"tool": "finish"}), "usage": usage})
    assert terminated
    assert info["tokens"] == 100_000
    with pytest.raises(InvalidAction):
        env.step(3)


def test_it_is_part_of_a_spec(make):
    env = ChatWrapper(make())
    assert env.spec.additional_wrappers[-1].name == "ChatWrapper"
    assert env.action_space.sample() in env.action_space


def test_a_missing_fence_is_no_cut_where_the_model_ended_by_itself():
    action = understood("```python\nx = 1", transcript={"finish_reason": "stop"})
    assert (action.kind, action.code) == ("submit", "x = 1\n")


@pytest.mark.parametrize("reason", ["length", "max_tokens"])
def test_half_a_block_at_the_token_limit_is_cut_off(reason):
    action = understood("```python\nx = 1", transcript={"finish_reason": reason})
    assert isinstance(action, BadAction)
    assert "cut off" in action.error


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "submit", "arguments": {"code": "x = 1\\n"}}',
        '```json\n{"tool": "submit"}\n```\n```python\nx = 1\n```',
    ],
)
def test_submitting_by_a_tool_call(text):
    action = understood(text)
    assert (action.kind, action.code) == ("submit", "x = 1\n")
    assert "whole module" in understood('{"tool": "submit"}').error
