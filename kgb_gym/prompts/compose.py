"""Composes templates into one prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import jinja2

from kgb_gym import platforms
from kgb_gym.operators import SUITES, Operator
from kgb_gym.platforms import Platform
from kgb_gym.prompts import chain, facts, signatures

MODULES = {
    "sampling": ("role", "task", "example", "spec_{source}", "signature", "rules", "testing", "device", "answer"),
    "agentic": (
        "role", "task", "example", "spec_{source}", "signature", "rules", "testing", "device",
        "assignment", "verify", "workflow", "performance",
    ),
    "single-step": (
        "role", "task", "example", "spec_{source}", "signature", "rules", "testing", "device", "act_once",
    ),
}  # fmt: skip
"""Templates by paradigm, in order. The agentic ones have no `answer`, and four more (Table 5); the single-step agent of
the ablation (Table 17) answers by its one tool call."""

SCENARIOS = ("repair", "optimise")
"""What follows an answer (Appendix E): the first prompt is the third scenario, initial generation."""

_SPEC = ("spec_{source}", "signature")


def render(
    operator: Operator,
    platform: Platform | str = "auto",
    suite: str = "auto",
    agentic: bool = False,
    tools: Sequence[Mapping[str, Any]] = (),
    command: str = "",
) -> str:
    """The prompt of one operator.

    Args:
        operator: what is asked.
        platform: where it will run, or its name.
        suite: `paper`, `quick`, `smoke` or `wide`; `auto` is the platform's.
        agentic: with verification, workflow and performance modules (Table 5), instead of an answer in one go.
        tools: JSON schemas of the tools that an agent may call; without them it is told a command.
        command: what verifies `kernel.py` in the agent's work folder; by default `kgb verify` with its arguments.

    Raises:
        ValueError: there is no such platform or suite.
    """
    place, suite = _place(platform, suite)
    described = tuple((t["name"], t["description"], _arguments(t["parameters"])) for t in tools)
    if not command:
        command = f"kgb verify {operator.id} kernel.py --suite {suite} --platform {place.name}"
    return _render(operator, place, suite, MODULES["agentic" if agentic else "sampling"], described, command)


def single_step(operator: Operator, platform: Platform | str = "auto", suite: str = "auto") -> str:
    """The prompt of an agent that may call one tool, once: `submit`.

    Raises:
        ValueError: as for `render`.
    """
    place, suite = _place(platform, suite)
    return _render(operator, place, suite, MODULES["single-step"], ())


def scenario(name: str, feedback: str) -> str:
    """What is said after an answer.

    Args:
        name: `repair` (something failed) or `optimise` (every case is right, and is to become faster).
        feedback: what the verification said.

    Raises:
        ValueError: there is no such scenario.
    """
    if name not in SCENARIOS:
        raise ValueError(f"unknown scenario {name!r}: use {', '.join(SCENARIOS)}")
    return _environment().get_template(f"{name}.md.j2").render(feedback=feedback.strip()).strip() + "\n"


def spec(operator: Operator, platform: Platform | str = "auto", suite: str = "auto") -> str:
    """The specification and signatures alone.

    Raises:
        ValueError: as for `render`.
    """
    place, suite = _place(platform, suite)
    return _render(operator, place, suite, _SPEC, ())


def _arguments(schema: Mapping[str, Any]) -> tuple[tuple[str, str, bool], ...]:
    """Name, description and necessity of each argument of a JSON schema."""
    required = schema.get("required", ())
    return tuple((n, p.get("description", ""), n in required) for n, p in schema.get("properties", {}).items())


def _place(platform: Platform | str, suite: str) -> tuple[Platform, str]:
    place = platforms.get(platform) if isinstance(platform, str) else platform
    suite = place.default_suite if suite == "auto" else suite
    if suite not in SUITES:
        raise ValueError(f"unknown suite {suite!r}: use auto, {', '.join(SUITES)}")
    return place, suite


class _Key:
    """An operator as a dictionary key: by identity, as its grids are no hashable values."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator

    def __hash__(self) -> int:
        return id(self.operator)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.operator is self.operator


def _render(
    operator: Operator,
    place: Platform,
    suite: str,
    modules: tuple[str, ...],
    tools: tuple[Any, ...],
    command: str = "",
) -> str:
    return _cached(_Key(operator), _Place(place), suite, modules, tools, command)


class _Place:
    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    def __hash__(self) -> int:
        return hash(self.platform.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and other.platform == self.platform


@lru_cache(maxsize=1024)
def _cached(
    key: _Key, place: _Place, suite: str, modules: tuple[str, ...], tools: tuple[Any, ...], command: str
) -> str:
    operator = key.operator
    values = {
        "op": operator,
        "platform": place.platform,
        "suite": suite,
        "public": facts.public_name(operator),
        "documentation": facts.documentation(operator) if operator.source == "aten" else "",
        "schemas": facts.schemas(operator) if operator.source == "aten" else (),
        "functions": signatures.functions(operator),
        "c_signatures": signatures.c_signatures(operator) if operator.source == "cublas" else (),
        "written": any(i.returns_written for i in operator.interfaces),
        "grids": facts.grids(operator, suite),
        "counts": operator.counts(suite),
        "dtypes": facts.dtypes(operator, suite),
        "tools": tools,
        "command": command,
        "wrapper": chain.wrapper_source(operator) if operator.source == "vllm" else "",
        "calls": chain.call_chain(operator) if operator.source == "cublas" else "",
    }
    texts = (_environment().get_template(f"{m.format(source=operator.source)}.md.j2").render(values) for m in modules)
    return "\n\n".join(t.strip() for t in texts if t.strip()) + "\n"


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("kgb_gym.prompts"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
