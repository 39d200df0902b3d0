"""The agents: which program each is, how it is called, and what it needs to find its model.

The programs are never part of this package: they are installed by whoever runs them, and driven through their
documented command lines. AutoKernel, AKO4ALL and the CUDA Optimized Skill are instructions for a coding agent; a
checkout of theirs is copied into the work folder, and a driver is told to follow it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgb_gym.baselines.agents.usage import ClaudeCode, OpenCode, Reader

PROVIDER_ID = "kgb"


@dataclass(frozen=True)
class Setting:
    """What a call of an agent's program depends on."""

    model: str
    provider: str
    """`openai` or `anthropic`: what the server speaks."""
    url: str
    """Where the agent finds it: the proxy, without a path."""
    secret: str
    """What it sends as a key."""
    prompt: str
    max_tokens: int


@dataclass(frozen=True)
class Call:
    """A command with what it needs."""

    arguments: tuple[str, ...]
    """After the program's name."""
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts by path below the agent's own HOME."""


@dataclass(frozen=True)
class Program:
    """A coding agent with a command line."""

    name: str
    command: str
    """The executable's usual name."""
    providers: tuple[str, ...]
    """Which protocols it can speak to a server."""
    install: str
    call: Callable[[Setting], Call]
    reader: Callable[[], Reader]


@dataclass(frozen=True)
class Instructions:
    """A kernel-specialised agent that consists of instructions for a coding agent."""

    name: str
    source: str
    """Where a checkout comes from."""
    entry: str
    """The file to begin with, within a checkout."""
    prompt: str
    """What the driver is told; `{folder}` is where the checkout lies in the work folder."""
    skills: str = ""
    """Folder of the checkout with skills, which Claude Code and OpenCode find in `.claude/skills`."""


def _claude_code(setting: Setting) -> Call:
    return Call(
        arguments=(
            *("--print", setting.prompt, "--model", setting.model, "--output-format", "stream-json", "--verbose"),
            "--dangerously-skip-permissions",
        ),
        environment={
            "ANTHROPIC_BASE_URL": setting.url,
            "ANTHROPIC_API_KEY": setting.secret,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": setting.model,
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(setting.max_tokens),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # it skips permissions as root only where it is told that it is fenced in
        },
    )


def _opencode(setting: Setting) -> Call:
    package = "@ai-sdk/anthropic" if setting.provider == "anthropic" else "@ai-sdk/openai-compatible"
    config = {
        "$schema": "https://opencode.ai/config.json",
        "provider": {
            PROVIDER_ID: {
                "npm": package,
                "name": PROVIDER_ID,
                "options": {"baseURL": f"{setting.url}/v1", "apiKey": setting.secret},
                "models": {setting.model: {"name": setting.model, "limit": {"context": 200_000, "output": setting.max_tokens}}},
            }
        },
        "model": f"{PROVIDER_ID}/{setting.model}",
        "small_model": f"{PROVIDER_ID}/{setting.model}",
        "share": "disabled",
        "autoupdate": False,
        "permission": {"edit": "allow", "bash": "allow", "external_directory": "allow", "webfetch": "deny"},
    }  # fmt: skip
    return Call(
        arguments=("run", "--format", "json", "--model", f"{PROVIDER_ID}/{setting.model}", setting.prompt),
        environment={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        files={".config/opencode/opencode.json": json.dumps(config, indent=2)},
    )


PROGRAMS = {
    p.name: p
    for p in (
        Program(
            "claude-code",
            "claude",
            ("anthropic",),
            "npm install -g @anthropic-ai/claude-code",
            _claude_code,
            ClaudeCode,
        ),
        Program("opencode", "opencode", ("openai", "anthropic"), "npm install -g opencode-ai", _opencode, OpenCode),
    )
}

_REPLACED = (
    "Where they speak of profiling a model, of preparing inputs, of a benchmark or of a reference, this replaces it: "
    "TASK.md in this folder is the task, kernel.py is the one file that counts, and the command `verify kernel.py` is "
    "the only judge of correctness and speed. Work on your own, ask nothing, and stop when nothing more is to be won."
)

INSTRUCTIONS = {
    i.name: i
    for i in (
        Instructions(
            "autokernel",
            "https://github.com/RightNow-AI/autokernel",
            "program.md",
            "Read {folder}/program.md and follow its way of working. " + _REPLACED,
        ),
        Instructions(
            "ako4all",
            "https://github.com/TongmingLAIC/AKO4ALL",
            "TASK.md",
            "Read {folder}/TASK.md and {folder}/HINTS.md and follow their way of working. " + _REPLACED,
        ),
        Instructions(
            "cuda-optimized-skill",
            "https://github.com/KernelFlow-ops/cuda-optimized-skill",
            "skills/optimized-skill/operator-optimize-loop/SKILL.md",
            "Use the skill operator-optimize-loop, which lies in {folder}/skills, and follow its way of working. "
            + _REPLACED,
            skills="skills/optimized-skill",
        ),
    )
}

PROMPT = "Read TASK.md in this folder and do what it says. Leave your best kernel in kernel.py."
"""What a coding agent without further instructions is told."""


def checkout_error(instructions: Instructions, folder: Path | None) -> str:
    """What is wrong with a checkout; empty if nothing is."""
    how = f"git clone {instructions.source}, and give its folder with --instructions"
    if folder is None:
        return f"{instructions.name} is a set of instructions that is not part of this package: {how}"
    if not (folder / instructions.entry).is_file():
        return f"{folder} is no checkout of {instructions.name}, as there is no {instructions.entry} in it: {how}"
    return ""
