"""The profile layer over what a profiler could have said; what it says on a GPU is tested where there is one."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kgb_gym.verdict import Profile, Timing
from kgb_gym.verification import clock, profile

COPY = "void at::native::elementwise_kernel<128, 2>(int, copy)"


def told(*events: tuple[str, float], method: str = "profiler") -> dict[str, Any]:
    return {"method": method, "events": [[name, time, 3] for name, time in events]}


def test_the_share_is_the_submissions_device_time() -> None:
    seen = profile.judge(told(("softmax_kernel", 30.0), ("Memcpy DtoD", 10.0)), {"softmax_kernel", "other"}, "case")
    assert seen == Profile("case", "profiler", 0.75, ("softmax_kernel",), ("Memcpy DtoD",))
    assert profile.verdict(seen) == ""


@pytest.mark.parametrize("name", ["f", "f_0d1d2de", "f_0123"])
def test_specialised_names_are_the_functions(name: str) -> None:
    assert profile.judge(told((name, 1.0)), {"f"}, "c").own == (name,)


@pytest.mark.parametrize("name", ["f_tail", "g", "xf", "f2"])
def test_other_names_are_not(name: str) -> None:
    assert profile.judge(told((name, 1.0)), {"f"}, "c").own == ()


def test_a_function_whose_own_name_ends_in_digits() -> None:
    seen = profile.judge(told(("pass_2", 1.0)), {"pass_2"}, "c")
    assert seen.own == ("pass_2",)


def test_a_decoy_is_named_with_what_did_the_work() -> None:
    seen = profile.judge(told(("decoy", 1.0), (COPY, 99.0)), {"decoy"}, "c")
    why = profile.verdict(seen)
    assert "1.0%" in why
    assert COPY in why
    nothing = profile.verdict(profile.judge(told((COPY, 99.0)), {"decoy"}, "c"))
    assert "nothing that ran on the GPU is a kernel of the submission" in nothing


def test_names_alone_prove_presence_but_no_share() -> None:
    seen = profile.judge(told(("f", 0.0), (COPY, 0.0), method="graph nodes"), {"f"}, "c")
    assert seen.share is None
    assert profile.verdict(seen) == ""


def test_a_lost_profiler_is_no_decoy() -> None:
    with pytest.raises(profile.Lost, match="does not let CUDA be observed"):
        profile.judge({"method": "none", "events": []}, {"f"}, "c")


@pytest.mark.parametrize(
    "answer",
    [{}, {"method": "guess", "events": []}, {"method": "profiler", "events": [["f", -1.0, 1]]},
     {"method": "profiler", "events": [["f", float("nan"), 1]]}, {"method": "profiler", "events": None}],
)  # fmt: skip
def test_a_malformed_profile_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="profile"):
        profile.judge(answer, {"f"}, "c")


def test_device_time_that_the_wall_clock_denies_is_not_believed() -> None:
    timing = Timing(10.0, 10.0, 1.0, (1.0, 1.0), 20)
    assert clock._doubt(timing, {"us": 900.0, "count": 20}) == ""
    assert "by wall clock over 20 runs 9000.0 us" in clock._doubt(timing, {"us": 9000.0, "count": 20})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_both_ways_see_a_fill_on_a_gpu() -> None:
    tensor = torch.empty(1 << 20, device="cuda")

    def run() -> None:
        tensor.add_(1.0)

    run()
    seen = profile.watch(run)
    assert seen["method"] == "profiler"
    assert seen["events"]
    assert profile._graph_nodes(run)
