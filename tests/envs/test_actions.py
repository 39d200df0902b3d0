import json

import numpy as np
import pytest

from kgb_gym.envs.actions import Action, BadAction, InvalidAction, action_space, bad, call, parse, submit
from kgb_gym.envs.tokens import Usage

SPACE = action_space()


def test_helpers_give_actions_of_the_space():
    for action in (
        submit("x = 1"),
        submit("é", {"prompt_tokens": 5}, finish=True, completion="said", transcript={"model": "m"}),
        call("test", code="x", cases=["*"]),
        call("finish", usage=Usage(1, 2, 0)),
        bad("cut off"),
    ):
        assert action in SPACE
        json.dumps(action)


def test_what_is_built_is_what_is_read():
    assert parse(submit("x", {"prompt_tokens": 5, "completion_tokens": 6, "other": 1}, finish=True)) == Action(
        "submit", code="x", usage=Usage(5, 6, 0), finish=True
    )
    assert parse(call("test", code="x", cases=["a"])) == Action(
        "call", tool="test", arguments={"code": "x", "cases": ["a"]}
    )
    assert parse(bad("cut off", completion="text")) == BadAction("cut off", completion="text")


def test_samples_are_actions():
    SPACE.seed(0)
    kinds = {parse(SPACE.sample()).__class__ for _ in range(50)}
    assert kinds == {Action}


def test_absent_keys_and_numpy_scalars():
    assert parse({"kind": np.int64(0), "code": "x", "finish": np.bool_(True)}) == Action(
        "submit", code="x", finish=True
    )
    assert parse({"kind": np.array(1), "tool": "finish"}) == Action("call", tool="finish")


@pytest.mark.parametrize(
    "thing", [None, "code", 3, [], {}, {"code": "x"}, {"kind": 2}, {"kind": "submit"}, {"kind": None}]
)
def test_no_action_at_all(thing):
    with pytest.raises(InvalidAction, match="not an action"):
        parse(thing)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"code": 3}, "code must be text"),
        ({"code": None}, "code must be text"),
        ({"code": "x" * ((1 << 20) + 1)}, "at most 1048576"),
        ({"usage": {"prompt_tokens": -1}}, "prompt_tokens"),
        ({"usage": {"prompt_tokens": 1.5}}, "prompt_tokens"),
        ({"usage": {"prompt_tokens": float("nan")}}, "prompt_tokens"),
        ({"usage": [1]}, "usage must be a mapping"),
        ({"kind": 1, "tool": 3}, "tool must be text"),
        ({"kind": 1, "tool": "test", "arguments": "[1]"}, "arguments must be a JSON object"),
        ({"kind": 1, "tool": "test", "arguments": "{"}, "arguments must be a JSON object"),
        ({"kind": 1, "tool": "test", "arguments": "[" * 100_000}, "arguments must be a JSON object"),
        ({"transcript": '{"x": 1}'}, "transcript: unknown x"),
        ({"completion": b"x"}, "completion must be text"),
    ],
)
def test_bad_actions_say_what_is_wrong(change, error):
    action = parse({"kind": 0, "code": "x", **change})
    assert isinstance(action, BadAction)
    assert error in action.error


def test_a_bad_action_can_still_finish():
    assert parse({"kind": 0, "code": 3, "finish": 1}).finish


def test_helpers_refuse_what_would_be_bad():
    with pytest.raises(TypeError, match="code"):
        submit(b"x")
    with pytest.raises(ValueError, match="transcript"):
        submit("x", transcript={"odd": 1})
    with pytest.raises(ValueError, match="prompt_tokens"):
        submit("x", {"prompt_tokens": "many"})
    with pytest.raises(TypeError):
        call("test", code=object())
