"""A copy in place of a view, wrong strides and a wrong offset fail, for every operator that returns views."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from kgb_gym.operators import get, gold_source, names
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Status, Verdict
from kgb_gym.verification.protocols import Job

VIEWS = [n for n in names() if n.startswith("aten/") and get(n).view]

CHANGES = {
    "copy": ("clone_in_a_kernel(x)", "must share the memory"),
    "strides": ("x.detach().as_strided_(x.shape, [0] * x.dim(), x.storage_offset())", "strides"),
    "offset": ("x.detach().as_strided_(x.shape, x.stride(), max(x.storage_offset() - 1, 0))", "and offset"),
}
"""What is done to every returned tensor `x`, and what the verdict says of it."""


def spoiled(name: str, change: str) -> str:
    """The gold source with every function's answer changed."""
    cloning = re.sub(
        r"\b(copy_kernel|runs|launch|copy|clone|clone_out|BLOCK_SIZE)\b", r"\1_in_a_kernel", gold_source("aten/clone")
    )
    lines = [gold_source(name), cloning, f"def spoil(x):\n    return {change}\n"]
    for interface in get(name).interfaces:
        function = interface.function
        lines.append(f"""
right_{function} = {function}


def {function}(*args, **kwargs):
    answer = right_{function}(*args, **kwargs)
    if isinstance(answer, list):
        return [spoil(x) for x in answer]
    return answer if answer is None else spoil(answer)
""")
    return "\n\n".join(lines)


@pytest.fixture
def judge(local_engine: LocalEngine) -> Callable[[str, str], Verdict]:
    def ask(name: str, source: str) -> Verdict:
        return local_engine.submit(Job(name, source.encode(), suite="smoke")).result(timeout=120)

    return ask


def test_the_views_are_all_here() -> None:
    assert len(VIEWS) >= 13


@pytest.mark.parametrize("name", VIEWS)
def test_an_answer_handed_on_passes(judge: Callable[[str, str], Verdict], name: str) -> None:
    verdict = judge(name, spoiled(name, "x"))
    assert verdict.clean, verdict.message


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", VIEWS)
def test_what_is_not_that_view_fails(judge: Callable[[str, str], Verdict], name: str, change: str) -> None:
    code, says = CHANGES[change]
    verdict = judge(name, spoiled(name, code))
    assert verdict.status is Status.MISMATCH, verdict.message
    assert says in verdict.message
