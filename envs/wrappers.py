"""`ChatWrapper`: the raw text of a model as an action.

An answer holds the module in a fenced code block, or a tool call as a JSON object, or a tool call whose `code` is the
fenced block. A block that is never closed was cut off, and is told apart from an answer without code and from a module
with a syntax error; unless the provider says that the model ended by itself, and then only the fence is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from kgb_gym.envs.actions import MAX_COMPLETION, ActionDict, InvalidAction, bad, call, submit
from kgb_gym.envs.observation import ObservationDict
from kgb_gym.envs.spaces import UnicodeText
from kgb_gym.envs.tools import TOOLS
from kgb_gym.metrics.failures import CUT_OFF

_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})\s*([\w+.#-]*)[^`\n]*$")
_PYTHON = frozenset({"", "python", "py", "python3", "triton"})
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_ENDED = frozenset({"stop", "end_turn", "eos", "stop_sequence"})
"""Finish reasons of a model that ended by itself."""
_HOW = "Answer with your whole module in one ```python block, or with a tool call in one ```json block."


@dataclass(frozen=True)
class Block:
    """One fenced block of an answer."""

    language: str
    text: str
    closed: bool


class ChatWrapper(gymnasium.ActionWrapper[ObservationDict, Any, ActionDict], RecordConstructorArgs):
    """Actions are what a model wrote: a `str`, or a mapping with `text` and, if known, `usage` and `transcript`."""

    def __init__(self, env: gymnasium.Env[ObservationDict, ActionDict]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.ActionWrapper.__init__(self, env)
        self.action_space = UnicodeText(MAX_COMPLETION)

    def action(self, action: str | Mapping[str, Any]) -> ActionDict:
        """The action that the text means; see `read`.

        Raises:
            InvalidAction: it is neither text nor a mapping with `text`.
        """
        if isinstance(action, str):
            return read(action)
        if isinstance(action, Mapping) and isinstance(action.get("text"), str):
            return read(action["text"], usage=action.get("usage"), transcript=action.get("transcript"))
        raise InvalidAction(f"not an answer: expected a str or a mapping with `text`, got {type(action).__name__}")


def read(text: str, *, usage: Any = None, transcript: Mapping[str, Any] | None = None) -> ActionDict:
    """What a model's answer means, as an action; an answer that means nothing becomes one that says why.

    The last Python block counts, as drafts come before answers. `<think>` blocks at the start are left out.

    Args:
        text: the raw completion.
        usage: as for `kgb_gym.submit`.
        transcript: as for `kgb_gym.submit`; its `finish_reason` tells an answer that was cut off at the token limit.
    """
    reason = (transcript or {}).get("finish_reason")
    text = text[:MAX_COMPLETION]
    record: dict[str, Any] = {"usage": usage, "completion": text, "transcript": transcript}
    answer = _THOUGHT.sub("", text)
    if re.match(r"\s*<think(?:ing)?>", answer):
        return bad("Your answer was cut off while you were thinking: think less, then answer. " + _HOW, **record)
    found = blocks(answer)
    if found and not found[-1].closed and reason not in _ENDED:
        return bad(
            "Your answer was cut off: its last code block has no closing fence. Write a shorter one. " + _HOW, **record
        )
    code = next((b.text for b in reversed(found) if b.language in _PYTHON and not _object(b.text)), None)
    request = next((o for b in reversed(found) if b.language in {"json", ""} and (o := _object(b.text))), None)
    if request is None and not found:
        request = _object(answer)
    if request is not None and "tool" in request:
        return _call(request, code, record)
    finish = bool(request and request.get("finish") is True)
    if code is not None and code.strip():
        return submit(code, finish=finish, **record)
    if finish:
        return call("finish", **record)
    if reason in CUT_OFF:
        return bad("Your answer was cut off before it held any code: be brief. " + _HOW, **record)
    return bad("Your answer holds neither a module nor a tool call. " + _HOW, **record)


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a Markdown text in order; only the last can be unclosed."""
    found: list[Block] = []
    fence, language, lines = "", "", list[str]()
    for line in text.splitlines():
        match = _FENCE.match(line)
        if not fence:
            if match:
                fence, language, lines = match[1], match[2].lower(), []
        elif match and match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2]:
            found.append(Block(language, "\n".join(lines) + "\n", True))
            fence = ""
        else:
            lines.append(line)
    if fence:
        found.append(Block(language, "\n".join(lines) + "\n", False))
    return found


def _call(request: Mapping[str, Any], code: str | None, record: dict[str, Any]) -> ActionDict:
    name, arguments = request["tool"], request.get("arguments", {})
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        return bad('A tool call is a JSON object: {"tool": "test", "arguments": {...}}.', **record)
    if name == "submit":
        given = arguments.get("code", code)
        if not isinstance(given, str) or not given.strip():
            return bad("A call of `submit` needs the whole module as its `code`. " + _HOW, **record)
        return submit(given, finish=request.get("finish") is True, **record)
    tool = TOOLS.get(name)
    if code is not None and tool is not None and "code" in tool.parameters:
        arguments = {"code": code, **arguments}
    if clash := sorted({"usage", "finish", "completion", "transcript"} & set(arguments)):
        return bad(f"{name} has no argument {', '.join(clash)}.", **record)
    return call(name, finish=request.get("finish") is True, **record, **arguments)


def _object(text: str) -> dict[str, Any] | None:
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value else None
