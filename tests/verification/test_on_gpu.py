"""What only a GPU shows: guard regions, the profile, and the answer after the timed loop. Skipped without one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from kgb_gym.operators import gold_source
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Stage, Status, Verdict
from kgb_gym.verification.protocols import Job, Timer

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"
FOOT = """


def launch(self, out):
    n = out.numel()
    if n:
        cos_kernel[(triton.cdiv(n, 1024),)](self.contiguous(), out, n, BLOCK=1024)
    return out


def cos(self):
    kind = self.dtype if self.dtype.is_floating_point else torch.float32
    return launch(self, torch.empty(self.shape, dtype=kind, device=self.device))
"""
KERNEL = """def cos_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + o, mask=o < n, other=0)
    x = x.to(tl.float64) if x_ptr.dtype.element_ty == tl.float64 else x.to(tl.float32)
    tl.store(out_ptr + o, tl.cos(x).to(out_ptr.dtype.element_ty), mask=o < MASK)
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    with LocalEngine(workers=1, platform="nvidia") as engine:
        yield engine


def judge(engine: LocalEngine, operator: str, source: str, suite: str = "smoke") -> Verdict:
    job = Job(operator, source.encode(), suite=suite, platform="nvidia", only_defined=True, seed=5)
    return engine.submit(job).result()


def test_a_gold_is_profiled_and_right_after_its_timed_loop(engine: LocalEngine) -> None:
    verdict = judge(engine, "aten/cos", gold_source("aten/cos"), "paper")
    assert (verdict.status, verdict.stage) == (Status.PASSED, Stage.TIMED), verdict.message
    assert verdict.profile is not None
    assert verdict.profile.own == ("cos_kernel",)
    assert verdict.profile.share is None or verdict.profile.share > 0.3
    assert {"profile", "clock"} <= set(verdict.layers)


def test_a_right_answer_with_writes_past_the_end_fails(engine: LocalEngine) -> None:
    good = judge(engine, "aten/cos", HEAD + KERNEL.replace("MASK", "n") + FOOT)
    assert good.status is Status.PASSED, good.message
    stray = judge(engine, "aten/cos", HEAD + KERNEL.replace("MASK", "n + 5") + FOOT)
    assert stray.status is Status.MISMATCH
    assert "writes outside the memory it was given" in stray.message


def test_a_kernel_that_faults_ends_its_own_process_only(engine: LocalEngine) -> None:
    wild = HEAD + KERNEL.replace("out_ptr + o, tl", "out_ptr + o + (1 << 40), tl").replace("MASK", "n") + FOOT
    verdict = judge(engine, "aten/cos", wild)
    assert verdict.status in {Status.RUNTIME_ERROR, Status.CRASH}, verdict.message
    assert judge(engine, "aten/cos", HEAD + KERNEL.replace("MASK", "n") + FOOT).status is Status.PASSED


@pytest.mark.parametrize("pipelined", [True, False])
def test_compiling_ahead_changes_nothing(engine: LocalEngine, pipelined: bool) -> None:
    source = gold_source("aten/softmax").encode()
    sizes = ("softmax.int[dim=?,dtype=*,shape=4096x256]",)
    job = Job("aten/softmax", source, suite="paper", cases=sizes, platform="nvidia", seed=5, pipelined=pipelined)
    verdict = engine.submit(job).result()
    assert (verdict.status, verdict.stage) == (Status.PASSED, Stage.TIMED), verdict.message
    timed = [c.timing for c in verdict.cases if c.timing is not None]
    assert len(timed) == 6 and all(t.submission_launch_us and t.baseline_launch_us for t in timed)
    assert not verdict.clean, "chosen cases are no clean pass"
    assert verdict.clocks is None or verdict.clocks.readings > 0


@pytest.mark.parametrize("timer", [Timer(cache="warm"), Timer(method="events"), Timer(most=7)])
def test_timers(engine: LocalEngine, timer: Timer) -> None:
    source = gold_source("aten/cos").encode()
    one = ("cos[dtype=float32,shape=1024x1024]",)
    verdict = engine.submit(Job("aten/cos", source, suite="paper", cases=one, platform="nvidia", timer=timer)).result()
    timed = [c.timing for c in verdict.cases if c.timing is not None]
    assert timed and all(t.cache == timer.cache and t.repeats <= timer.most for t in timed)
    assert timer.method == "auto" or all(t.method == timer.method for t in timed)


WRAPPER = """


def cos(self):
    kind = self.dtype if self.dtype.is_floating_point else torch.float32
    with torch.cuda.device(self.device), torch.cuda.device_of(self):
        assert self.is_cuda and self.device == torch.device("cuda", torch.cuda.current_device())
        assert torch.cuda.get_device_properties(self.device).multi_processor_count > 1 and torch.cuda.is_available()
        out = torch.empty(0, dtype=kind, device="cuda")
        out.resize_(self.shape)
        assert out.shape == self.shape
        dense = self.new_zeros(self.shape).copy_(self).contiguous().view(-1).reshape(self.shape)
        constants = [torch.tensor(3.0, device=self.device), self.new_tensor(2), torch.as_tensor(1.5, device="cuda"),
                     torch.full((2,), 1.0, device="cuda"), torch.zeros((), device=self.device).to(torch.float64),
                     torch.scalar_tensor(2.0, device="cuda"), self.new_ones(4)[1:]]
        assert all(c.is_cuda and c.device == self.device for c in constants)
        seen = torch.view_as_real(torch.empty(3, dtype=torch.complex64, device="cuda")).real
        assert seen.is_cuda and torch.result_type(torch.empty((), dtype=kind), 1.0).is_floating_point
    return launch(dense, out)
"""


def test_a_wrapper_does_while_it_is_recorded_what_it_may_do_on_the_device(engine: LocalEngine) -> None:
    """A recorder has no context: its tensors only pass for the device's (see `memory`)."""
    source = HEAD + KERNEL.replace("MASK", "n") + FOOT[: FOOT.index("\n\n\ndef cos")] + WRAPPER
    verdict = judge(engine, "aten/cos", source, "quick")
    assert verdict.status is Status.PASSED, verdict.message
