"""Races between programs and stray addresses, which Triton's interpreter alone would let pass."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from kgb_gym.platforms.guard import Guard, StrayAccess
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Status, Verdict
from kgb_gym.verification.protocols import Job

HEAD = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(src, dst, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    keep = offsets < n
"""
TAIL = """

def cos(self):
    x = self.contiguous()
    out = torch.empty(x.shape, dtype=torch.result_type(self, 1.0), device=x.device)
    if x.numel():
        kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""


def judged(engine: LocalEngine, body: str) -> Verdict:
    source = HEAD + textwrap.indent(textwrap.dedent(body), "    ") + TAIL
    job = Job("aten/cos", source.encode(), suite="quick", kind="test", only_defined=True, cases=("cos[*shape=23x41]",))
    return engine.submit(job).result()


def test_an_honest_kernel_passes_in_any_order(local_engine: LocalEngine) -> None:
    verdict = judged(local_engine, """
        x = tl.load(src + offsets, mask=keep, other=0).to(tl.float32)
        tl.store(dst + offsets, tl.cos(x).to(dst.dtype.element_ty), mask=keep)
    """)  # fmt: skip
    assert verdict.status is Status.PASSED, verdict.message
    assert len(verdict.cases) >= 2


def test_a_program_that_waits_for_another_is_reported_as_order_dependent(local_engine: LocalEngine) -> None:
    verdict = judged(local_engine, """
        x = tl.load(src + offsets, mask=keep, other=0).to(tl.float32)
        before = tl.load(dst + offsets - BLOCK, mask=keep & (offsets >= BLOCK), other=0.0).to(tl.float32)
        tl.store(dst + offsets, (tl.cos(x) + before * 0).to(dst.dtype.element_ty), mask=keep)
    """)  # fmt: skip
    assert verdict.status is Status.MISMATCH
    assert "order in which programs run" in verdict.message


UNMASKED_LOAD = """
    x = tl.load(src + offsets).to(tl.float32)
    tl.store(dst + offsets, tl.cos(x).to(dst.dtype.element_ty), mask=keep)
"""
UNMASKED_STORE = """
    x = tl.load(src + offsets, mask=keep, other=0).to(tl.float32)
    tl.store(dst + offsets, tl.cos(x).to(dst.dtype.element_ty))
"""


@pytest.mark.parametrize(
    ("body", "verb", "argument"), [(UNMASKED_LOAD, "reads", "src"), (UNMASKED_STORE, "writes", "dst")]
)
def test_an_unmasked_tail_is_named_with_program_lane_and_distance(
    local_engine: LocalEngine, body: str, verb: str, argument: str
) -> None:
    verdict = judged(local_engine, body)
    assert verdict.status is Status.RUNTIME_ERROR
    assert f"{verb} 0 bytes past the end of {argument}" in verdict.message
    assert "program (14, 0, 0), lane 47" in verdict.message  # 23 * 41 = 14 * 64 + 47


def test_check_knows_starts_ends_masks_and_widths() -> None:
    guard = Guard()
    guard.allow([("b", 200, 240), ("a", 100, 140)])
    inside = np.array([100, 136, 200, 236], dtype=np.uint64)
    guard.check(inside, np.ones(4, dtype=bool), 4, "reads")
    guard.check(np.array([0, 100], dtype=np.uint64), np.array([False, True]), 4, "reads")
    with pytest.raises(StrayAccess, match="lane 1 reads across the end of a"):
        guard.check(np.array([100, 138], dtype=np.uint64), None, 4, "reads")
    with pytest.raises(StrayAccess, match="lane 0 writes 8 bytes past the end of b"):
        guard.check(np.array([248], dtype=np.uint64), np.array([True]), 4, "writes")
    with pytest.raises(StrayAccess, match="4 bytes before the start of a"):
        guard.check(np.array([96], dtype=np.uint64), np.array([True]), 4, "reads")
    guard.allow([])
    with pytest.raises(StrayAccess, match="was given none"):
        guard.check(np.array([96], dtype=np.uint64), np.array([True]), 4, "reads")
