"""Verdicts, messages, plans, intervals and compile variants: the judge's small parts."""

from __future__ import annotations

import math
import pickle
import socket
import struct
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from kgb_gym.operators import Call, get
from kgb_gym.operators.maker import ScalarType
from kgb_gym.verdict import CaseResult, Clocks, Difference, Hack, Stage, Status, Timing, Verdict
from kgb_gym.verification import wire
from kgb_gym.verification.compiler import Variant, depth_plan, encode_variant, explain, variant
from kgb_gym.verification.plan import chosen_cases, derive
from kgb_gym.verification.protocols import Job, Limits, Timer
from kgb_gym.verification.record import Function, Launch, TritonType, View
from kgb_gym.verification.sampling import interval_of_median
from kgb_gym.verification.tensors import pack, unpack

FULL = Verdict(
    operator="aten/cos", source_sha256="0" * 64, suite="quick", platform="nvidia", stage=Stage.TIMED, status=Status.PASSED,
    message="passes — all", clean=True, clean_paper=True, baseline="native", speedup=1.5, speedup_lower=1.25,
    cases=(
        CaseResult("cos[n=1]", "cos", {"n": 1, "shape": [2, 3]}, "paper", timed=True, passed=True, passed_paper=True,
                   timing=Timing(1.0, 2.0, 2.0, (1.9, 2.1), 40), launches=1),
        CaseResult("cos[n=2]", "cos", {"n": 2}, "hidden",
                   difference=Difference("return", math.inf, math.nan, (0, 1), "nan", 1.0, 3, 6)),
    ),
    hacks=(Hack("screen", "import", "imports os", 3),), compiled_for=("cuda:90",), layers=("screen",), notes=("a",), seed=7,
    clocks=Clocks("GPU-1", (1, 2, 3), (4, 5, 6), 70, 9, ("power cap",), 0.5), durations={"total": 1.0},
)  # fmt: skip


def test_a_verdict_survives_json_and_pickle():
    again = Verdict.from_json(FULL.to_json())
    assert again.to_json() == FULL.to_json()
    assert (again.stage, again.status, again.cases[0]) == (FULL.stage, FULL.status, FULL.cases[0])
    assert again.cases[1].difference.max_abs == math.inf and math.isnan(again.cases[1].difference.max_rel)
    assert pickle.loads(pickle.dumps(FULL)).to_json() == FULL.to_json()
    assert replace(again, durations={}, cases=()) == replace(FULL, durations={"other": 2.0}, cases=())


@pytest.mark.parametrize(
    "change", [{"unknown": 1}, {"stage": "nowhere"}, {"status": None}, {"cases": [{"case": "x"}]}, {"hacks": [3]}]
)
def test_what_is_no_verdict(change):
    with pytest.raises(ValueError):
        Verdict.from_dict({**FULL.to_dict(), **change})


def test_a_call_takes_its_device_where_it_is_unpacked():
    call = Call(((2, 3), torch.float16), {"device": torch.device("cpu"), "memory_format": torch.channels_last})
    data, blobs = pack(call)
    assert unpack(data, blobs)[0] == call
    assert unpack(data, blobs, "meta")[0] == Call(call.args, {**call.kwargs, "device": torch.device("meta")})


def test_a_call_carries_a_scalar_type():
    call = Call((ScalarType(4, 8),), {"kind": ScalarType(8)})
    assert unpack(*pack(call))[0] == call
    # As vLLM numbers uint4b8: mantissa from bit 8, bias from bit 17, NaN at bit 50.
    assert call.args[0].id == 4 * 2**8 + 8 * 2**17 + 2**50


@pytest.mark.parametrize(
    "wrong", [{"cache": "hot"}, {"method": "x"}, {"half_width": 0.0}, {"most": 0}, {"case_s": -1.0}]
)
def test_what_is_no_timer(wrong):
    with pytest.raises(ValueError, match="timer"):
        Timer(**wrong)


def test_a_job_survives_json():
    job = Job("aten/cos", bytes(range(256)), cases=("a", "b"), limits=Limits(call_s=3), timer=Timer(cache="warm"))
    assert Job.from_dict(job.to_dict()) == job


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def soon():
    return time.monotonic() + 5


