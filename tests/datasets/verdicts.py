"""Real verdicts for the tests of records, metrics and reports."""

from __future__ import annotations

import hashlib
from typing import Any

from kgb_gym.verdict import CaseResult, Difference, Hack, KernelCode, Stage, Status, TargetResult, Timing, Verdict

CLEAN_CODE = "import triton\n\n\ndef softmax_int(x, dim):\n    return x\n"


def timing(speedup: float, *, launch_bound: bool = False, baseline_us: float = 40.0) -> Timing:
    return Timing(
        submission_us=baseline_us / speedup,
        baseline_us=baseline_us,
        speedup=speedup,
        interval=(speedup * 0.99, speedup * 1.01),
        repeats=120,
        launch_bound=launch_bound,
    )


def case(name: str = "c0", *, passed: bool = True, speedup: float | None = None, **fields: Any) -> CaseResult:
    values: dict[str, Any] = {
        "case": name,
        "interface": "softmax.int",
        "params": {"shape": [4, 256], "dtype": "float16", "dim": 1},
        "origin": "paper",
        "timed": speedup is not None,
        "passed": passed,
        "passed_paper": passed,
        "launches": 1,
        "timing": None if speedup is None else timing(speedup),
    }
    if not passed:
        values["difference"] = Difference("return", 0.5, float("inf"), (3, 7), 0.25, 0.75, 12, 1024, "one row")
    return CaseResult(**(values | fields))


def verdict(
    operator: str = "aten/softmax",
    *,
    status: Status = Status.PASSED,
    code: str = CLEAN_CODE,
    cases: tuple[CaseResult, ...] | None = None,
    **fields: Any,
) -> Verdict:
    passed = status is Status.PASSED
    values: dict[str, Any] = {
        "operator": operator,
        "source_sha256": hashlib.sha256(code.encode()).hexdigest(),
        "suite": "quick",
        "platform": "cpu",
        "stage": Stage.GENUINE if passed else Stage.COMPILED,
        "status": status,
        "message": "all cases passed" if passed else f"it ended with {status.value}",
        "cases": (case(passed=passed),) if cases is None else cases,
        "hacks": (Hack("screen", "import", "imports ctypes", 3),) if status is Status.HACK else (),
        "clean": passed,
        "clean_paper": passed,
        "compiled_for": ("cuda:90",),
        "targets": (
            TargetResult(
                "cuda:90",
                Status.PASSED,
                variants=2,
                shared_limit=232448,
                kernels=(
                    KernelCode("softmax_kernel", 32, 0, 512, {"load": 4, "store": 1}),
                    KernelCode("sum", None, None, 0, {}),
                ),
            ),
        ),
        "layers": ("screen", "audit", "ghost"),
        "notes": ("interpreted",),
        "seed": 7,
        "durations": {"judge": 0.25, "record": 0.5},
    }
    return Verdict(**(values | fields))
