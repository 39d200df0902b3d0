"""Names the failure patterns of Appendix K from what a verdict says.

A submission gets the first pattern that fits, from the most telling to the least; what fits none is counted under its
status. Patterns are read from messages, so they describe and explain; nothing is scored by them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kgb_gym.verdict import Status

CUT_OFF = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
"""Finish reasons, as providers say them, of an answer that the token limit cut off."""
TRUNCATED, UNREADABLE = "truncated_answer", "unreadable_answer"
"""Answers without a submission: cut off at the token limit (Appendix J), or holding neither a module nor a call."""


@dataclass(frozen=True)
class Pattern:
    """One way to fail, as the paper tells them apart."""

    name: str
    title: str
    statuses: frozenset[str]
    """Only submissions of these statuses; empty: any that failed."""
    text: re.Pattern[str] | None
    """What their messages say; None: the status is enough."""
    operators: frozenset[str] = frozenset()
    """Only these operators, by name without source; empty: any."""


def _pattern(name: str, title: str, statuses: str = "", text: str = "", operators: str = "") -> Pattern:
    found = re.compile(text, re.IGNORECASE) if text else None
    return Pattern(name, title, frozenset(statuses.split()), found, frozenset(operators.split()))


PATTERNS = (
    _pattern("recursion", "Infinite dispatch recursion", "recursion"),
    _pattern("recursion", "Infinite dispatch recursion", "", r"RecursionError|maximum recursion depth"),
    _pattern("missing_overloads", "Missing overload variants", "missing_interface"),
    _pattern(
        "block_size_conflict",
        "BLOCK_SIZE clashes with autotune",
        "",
        r"Conflicting meta-parameters|multiple values for (keyword )?argument '\w*BLOCK|re-?define auto-?tuned",
    ),
    _pattern(
        "missing_math", "Missing math functions", "", r"(tl|libdevice)\.(math\.)?\w+ .*(not (available|supported))"
    ),
    _pattern(
        "hallucinated_api",
        "Hallucinated Triton API",
        "",
        r"(module|type object) '?triton[\w.]*'? has no attribute|'?(tl|triton\.language)(\.\w+)+'? (does not exist|is not)"
        r"|has no (function|attribute) '?(tl|triton)\.",
    ),
    _pattern(
        "unsupported_syntax",
        "Python syntax that Triton rejects",
        "compile_error runtime_error syntax_error",
        r"unsupported AST node|UnsupportedLanguageConstruct|chained boolean|(break|continue|return) statement"
        r"|not supported (in|by) triton|'(break|continue)'",
    ),
    _pattern(
        "pointer_block_mismatch",
        "Pointer and block types differ",
        "",
        r"Value argument cannot be block type|pointer type.*block",
    ),
    _pattern("llvm_ir", "IR that the back end rejects", "", r"PassManager::run failed|LLVM ERROR|MLIR"),
    _pattern("address_32bit", "32-bit addressing", "", r"too large to fit in 32[- ]?bit"),
    _pattern("bfloat16", "Incomplete bfloat16 support", "compile_error runtime_error", r"bf(loat)?16"),
    _pattern(
        "stochastic",
        "Stochastic divergence",
        "mismatch",
        "",
        "bernoulli poisson rrelu_with_noise rand randn normal_ uniform_ exponential_ multinomial randperm dropout",
    ),
    _pattern(
        "stochastic", "Stochastic divergence", "mismatch", r"distribution|not deterministic under (a|the same) seed"
    ),
    _pattern("non_contiguous", "Non-contiguous memory", "mismatch", r"non-?contiguous|strides?\b|storage_offset"),
    _pattern(
        "hard_algorithm",
        "Needs a cross-block algorithm",
        "mismatch compile_error runtime_error timeout",
        "",
        "matmul mm bmm linear addmm sort cumsum",
    ),
)


def classify(step: Mapping[str, Any]) -> str | None:
    """The failure pattern of one recorded step; its status where none fits; None if it didn't fail.

    An answer that held no submission is `truncated_answer` or `unreadable_answer`: neither is a syntax error.
    """
    if step.get("action") == "tool":
        if step.get("tool") != "unknown":
            return None
        return TRUNCATED if step.get("finish_reason") in CUT_OFF else UNREADABLE
    status = step.get("status")
    if status in (None, Status.PASSED, Status.HARNESS_ERROR):
        return None
    text = _said(step)
    name = str(step.get("operator") or "").partition("/")[2]
    for pattern in PATTERNS:
        if pattern.statuses and status not in pattern.statuses:
            continue
        if pattern.operators and name not in pattern.operators:
            continue
        if pattern.text is None or pattern.text.search(text):
            return pattern.name
    if status == Status.MISMATCH and _only_strided_fail(step):
        return "non_contiguous"
    return str(status)


def explain(name: str) -> tuple[str, str]:
    """A pattern's title and, in words, the rules that give it."""
    if name in (TRUNCATED, UNREADABLE):
        cut = name == TRUNCATED
        title = "Answer cut off at the token limit" if cut else "Neither a module nor a tool call"
        return title, f"no submission; finish reason {'in ' + ', '.join(sorted(CUT_OFF)) if cut else 'any other'}"
    found = [p for p in PATTERNS if p.name == name]
    if not found:
        return "No pattern: its status", f"status {name}"
    return found[0].title, "; or ".join(_rule(p) for p in found)


def count(steps: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How often each pattern occurs, most frequent first."""
    found = Counter(name for step in steps if (name := classify(step)) is not None)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _rule(pattern: Pattern) -> str:
    parts = [f"status {' or '.join(sorted(pattern.statuses))}"] if pattern.statuses else []
    parts += [f"operator {' or '.join(sorted(pattern.operators))}"] if pattern.operators else []
    parts += [f"message matches {pattern.text.pattern}"] if pattern.text is not None else []
    return ", ".join(parts)


def _said(step: Mapping[str, Any]) -> str:
    errors = [c["error"] for c in step.get("cases") or () if c.get("error") and not c.get("passed")]
    return "\n".join([step.get("message") or "", *errors[:20]])


def _only_strided_fail(step: Mapping[str, Any]) -> bool:
    """Whether every failed case has a layout and every case without one passed."""
    judged = [c for c in step.get("cases") or () if not c.get("skipped")]
    strided = [bool(re.search(r'"(stride|strides|layout|offset)": (?!null|"contiguous")', c["params"])) for c in judged]
    failed = [not c["passed"] for c in judged]
    return any(failed) and not all(strided) and all(s for s, f in zip(strided, failed, strict=True) if f)
