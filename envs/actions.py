"""Actions: a submission or a tool call, as plain data that fits a Gymnasium `Dict` space.

`submit` and `call` build them; `parse` reads them. What is an action but a bad one gives a `BadAction`, which costs a
turn and is told to the policy; what is no action at all is the caller's mistake and raises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from kgb_gym.envs.spaces import Count, JsonText, UnicodeText
from kgb_gym.envs.tokens import MAX_REPORTED, Usage
from kgb_gym.verification.protocols import MAX_SOURCE_BYTES

SUBMIT, CALL = 0, 1

MAX_COMPLETION = 4 << 20
"""Characters of a raw completion, reasoning included."""
MAX_TRANSCRIPT = 64 << 20
"""Characters of the transcript's JSON: messages, token ids and log-probabilities of one step."""

TRANSCRIPT_FIELDS = ("messages", "finish_reason", "token_ids", "logprobs", "sampling", "model", "usage_source")

ActionDict = dict[str, Any]


class InvalidAction(ValueError):
    """What was given is no action at all, or a part of it can't be read."""


@dataclass(frozen=True)
class Action:
    """An action that was understood."""

    kind: Literal["submit", "call"]
    code: str = ""
    """The submission's source; empty for a tool call."""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The tool's arguments by name."""
    usage: Usage = field(default_factory=Usage)
    finish: bool = False
    """End the episode after this action."""
    completion: str = ""
    """The raw text that the action was read from; empty if there was none."""
    transcript: Mapping[str, Any] = field(default_factory=dict)
    """For the record only: `messages` sent, `finish_reason`, `token_ids`, `logprobs`, `sampling`, `model`, and
    `usage_source`: `counted` where the policy counted the usage itself, `reported` where it vouches for its counts."""

    @property
    def written(self) -> str:
        """What the policy wrote, for counting tokens."""
        if self.completion:
            return self.completion
        return self.code if self.kind == "submit" else self.tool + json.dumps(dict(self.arguments), default=str)


@dataclass(frozen=True)
class BadAction:
    """An action that could not be understood."""

    error: str
    """What is wrong and what to send instead."""
    finish: bool = False
    usage: Usage = field(default_factory=Usage)
    completion: str = ""
    transcript: Mapping[str, Any] = field(default_factory=dict)

    @property
    def written(self) -> str:
        return self.completion


def action_space() -> spaces.Dict:
    """The space of actions: `kind` (0 submit, 1 call), `code`, `tool`, `arguments` (a JSON object as text), the three
    token counts of `usage`, `finish`, and for the record `completion` and `transcript` (a JSON object as text)."""
    return spaces.Dict(
        {
            "kind": spaces.Discrete(2),
            "code": UnicodeText(MAX_SOURCE_BYTES),
            "tool": UnicodeText(64),
            "arguments": JsonText(2 * MAX_SOURCE_BYTES),
            "usage": spaces.Dict(
                {
                    "prompt_tokens": Count(MAX_REPORTED),
                    "completion_tokens": Count(MAX_REPORTED),
                    "cached_tokens": Count(MAX_REPORTED),
                }
            ),
            "finish": spaces.Discrete(2),
            "completion": UnicodeText(MAX_COMPLETION),
            "transcript": JsonText(MAX_TRANSCRIPT),
        }
    )


def submit(
    code: str,
    usage: Usage | Mapping[str, int] | None = None,
    *,
    finish: bool = False,
    completion: str = "",
    transcript: Mapping[str, Any] | None = None,
) -> ActionDict:
    """The action that submits `code` for full verification.

    Args:
        code: source text of one Python module.
        usage: `prompt_tokens`, `completion_tokens` and `cached_tokens` as reported by the model's server.
        finish: end the episode after this submission.
        completion: the model's raw text, if the code was taken from one.
        transcript: for the record: `messages`, `finish_reason`, `token_ids`, `logprobs`, `sampling`, `model`,
            `usage_source`.

    Raises:
        TypeError: `code` or `completion` is no `str`.
        ValueError: `usage` holds no valid counts, or `transcript` is no JSON object with these keys.
    """
    if not isinstance(code, str):
        raise TypeError(f"code must be a str with the source of one module, got {type(code).__name__}")
    return _action(SUBMIT, code, "", {}, usage, finish, completion, transcript)


