"""Token counts in agents' own output, and in what passes the proxy."""

import json

import pytest

from kgb_gym.baselines.agents.proxy import read_usage
from kgb_gym.baselines.agents.usage import ClaudeCode, OpenCode
from kgb_gym.envs.tokens import Usage


def fed(reader, *events):
    for event in events:
        reader.feed(event if isinstance(event, str) else json.dumps(event))
    return reader.usage


def claude(number, prompt, answer, cached=0):
    usage = {"input_tokens": prompt, "output_tokens": answer, "cache_read_input_tokens": cached}
    return {"type": "assistant", "message": {"id": number, "usage": usage}}


def test_claude_code_counts_each_message_once_until_the_sums_come():
    reader = ClaudeCode()
    assert fed(reader, "no JSON", "[1]", {"type": "system"}, {"type": "assistant"}) is None
    assert fed(reader, claude("a", 10, 1), claude("a", 10, 5), claude("b", 20, 5, 100)) == Usage(130, 10, 100)
    result = {"type": "result", "usage": {"input_tokens": 40, "output_tokens": 30, "cache_creation_input_tokens": 100}}
    assert fed(reader, result) == Usage(140, 30, 0)


def test_opencode_counts_each_step():
    tokens = {"input": 100, "output": 10, "reasoning": 5, "cache": {"read": 40, "write": 2}}
    event = {"type": "step_finish", "part": {"tokens": tokens}}
    assert fed(OpenCode(), {"type": "text", "part": {}}, event, event) == Usage(284, 30, 80)
    assert fed(OpenCode(), {"type": "step_finish", "part": {"tokens": {"input": "many", "cache": None}}}) == Usage()
    assert OpenCode().usage is None


def stream(*events):
    return b"".join(b"data: " + json.dumps(e).encode() + b"\n\n" for e in events) + b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("body", "usage"),
    [
        (b'{"usage": {"prompt_tokens": 7, "completion_tokens": 3}}', Usage(7, 3, 0)),
        (stream({"choices": []}, {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}), Usage(7, 3, 0)),
        (
            stream(
                {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 4}}},
                {"type": "message_delta", "usage": {"output_tokens": 9}},
            ),
            Usage(9, 9, 4),
        ),
        (b'{"usage": {"input_tokens": 5, "output_tokens": 2}}', Usage(5, 2, 0)),
        (stream({"choices": []}), None),
        (b"<html>", None),
        (b"\xff\xfe", None),
    ],
)
def test_usage_of_a_response(body, usage):
    assert read_usage(body) == usage
