"""The methods of the paper: what each is called, what it needs, and how its episodes are cut.

A method is a policy with its budgets, its prompt, and how many independent samples it draws. `find` understands the
names that tables print: `pass@5`, `reflection`, `claude-code`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from kgb_gym.envs.budgets import Budgets

if TYPE_CHECKING:
    from kgb_gym.envs.env import Paradigm

WALL_S = 1800.0
"""The paper's 30 minutes an operator."""
ROUNDS = 5
"""Rounds of reflection and of its ablation, as in Table 17."""
FINAL_S = 1200.0
"""Wall seconds that an episode of an agent has beyond the agent's own, for the verification of its last kernel: the two
limits of one verification (Appendix D) and some."""

Kind = Literal["scripted", "model", "agent"]


@dataclass(frozen=True)
class Method:
    """One way to solve operators."""

    name: str
    """As it is recorded, and as tables print it."""
    kind: Kind
    """`scripted` needs nothing, `model` a model behind an endpoint, `agent` a program that is installed."""
    about: str
    """One line for people."""
    samples: int = 1
    """Independent episodes of each operator."""
    early_stop: bool = False
    """An operator's sampling ends with its first clean pass (Appendix E)."""
    budgets: Budgets = field(default_factory=Budgets)
    prompt: Paradigm = "auto"
    temperature: float | None = 0.0
    """What the paper samples at; None: the method has none."""
    wall_s: float = WALL_S
    """Wall seconds that the model or the agent has for one episode."""


def find(
    name: str,
    *,
    samples: int | None = None,
    early_stop: bool = True,
    rounds: int | None = None,
    optimise: bool = False,
    wall_s: float | None = None,
    max_tokens: int | None = None,
) -> Method:
    """The method of a name, with the settings that are given.

    Args:
        name: one of `names()`, where `pass@k` stands for `pass@1`, `pass@2`, …
        samples: independent episodes of each operator; for `pass@k` at least k.
        early_stop: whether `pass@k` ends an operator's sampling at its first clean pass. False gives the unbiased
            estimator of Pass@k.
        rounds: submissions of an episode; for methods that have rounds.
        optimise: go on after a clean pass, asking for speed; for `reflection`, where speed is measured.
        wall_s: wall seconds of one episode.
        max_tokens: tokens of one episode, prompts and answers together.

    Raises:
        ValueError: there is no such method, or a setting doesn't fit it.
    """
    method = _plain(name, samples)
    if samples is not None:
        method = replace(method, samples=samples)
    if method.samples < 1:
        raise ValueError(f"samples must be at least 1, got {method.samples}")
    if not early_stop:
        method = replace(method, early_stop=False)
    if rounds is not None:
        if name not in ("reflection", "no-reflection"):
            raise ValueError(f"{name} has no rounds; reflection and no-reflection have")
        method = replace(method, budgets=_rounds(rounds))
    if optimise:
        if name != "reflection":
            raise ValueError(f"{name} can't be told to optimise; reflection can")
        method = replace(method, budgets=replace(method.budgets, stop_on_clean=False))
    if wall_s is not None:
        if not wall_s > 0:
            raise ValueError(f"the wall budget must be positive, got {wall_s}")
        more = FINAL_S if method.kind == "agent" else 0.0
        method = replace(method, wall_s=wall_s, budgets=replace(method.budgets, wall_s=wall_s + more))
    if max_tokens is not None:
        method = replace(method, budgets=replace(method.budgets, max_tokens=max_tokens))
    return method


def names() -> tuple[str, ...]:
    """What `find` takes; `pass@k` for any k."""
    return ("pass@k", *_METHODS)


def methods() -> tuple[Method, ...]:
    """Every method, `pass@1` standing for all of its kind."""
    return (find("pass@1"), *_METHODS.values())


def _plain(name: str, samples: int | None) -> Method:
    if name in _METHODS:
        return _METHODS[name]
    if (found := re.fullmatch(r"pass@([1-9]\d{0,5})", name)) is None:
        raise ValueError(f"unknown method {name!r}: use one of {', '.join(names())}")
    k = int(found[1])
    if samples is not None and samples < k:
        raise ValueError(f"{name} needs at least {k} samples, got {samples}")
    return Method(
        name,
        "model",
        f"{k} independent sample{'s' if k > 1 else ''} of an operator, the first clean pass ends it",
        samples=k,
        early_stop=True,
        budgets=_rounds(1),
        prompt="sampling",
        temperature=0.0 if k == 1 else 0.8,
    )


def _rounds(count: int) -> Budgets:
    if count < 1:
        raise ValueError(f"rounds must be at least 1, got {count}")
    # An answer that holds no module is a round as well: turns are limited like submissions.
    return Budgets(max_submissions=count, max_turns=count, max_tokens=1 << 40, wall_s=WALL_S, stop_on_clean=True)


_TOOLS = Budgets(max_submissions=10, max_turns=40, max_tokens=2_000_000, wall_s=WALL_S)
_AGENT = Budgets(max_submissions=200, max_turns=400, max_tokens=1 << 40, wall_s=WALL_S + FINAL_S)

_METHODS = {
    m.name: m
    for m in (
        Method("reflection", "model", "rounds in one conversation, each with what the last one came to",
               budgets=_rounds(ROUNDS), prompt="sampling", temperature=0.8),
        Method("no-reflection", "model", "as many rounds, each from the first prompt alone",
               budgets=_rounds(ROUNDS), prompt="sampling", temperature=0.8),
        Method("single-step-agent", "model", "an agent that may call one tool once: submit",
               budgets=_rounds(1), prompt="sampling"),
        Method("tool-agent", "model", "a conversation over compile, test, run, profile, read_spec and submissions",
               budgets=_TOOLS, prompt="agentic"),
        *(
            Method(name, "agent", about, budgets=_AGENT, prompt="agentic", temperature=None)
            for name, about in (
                ("claude-code", "Claude Code, driven by its command"),
                ("opencode", "OpenCode, driven by its command"),
                ("autokernel", "a coding agent that follows AutoKernel's instructions"),
                ("ako4all", "a coding agent that follows AKO4ALL's instructions"),
                ("cuda-optimized-skill", "a coding agent with the CUDA Optimized Skill"),
            )
        ),
        Method("gold", "scripted", "the gold kernels: they prove operators solvable", temperature=None),
        Method("scripted", "scripted", "faulty drafts, then the gold kernel: a labelled stand-in", temperature=None),
    )
}  # fmt: skip