def call(
    tool: str,
    /,
    *,
    usage: Usage | Mapping[str, int] | None = None,
    finish: bool = False,
    completion: str = "",
    transcript: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> ActionDict:
    """The action that calls a tool: `call("test", code=..., cases=["*float16*"])`.

    Args:
        tool: the tool's name; `kgb_gym.envs.tools.TOOLS` lists them.
        usage: as for `submit`.
        finish: as for `submit`.
        completion: as for `submit`.
        transcript: as for `submit`.
        **arguments: the tool's arguments, JSON values.

    Raises:
        TypeError: `tool` is no `str`, or an argument is no JSON value.
        ValueError: as for `submit`.
    """
    if not isinstance(tool, str):
        raise TypeError(f"tool must be a str, got {type(tool).__name__}")
    return _action(CALL, "", tool, arguments, usage, finish, completion, transcript)


def parse(action: Any) -> Action | BadAction:
    """Read an action. Absent keys have their empty value; NumPy scalars, as spaces sample them, are accepted.

    Raises:
        InvalidAction: it is no action at all: no mapping with a `kind` of 0 or 1.
    """
    if not isinstance(action, Mapping) or "kind" not in action:
        raise InvalidAction(
            f"not an action: {_short(action)}. Build one with kgb_gym.submit(code) or kgb_gym.call(tool, **arguments)."
        )
    kind = _integer(action["kind"])
    if kind not in (SUBMIT, CALL):
        raise InvalidAction(f"not an action: kind must be 0 (submit) or 1 (call), got {_short(action['kind'])}")
    common: dict[str, Any] = {}
    try:
        common["finish"] = bool(_integer(action.get("finish", 0)))
        common["completion"] = _text(action, "completion", MAX_COMPLETION)
        common["usage"] = Usage.of(action.get("usage"))
        common["transcript"] = _transcript(_object(action, "transcript", MAX_TRANSCRIPT))
        if kind == SUBMIT:
            return Action("submit", code=_text(action, "code", MAX_SOURCE_BYTES), **common)
        tool = _text(action, "tool", 64)
        arguments = _object(action, "arguments", 2 * MAX_SOURCE_BYTES)
        if not tool and isinstance(arguments.get("error"), str):
            return BadAction(arguments["error"], **common)
        return Action("call", tool=tool, arguments=arguments, **common)
    except (TypeError, ValueError) as error:
        return BadAction(str(error), **common)


def bad(
    error: str,
    *,
    usage: Usage | Mapping[str, int] | None = None,
    completion: str = "",
    transcript: Mapping[str, Any] | None = None,
) -> ActionDict:
    """What a wrapper sends for an answer that it could not read: a call of no tool, whose `error` says why.

    Args:
        error: what is wrong with the answer and what to send instead; the policy is told.
        usage: as for `submit`.
        completion: as for `submit`.
        transcript: as for `submit`.
    """
    return _action(CALL, "", "", {"error": error}, usage, False, completion, transcript)


def _action(
    kind: int,
    code: str,
    tool: str,
    arguments: Mapping[str, Any],
    usage: Any,
    finish: bool,
    completion: str,
    record: Any,
) -> ActionDict:
    if not isinstance(completion, str):
        raise TypeError(f"completion must be a str, got {type(completion).__name__}")
    counts = Usage.of(usage)
    return {
        "kind": kind,
        "code": code,
        "tool": tool,
        "arguments": json.dumps(dict(arguments)),
        "usage": {
            "prompt_tokens": counts.prompt_tokens,
            "completion_tokens": counts.completion_tokens,
            "cached_tokens": counts.cached_tokens,
        },
        "finish": int(bool(finish)),
        "completion": completion,
        "transcript": json.dumps(dict(_transcript(record or {}))),
    }


def _text(action: Mapping[str, Any], name: str, longest: int) -> str:
    value = action.get(name, "")
    if not isinstance(value, str):
        raise InvalidAction(f"{name} must be text, got {type(value).__name__}")
    if len(value) > longest:
        raise InvalidAction(f"{name} has {len(value)} characters; at most {longest} are accepted")
    return value


def _object(action: Mapping[str, Any], name: str, longest: int) -> dict[str, Any]:
    text = action.get(name, "")
    if isinstance(text, Mapping):
        return dict(text)
    text = _text(action, name, longest)
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidAction(f"{name} must be a JSON object: {error}") from error
    if not isinstance(value, dict):
        raise InvalidAction(f"{name} must be a JSON object, got {_short(value)}")
    return value


def _transcript(record: Mapping[str, Any]) -> Mapping[str, Any]:
    if unknown := sorted(set(record) - set(TRANSCRIPT_FIELDS)):
        raise ValueError(f"transcript: unknown {', '.join(unknown)}; known: {', '.join(TRANSCRIPT_FIELDS)}")
    return record


def _integer(value: Any) -> int:
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return int(value)
    if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iub":
        return int(value)
    return -1


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