def test_a_message_survives_the_wire(pair):
    ours, theirs = pair
    blobs = [b"", bytes(3 << 20), torch.arange(5).numpy()]
    writer = threading.Thread(target=wire.send, args=(ours, {"a": [1, None, "é"]}, blobs, soon()))
    writer.start()
    head, got = wire.receive(theirs, deadline=soon())
    writer.join()
    assert head == {"a": [1, None, "é"]}
    assert [bytes(b) for b in got] == [b"", bytes(3 << 20), torch.arange(5).numpy().tobytes()]


def raw(text=b"{}", magic=b"KGB1", size=None, total=0, blobs=b""):
    return struct.pack("<4sIQ", magic, len(text) if size is None else size, total) + text + blobs


BROKEN = {
    "magic": raw(magic=b"HTTP"), "too large a head": raw(size=2**32 - 1), "too many bytes": raw(total=2**60),
    "not JSON": raw(b"{"), "not UTF-8": raw(b"\xff\xfe"), "a list": raw(b"[]"), "a number": raw(b"3"), "no sizes": raw(b"{}"),
    "sizes are text": raw(b'{"_blobs": "3"}'), "size is a float": raw(b'{"_blobs": [1.0]}', total=1),
    "size is a bool": raw(b'{"_blobs": [true]}', total=1), "negative size": raw(b'{"_blobs": [-1, 1]}'),
    "sizes do not add up": raw(b'{"_blobs": [1]}', total=2), "deep": raw(b"[" * 200_000 + b"]" * 200_000),
    "endless integer": raw(b'{"_blobs": [' + b"9" * 10_000 + b"]}"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_message_is_refused(pair, name):
    ours, theirs = pair
    threading.Thread(target=ours.sendall, args=(BROKEN[name],), daemon=True).start()
    with pytest.raises(wire.WireError):
        wire.receive(theirs, max_blobs=1 << 20, deadline=soon())


def test_a_message_that_ends_early(pair):
    ours, theirs = pair
    ours.sendall(raw(b'{"_blobs": [10]}', total=10, blobs=b"12345"))
    ours.close()
    with pytest.raises(wire.Closed):
        wire.receive(theirs, deadline=soon())


@pytest.mark.parametrize("sent", [b"", b"KGB1", raw(b'{"_blobs": [10]}', total=10, blobs=b"12345")])
def test_a_message_that_does_not_come(pair, sent):
    ours, theirs = pair
    ours.sendall(sent)
    began = time.monotonic()
    with pytest.raises(wire.Late):
        wire.receive(theirs, deadline=began + 0.1)
    assert 0.05 < time.monotonic() - began < 2


def test_a_reader_that_does_not_read(pair):
    ours, _ = pair
    with pytest.raises(wire.Late):
        wire.send(ours, {}, [bytes(8 << 20)], time.monotonic() + 0.1)


def test_a_reader_that_is_gone(pair):
    ours, theirs = pair
    theirs.close()
    with pytest.raises(wire.Closed):
        wire.send(ours, {}, [bytes(1 << 20)], soon())


def test_not_a_number_is_never_sent(pair):
    with pytest.raises(ValueError):
        wire.send(pair[0], {"x": math.nan})


def test_seeds_depend_on_everything_that_they_are_derived_from():
    job = Job("aten/cos", b"x", seed=1)
    seeds = [derive(job, "a"), derive(job, "b"), derive(job, "a", "b"), derive(replace(job, seed=2), "a"),
             derive(replace(job, source=b"y"), "a"), derive(replace(job, operator="aten/add"), "a")]  # fmt: skip
    assert len(set(seeds)) == len(seeds) and all(0 <= s < 2**62 for s in seeds)
    assert derive(job, "a") == derive(replace(job, suite="paper"), "a")


def test_the_cases_of_a_job():
    operator = get("aten/cos")
    everything = operator.interfaces
    job = Job("aten/cos", b"x", suite="quick")
    cases = chosen_cases(job, operator, everything)
    quick = {c.id for c in operator.cases("quick")}
    assert {c.id for c in cases if c.origin != "hidden"} == quick
    assert sum(c.origin == "hidden" for c in cases) == len(everything)
    assert [c.id for c in cases] == [c.id for c in chosen_cases(job, operator, everything)]
    assert [c.id for c in cases] != [c.id for c in chosen_cases(replace(job, seed=1), operator, everything)]
    assert {c.id for c in chosen_cases(replace(job, kind="compile"), operator, everything)} == quick
    assert {c.interface for c in chosen_cases(job, operator, everything[:1])} == {everything[0].name}
    one = min(quick)
    chosen = chosen_cases(
        replace(job, kind="test", cases=(one, one.replace("[", "[[]"), "cos.out")), operator, everything
    )
    assert one in {c.id for c in chosen} and len(chosen) == len({c.id for c in chosen})
    with pytest.raises(ValueError, match="no case matches"):
        chosen_cases(replace(job, kind="test", cases=("nothing",)), operator, everything)


@pytest.mark.parametrize("n", [6, 7, 10, 20, 21, 50, 101, 400, 1000, 1500])
def test_the_interval_of_a_median_covers_it(n):
    rng = np.random.default_rng(n)
    rounds = 2000 if n < 200 else 400
    hits = 0
    for _ in range(rounds):
        low, high = interval_of_median(rng.exponential(size=n).tolist())
        hits += low <= math.log(2) <= high
    assert hits / rounds >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / rounds)


def test_the_interval_of_few_values_is_their_range():
    assert interval_of_median([3.0, 1.0, 2.0]) == (1.0, 3.0)
    assert interval_of_median([5.0]) == (5.0, 5.0)
    with pytest.raises(ValueError):
        interval_of_median([])


def test_the_interval_narrows():
    rng = np.random.default_rng(0)
    widths = [np.ptp(interval_of_median(rng.normal(size=n).tolist())) for n in (20, 200, 999, 2000)]
    assert widths == sorted(widths, reverse=True)


VIEW = View(0, torch.bfloat16, (4,), (1,), 0)


def test_a_variant_is_what_decides_the_code():
    launch = Launch("k", (1, 1, 1), {
        "x": VIEW, "flag": True, "n": 7, "big": 2**40, "huge": 2**63, "eps": 1.5, "none": None, "mode": "ieee", "B": 64,
        "f": Function("g"), "t": TritonType("fp32"), "shape": (1, 2),
    }, {"num_warps": 4, "num_stages": 2})  # fmt: skip
    made = variant(launch, {"B"})
    assert dict(made.types) == {
        "x": "*bf16", "flag": "i1", "n": "i32", "big": "i64", "huge": "u64", "eps": "fp32", "none": "constexpr",
        "mode": "constexpr", "B": "constexpr", "f": "constexpr", "t": "constexpr", "shape": "constexpr",
    }  # fmt: skip
    assert dict(made.constants)["B"] == 64 and made.options == (("num_stages", 2), ("num_warps", 4))
    assert encode_variant(made, "cuda:90")["target"] == "cuda:90"
    assert variant(replace(launch, arguments={**launch.arguments, "n": 8}), {"B"}) == made
    assert variant(replace(launch, arguments={**launch.arguments, "B": 32}), {"B"}) != made


def test_the_cheapest_of_each_kind_is_compiled_the_whole_way():
    def made(types, **constants):
        return Variant("k", (("x", types),), tuple(constants.items()), ())

    variants = [
        made("*fp32", B=128),
        made("*fp32", B=16),
        made("*fp16", B=64),
        made("*fp32", B=math.nan),
        made("*fp32", B=math.inf),
    ]
    plan = depth_plan(variants)
    assert set(plan) == set(variants)
    assert [v for v, whole in plan.items() if whole and v.types == (("x", "*fp16"),)] == [variants[2]]
    assert sum(plan.values()) == 2


def test_an_error_is_explained_in_few_words():
    told = explain(ValueError("too\n\n\nwide"), None, "/nowhere.py")
    assert told == {"line": None, "text": "ValueError: too\nwide"}
    assert len(explain(ValueError("#" * 10_000), None, "/nowhere.py")["text"]) < 2000
