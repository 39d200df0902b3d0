"""The judge in this process, on operators declared here: launches that depend on values, end to end."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kgb_gym.operators import Call, Interface, Operator, get, gold_source
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.grids import Grid
from kgb_gym.verdict import Stage, Status
from kgb_gym.verification import judge
from kgb_gym.verification.protocols import Job, Limits

POINTS = tuple({"n": n} for n in (40, 100))


def build(make, *, n):
    return Call((make.normal((n,), torch.float32), make.normal((n,), torch.float32) > 0))


def jitter(rng, params):
    return {**params, "n": params["n"] + rng.randrange(1, 9)}


GRIDS = {suite: (Grid(POINTS, "paper", False),) for suite in ("paper", "quick", "smoke")}
SELECT = Operator(
    source="aten", name="masked_select", interfaces=(Interface("masked_select", build, GRIDS, jitter),), compare=Exact(),
    data_dependent=True,
)  # fmt: skip

RIGHT = """
import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(mask_ptr, count_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    kept = tl.load(mask_ptr + at, mask=at < n, other=0).to(tl.int32)
    tl.store(count_ptr, tl.sum(kept, axis=0))


@triton.jit
def select_kernel(x_ptr, mask_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    kept = tl.load(mask_ptr + at, mask=at < n, other=0).to(tl.int32)
    place = tl.cumsum(kept, axis=0) - 1
    tl.store(out_ptr + place, tl.load(x_ptr + at, mask=at < n), mask=(at < n) & (kept != 0))


def masked_select(self, mask):
    n = self.numel()
    block = triton.next_power_of_2(n)
    count = torch.empty((1,), dtype=torch.int32, device=self.device)
    count_kernel[(1,)](mask, count, n, BLOCK=block)
    out = torch.empty((count.item(),), dtype=self.dtype, device=self.device)
    select_kernel[(1,)](self, mask, out, n, BLOCK=block)
    return out
"""
ENTRY = "def masked_select(self, mask):\n"


@pytest.fixture
def ask(local_engine):
    """`ask(source, operator)`: the verdict of a judge in this process."""

    def verify(source, operator=SELECT, **more):
        limits = Limits(correctness_s=60, call_s=4, memory_bytes=1 << 30)
        job = Job(operator.id, source.encode(), suite="smoke", limits=limits, **more)
        with local_engine.spawner() as spawner:
            return judge.verify(job, spawner, operator)

    return verify


def test_launches_that_depend_on_values_are_judged_by_the_call(ask):
    verdict = ask(RIGHT)
    assert (verdict.status, verdict.clean, verdict.stage) == (Status.PASSED, True, Stage.GENUINE), verdict.message
    assert verdict.data_dependent
    assert [c.launches for c in verdict.cases] == [2, 2, 2]
    assert {c.origin for c in verdict.cases} == {"paper", "hidden"}
    assert "ghost" in verdict.layers and verdict.compiled_for == ("cuda:90",)


def test_a_wrong_answer_is_one(ask):
    verdict = ask(
        RIGHT.replace("place = tl.cumsum(kept, axis=0) - 1", "place = tl.sum(kept, axis=0) - tl.cumsum(kept, axis=0)")
    )
    assert verdict.status is Status.MISMATCH, verdict.message
    assert all(c.difference is not None for c in verdict.cases)


def test_the_second_kernel_is_compiled_as_well(ask):
    """It is launched only where the first one's answer is known: in the call itself, not in the held-back one."""
    source = RIGHT.replace("    place = tl.cumsum", "    while True:\n        break\n    place = tl.cumsum")
    verdict = ask(source)
    assert verdict.status is Status.COMPILE_ERROR, verdict.message
    assert f"line {source.split(chr(10)).index('        break') + 1}: break" in verdict.message


ON_THE_HOST = (
    ENTRY
    + """    values = [self[i].item() for i in range(self.numel()) if mask[i].item()]
    out = torch.empty((len(values),), dtype=self.dtype, device=self.device)
    for i, value in enumerate(values):
        out[i:i + 1].fill_(value)
"""
)


def test_an_answer_read_back_element_by_element_is_a_hack(ask):
    source = RIGHT.split(ENTRY)[0] + ON_THE_HOST + "    return out\n"
    verdict = ask(source)
    assert verdict.status is Status.HACK, verdict.message
    assert [(h.layer, h.rule) for h in verdict.hacks] == [("audit", "read-back")]


DECOY = """    count = torch.empty((1,), dtype=torch.int32, device=self.device)
    count_kernel[(1,)](mask, count, self.numel(), BLOCK=128)
    return out
"""


def test_an_answer_by_copies_with_a_decoy_launch_is_a_hack(ask):
    """Two bits of the mask steer which half is copied: right where the mask is a half, and so never by a kernel."""
    halves = replace(SELECT.interfaces[0], build=lambda make, *, n: Call((
        make.normal((n,), torch.float32), torch.arange(n) < n // 2)))  # fmt: skip
    copies = "    n = self.numel()\n    first = mask[0].item()\n    half = n // 2 if first else n - n // 2\n"
    copies += "    out = torch.empty((half,), dtype=self.dtype, device=self.device)\n    out.copy_(self[:half])\n"
    verdict = ask(RIGHT.split(ENTRY)[0] + ENTRY + copies + DECOY, replace(SELECT, interfaces=(halves,)))
    assert verdict.status is Status.HACK, verdict.message
    assert verdict.hacks[0].rule == "right-without-kernels"


def test_what_the_host_writes_into_memory_is_not_believed(ask):
    host = "    out = torch.empty((mask[:1].item() * 0 + 7,), dtype=self.dtype, device=self.device)\n    out.numpy()[:] = 0\n"
    verdict = ask(RIGHT.split(ENTRY)[0] + ENTRY + host + DECOY)
    assert (verdict.status, verdict.hacks[0].rule) == (Status.HACK, "read-back"), verdict.message


def test_native_compute_is_a_hack(ask):
    verdict = ask(RIGHT.split(ENTRY)[0] + ENTRY + "    out = self[mask]\n    return out\n")
    assert (verdict.status, verdict.hacks[0].layer) == (Status.HACK, "audit"), verdict.message


def test_recursion_is_reported_as_such(ask):
    verdict = ask(RIGHT.replace(ENTRY, ENTRY + "    return torch.masked_select(self, mask)\n"))
    assert verdict.status is Status.RECURSION, verdict.message


def test_a_loop_in_a_call_ends(ask):
    verdict = ask(RIGHT.replace(ENTRY, ENTRY + "    while mask is not None:\n        pass\n"))
    assert verdict.status is Status.TIMEOUT, verdict.message


def test_an_exception_in_a_call(ask):
    verdict = ask(RIGHT.replace("    return out", "    raise ValueError('no')"))
    assert verdict.status is Status.RUNTIME_ERROR, verdict.message
    assert "ValueError: no" in verdict.message


def test_reading_values_back_is_a_hack_elsewhere(ask):
    verdict = ask(RIGHT, replace(SELECT, data_dependent=False))
    assert (verdict.status, verdict.hacks[0].rule) == (Status.HACK, "read-back"), verdict.message
    assert "count.item()" in RIGHT.split("\n")[verdict.hacks[0].line - 1]


def test_compile_only(ask):
    verdict = ask(RIGHT, kind="compile", targets=("sm_80",))
    assert (verdict.status, verdict.clean) == (Status.PASSED, False), verdict.message
    assert verdict.compiled_for == ("sm_80",)


def test_an_answer_within_the_tolerance_of_what_was_there_proves_nothing(ask):
    """`C + 1e-6 * A * B` is C in fp16: that it is right without kernels is no hack of theirs."""
    operator = get("cublas/HgemmStridedBatched")
    interface = operator.interfaces[0]
    point = {"m": 4, "n": 4, "k": 2, "batchCount": 2, "alpha": 1e-6, "beta": 1.0, "transa": "N", "transb": "N",
             "dtype": "float16"}  # fmt: skip
    grids = {suite: (Grid((point,), "paper", False),) for suite in ("paper", "quick", "smoke")}
    same = replace(operator, interfaces=(replace(interface, grids=grids, jitter=lambda rng, p: {**p, "m": 5}),))
    verdict = ask(gold_source(operator.id), same)
    assert verdict.status is Status.PASSED, verdict.message
