"""The tools of an episode: what a policy may ask for between submissions.

`compile`, `test`, `run` and `profile` become jobs for the engine, like a submission; the others answer at once. No tool changes the
reward's potential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kgb_gym.verification.protocols import MAX_SOURCE_BYTES
from kgb_gym.verification.targets import PORTABLE, TARGETS

_CODE = {"type": "string", "description": "Source of one module, as for a submission."}
_CASES = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Ids of cases, or globs such as '*float16*'; left out: two cases an interface.",
}


@dataclass(frozen=True)
class Tool:
    """One tool, as it is told to a model."""

    name: str
    description: str
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """JSON schema of each argument by name."""
    required: tuple[str, ...] = ()
    job: Literal["", "compile", "test", "run", "profile"] = ""
    """The kind of job it asks the engine for; empty: answered at once."""

    def schema(self) -> dict[str, Any]:
        """The tool as a JSON schema, in the form that chat servers take for function calling."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": {
                "type": "object",
                "properties": {k: dict(v) for k, v in self.parameters.items()},
                "required": list(self.required),
                "additionalProperties": False,
            },
        }

    def check(self, arguments: Mapping[str, Any]) -> str:
        """What is wrong with the arguments, in one sentence; empty if nothing is."""
        if unknown := sorted(set(arguments) - set(self.parameters)):
            known = ", ".join(self.parameters) or "none"
            return f"{self.name} has no argument {', '.join(map(repr, unknown))}; its arguments: {known}."
        if missing := [n for n in self.required if n not in arguments]:
            return f"{self.name} needs {', '.join(missing)}."
        for name, value in arguments.items():
            if error := _mismatch(value, self.parameters[name]):
                return f"{self.name}: {name} {error}."
        return ""


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "compile",
            "Compile every function that your module launches for real chips, without running it on data: registers, "
            "spills, shared memory and instructions of each, or the compiler's error.",
            {
                "code": _CODE,
                "targets": {
                    "type": "array",
                    "items": {"type": "string", "enum": [*TARGETS, *(t.alias for t in TARGETS.values())]},
                    "description": f"Chips such as {', '.join(PORTABLE)}; left out: the platform's own.",
                },
            },
            ("code",),
            "compile",
        ),
        Tool(
            "test",
            "Check your module on chosen cases, untimed. It never counts as a submission.",
            {
                "code": _CODE,
                "cases": _CASES,
            },
            ("code",),
            "test",
        ),
        Tool(
            "run",
            "Run your module on one case: what it launches, the first values of each output beside the expected ones, "
            "and its time where the platform times and the case is a timed one. With a script, run that instead: it "
            "imports your module as `kernel`, and you see what it prints. It never counts as a submission.",
            {
                "code": _CODE,
                "case": {"type": "string", "description": "Id of a case, or a glob: its first; left out: a small one."},
                "script": {"type": "string", "description": "A Python script of your own, in place of a case."},
            },
            ("code",),
            "run",
        ),
        Tool(
            "profile",
            "See what your module does on chosen cases: launches, grids and constants; registers, spills and shared "
            "memory of each kernel; times where the platform times. It never counts as a submission.",
            {"code": _CODE, "cases": _CASES},
            ("code",),
            "profile",
        ),
        Tool(
            "read_spec",
            "Read the operator's specification again, or the list of its cases' ids.",
            {
                "what": {
                    "type": "string",
                    "enum": ["spec", "cases"],
                    "description": "`spec` (the default) or `cases`.",
                }
            },
        ),
        Tool("finish", "End the episode. Your best submission so far counts."),
    )
}


def find(name: str) -> Tool | str:
    """The tool of that name, or one sentence saying that there is none."""
    return TOOLS.get(name) or f"There is no tool {name[:64]!r}; the tools are {', '.join(TOOLS)}."


def _mismatch(value: Any, schema: Mapping[str, Any]) -> str:
    if schema["type"] == "string":
        if not isinstance(value, str):
            return f"must be a string, got {type(value).__name__}"
        if len(value) > MAX_SOURCE_BYTES:
            return f"has {len(value)} characters; at most {MAX_SOURCE_BYTES} are accepted"
    elif not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
        return "must be a list of strings"
    elif len(value) > 1000:
        return f"has {len(value)} entries; at most 1000 are accepted"
    choices = schema.get("enum") or schema.get("items", {}).get("enum")
    if choices:
        given = [value] if isinstance(value, str) else list(value)
        if wrong := [v for v in given if v not in choices]:
            return f"must be one of {', '.join(choices)}; got {wrong[0][:64]!r}"
    return ""
