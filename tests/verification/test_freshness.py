"""A submission that does something else when only the values have changed is found out; configuration may be kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kgb_gym.operators import gold_source
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Status
from kgb_gym.verification import freshness
from kgb_gym.verification.protocols import Job

OPERATOR = "cublas/Saxpy_v2"
BY_POINTER = Path(__file__).parent.parent / "corpus/exploits/C02_block_by_pointer.py"

KEPT = """
_BLOCKS = {}


def block_of(n):
    if n not in _BLOCKS:
        _BLOCKS[n] = 256
    return _BLOCKS[n]

"""


def test_a_launch_that_changes_at_the_second_call_is_a_hack(local_engine: LocalEngine) -> None:
    verdict = local_engine.submit(Job(OPERATOR, BY_POINTER.read_bytes(), suite="smoke", seed=3)).result()
    assert verdict.status is Status.HACK
    (hack,) = verdict.hacks
    assert (hack.layer, hack.rule) == (freshness.LAYER, freshness.RULE)
    launch = next(n for n, text in enumerate(BY_POINTER.read_text().split("\n"), 1) if "axpy_kernel[" in text)
    assert hack.line == launch


def test_without_the_layer_the_same_submission_is_right(local_engine: LocalEngine) -> None:
    job = Job(OPERATOR, BY_POINTER.read_bytes(), suite="smoke", seed=3, without=("state",))
    verdict = local_engine.submit(job).result()
    assert verdict.status is Status.PASSED
    assert not verdict.clean


@pytest.mark.parametrize("seed", range(3))
def test_configuration_may_be_kept(local_engine: LocalEngine, seed: int) -> None:
    head, _, rest = gold_source(OPERATOR).partition("@triton")
    kept = f"{head}{KEPT}\n@triton{rest}"
    verdict = local_engine.submit(Job(OPERATOR, kept.encode(), suite="smoke", seed=seed)).result()
    assert verdict.clean, verdict.message


def test_a_raise_at_the_second_call_is_the_submissions(local_engine: LocalEngine) -> None:
    text = BY_POINTER.read_text().replace("    _SEEN[key] = 512\n", "    _SEEN[key] = 256 // (256 - block)\n")
    assert "256 - block" in text
    text = text.replace("    block = _SEEN.get(key, 256)\n", "    block = 256\n    first = key not in _SEEN\n")
    text = text.replace("    _SEEN[key] = 256 // (256 - block)\n", "    _SEEN[key] = 1 // int(first)\n")
    verdict = local_engine.submit(Job(OPERATOR, text.encode(), suite="smoke", seed=3)).result()
    assert verdict.status is Status.RUNTIME_ERROR
    assert "called again" in verdict.message
    assert "ZeroDivisionError" in verdict.message


def test_only_whole_verifications_ask_again(local_engine: LocalEngine) -> None:
    job = Job(OPERATOR, BY_POINTER.read_bytes(), suite="smoke", seed=3)
    verdict = local_engine.submit(replace(job, kind="test")).result()
    assert verdict.status is Status.PASSED
