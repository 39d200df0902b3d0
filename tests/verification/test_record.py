"""Records: honest ones survive the trip, hostile ones are refused with a rule, whatever they hold."""

from __future__ import annotations

import copy
import json
import math

import pytest
import torch

from kgb_gym.operators.policy import CONVERTED_INPUTS, RESHAPED_INPUTS, Policy
from kgb_gym.verification.record import (
    MAX_STEPS,
    BadRecord,
    Copy,
    Fill,
    Launch,
    Record,
    Resize,
    Storage,
    Tune,
    View,
    decode_value,
    encode,
    encode_value,
    parse,
)
from kgb_gym.verification.rules import check_policy, check_provenance, reached_by_launches

INPUT = View(0, torch.float32, (4, 4), (4, 1), 0)
MADE = View(1, torch.float32, (4, 4), (4, 1), 0)
LAUNCH = Launch(
    "k", (2, 1, 1), {"x": INPUT, "y": MADE, "n": 16, "eps": 1e-5, "BLOCK": 8, "t": (1, 2)}, {"num_warps": 4}, 7
)
RECORD = Record(
    (Storage(64, 0, torch.float32), Storage(64, None, torch.float32)),
    (Fill(MADE, 0.0), LAUNCH, Tune("k", "key", ((LAUNCH,), (Fill(MADE, 1.0), LAUNCH)))),
    (MADE,),
    (INPUT,),
)


def read(data, **more):
    return parse(data, **{"input_bytes": [64], "kernels": frozenset({"k"}), "max_bytes": 1 << 20, **more})


def data() -> dict:
    return copy.deepcopy(encode(RECORD))


def test_a_record_survives_json():
    assert read(json.loads(json.dumps(encode(RECORD)))) == RECORD


@pytest.mark.parametrize("value", [
    None, True, 3, -(2**63), 2**64 - 1, "ieee", 1.5, math.inf, -math.inf, 1 + 2j, torch.float16, INPUT, (1, (2, None)),
])  # fmt: skip
def test_a_value_survives_json(value):
    assert decode_value(json.loads(json.dumps(encode_value(value), allow_nan=False))) == value


def test_nan_survives_json():
    assert math.isnan(decode_value(json.loads(json.dumps(encode_value(math.nan), allow_nan=False))))


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"u": [value]}
    return value


VALUES = [
    {}, [], {"a": 1, "b": 2}, {"f": "1e400"}, {"f": 1}, {"c": [1]}, {"c": ["x", 1]}, {"c": [{"u": []}, 1]}, {"d": "object"},
    {"d": []}, {"t": None}, {"t": [0]}, {"fn": 3}, {"tl": None}, {"u": 3}, {"?": 1}, 2**64, -(2**63) - 1, 10**4000,
    nested(9), nested(900), nested(100_000),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_what_is_no_value(value):
    broken = data()
    broken["steps"][1]["arguments"]["n"] = value
    with pytest.raises(BadRecord):
        read(broken)


GEOMETRIES = {
    "not a list": 3,
    "too short": [0, "float32", [4], [1], 0],
    "unknown storage": [9, "float32", [4], [1], 0, 0],
    "negative storage": [-1, "float32", [4], [1], 0, 0],
    "storage is a bool": [True, "float32", [4], [1], 0, 0],
    "unknown dtype": [1, "float33", [4], [1], 0, 0],
    "dtype is a list": [1, [], [4], [1], 0, 0],
    "negative size": [1, "float32", [-4], [1], 0, 0],
    "negative stride": [1, "float32", [4], [-1], 3, 0],
    "negative offset": [1, "float32", [4], [1], -1, 0],
    "size is a float": [1, "float32", [4.0], [1], 0, 0],
    "size is text": [1, "float32", "4", "1", 0, 0],
    "ranks differ": [1, "float32", [4, 4], [1], 0, 0],
    "rank 65": [1, "float32", [1] * 65, [1] * 65, 0, 0],
    "one too long": [1, "float32", [17], [1], 0, 0],
    "offset too far": [1, "float32", [16], [1], 1, 0],
    "stride too wide": [1, "float32", [2], [16], 0, 0],
    "wider dtype": [1, "float64", [16], [1], 0, 0],
    "huge": [1, "float32", [2**61], [2**61], 0, 0],
    "beyond 64 bits": [1, "float32", [2**64], [1], 0, 0],
    "flags": [1, "float32", [4], [1], 0, 4],
    "flags are a bool": [1, "float32", [4], [1], 0, True],
}


@pytest.mark.parametrize("place", ["fill", "argument", "return", "after", "choice"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_geometry_is_checked_wherever_it_stands(name, place):
    broken, view = data(), GEOMETRIES[name]
    if place == "fill":
        broken["steps"][0]["dst"] = view
    elif place == "argument":
        broken["steps"][1]["arguments"]["y"] = {"u": [{"t": view}]}
    elif place == "return":
        broken["returns"] = [{"t": view}]
    elif place == "after":
        broken["arguments"] = [view]
    else:
        broken["steps"][2]["choices"][1][0]["dst"] = view
    with pytest.raises(BadRecord):
        read(broken)


def with_step(step):
    broken = data()
    broken["steps"] = [step]
    return broken


def launch(**more):
    return with_step({**encode(RECORD)["steps"][1], **more})


HOSTILE = {
    "nothing": None,
    "a list": [],
    "text": "record",
    "no fields": {},
    "fields of the wrong kind": {"storages": 1, "steps": [], "returns": [], "arguments": []},
    "steps are an object": {**encode(RECORD), "steps": {"a": 1}},
    "a step is text": with_step("fill"),
    "a step is null": with_step(None),
    "unknown step": with_step({"op": "exec", "code": "1"}),
    "too many steps": {**encode(RECORD), "steps": [encode(RECORD)["steps"][0]] * (MAX_STEPS + 1)},
    "too many storages": {**encode(RECORD), "storages": [[0, None, "uint8"]] * 5000},
    "huge allocation": {**encode(RECORD), "storages": [[64, 0, "float32"], [1 << 40, None, "uint8"]]},
    "many allocations": {**encode(RECORD), "storages": [[64, 0, "float32"]] + [[1 << 19, None, "uint8"]] * 3},
    "storage of an unknown input": {**encode(RECORD), "storages": [[64, 1, "float32"], [64, None, "float32"]]},
    "storage of a negative input": {**encode(RECORD), "storages": [[64, -1, "float32"], [64, None, "float32"]]},
    "storage with a larger input": {**encode(RECORD), "storages": [[640, 0, "float32"], [64, None, "float32"]],
                                    "arguments": [[0, "float32", [17], [1], 0, 0]]},
    "fill with text": with_step({"op": "fill", "dst": MADE.encode(), "value": "0"}),
    "fill with a tensor": with_step({"op": "fill", "dst": MADE.encode(), "value": {"t": INPUT.encode()}}),
    "fill over itself": with_step({"op": "fill", "dst": [1, "float32", [1 << 30, 1 << 30], [0, 0], 0, 0], "value": 0}),
    "copy over itself": with_step({"op": "copy", "dst": [1, "float32", [17], [0], 0, 0],
                                   "src": [0, "float32", [17], [0], 0, 0]}),
    "copy of another shape": with_step({"op": "copy", "dst": MADE.encode(), "src": [0, "float32", [2], [1], 0, 0]}),
    "returns more than there is": {**encode(RECORD), "returns": [{"t": [1, "float32", [1 << 20], [0], 0, 0]}]},
    "draw of a float": with_step({"op": "draw", "dst": [1, "float32", [1], [1], 0, 0], "low": 0, "high": 2, "given": True}),
    "draw of many": with_step({"op": "draw", "dst": [1, "int32", [4], [1], 0, 0], "low": 0, "high": 2, "given": True}),
    "draw upside down": with_step({"op": "draw", "dst": [1, "int32", [1], [1], 0, 0], "low": 2, "high": 2, "given": True}),
    "draw without bounds": with_step({"op": "draw", "dst": [1, "int32", [1], [1], 0, 0], "low": None, "high": 2, "given": 1}),
    "resize to a lot": with_step({"op": "resize", "storage": 1, "nbytes": 1 << 40}),
    "resize of nothing": with_step({"op": "resize", "storage": 7, "nbytes": 1}),
    "resizes": {**encode(RECORD), "steps": [{"op": "resize", "storage": 1, "nbytes": 1 << 20}] * 2},
    "foreign kernel": launch(function="other"),
    "kernel is a list": launch(function=["k"]),
    "foreign helper": launch(arguments={"f": {"fn": "other"}}),
    "foreign helper in a tuple": launch(arguments={"f": {"u": [{"fn": "other"}]}}),
    "arguments are a list": launch(arguments=[1, 2]),
    "options are a list": launch(options=[1]),
    "unknown option": launch(options={"extern_libs": 1}),
    "option is text": launch(options={"num_warps": "4"}),
    "option is a tensor": launch(options={"num_warps": {"t": INPUT.encode()}}),
    "empty grid": launch(grid=[]),
    "grid of four": launch(grid=[1, 1, 1, 1]),
    "negative grid": launch(grid=[-1]),
    "grid of a float": launch(grid=[1.5]),
    "grid too large": launch(grid=[2**31]),
    "grid is a number": launch(grid=3),
    "tune without choices": with_step({"op": "tune", "function": "k", "key": "", "choices": []}),
    "tune with an empty choice": with_step({"op": "tune", "function": "k", "key": "", "choices": [[]]}),
    "tune that launches nothing": with_step({"op": "tune", "function": "k", "key": "", "choices": [[encode(RECORD)["steps"][0]]]}),
    "tune in a tune": with_step({"op": "tune", "function": "k", "key": "", "choices": [[encode(RECORD)["steps"][2]]]}),
    "tune with a resize": with_step({"op": "tune", "function": "k", "key": "", "choices": [
        [{"op": "resize", "storage": 1, "nbytes": 1 << 19}, encode(RECORD)["steps"][1]]]}),
    "tune with 300 choices": with_step({"op": "tune", "function": "k", "key": "", "choices": [[encode(RECORD)["steps"][1]]] * 300}),
    "tune with a long choice": with_step({"op": "tune", "function": "k", "key": "", "choices": [[encode(RECORD)["steps"][1]] * 65]}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_record_is_refused(name):
    with pytest.raises(BadRecord) as caught:
        read(HOSTILE[name])
    assert caught.value.rule and len(str(caught.value)) < 400


def test_fills_of_a_lot_of_memory_are_refused():
    storage, fill = Storage(1 << 20, None, torch.uint8), Fill(View(0, torch.uint8, (1 << 20,), (1,), 0), 0)
    assert read(encode(Record((storage,), (fill,) * 16, (), ())), input_bytes=[])
    with pytest.raises(BadRecord, match="fills and copies write"):
        read(encode(Record((storage,), (fill,) * 17, (), ())), input_bytes=[])


def test_an_empty_tensor_and_a_full_one_are_in_bounds():
    empty = View(1, torch.float32, (0, 4), (4, 1), 0)
    assert read(encode(Record(RECORD.storages, (Fill(empty, 1),), (empty, MADE), (INPUT,)))).returns[0] == empty


def test_a_resized_storage_takes_what_follows():
    large = View(0, torch.float32, (20,), (1,), 0)
    assert read(encode(Record(RECORD.storages, (Resize(0, 80), Fill(large, 1.0)), (), (large,))))
    with pytest.raises(BadRecord):
        read(encode(Record(RECORD.storages, (Fill(large, 1.0), Resize(0, 80)), (), (large,))))


def test_choosing_takes_one_of_the_choices():
    assert [type(s).__name__ for s in RECORD.chosen({})] == ["Fill", "Launch", "Launch"]
    assert [type(s).__name__ for s in RECORD.chosen({("k", "key"): 1})] == ["Fill", "Launch", "Fill", "Launch"]
    assert len(list(RECORD.launches())) == 3


@pytest.mark.parametrize(("verb", "step"), [("fill", Fill(MADE, 0.0)), ("copy", Copy(MADE, INPUT))])
def test_policy_of_verbs(verb, step):
    record = Record(RECORD.storages, (step,), (MADE,), (INPUT,))
    check_policy(record, Policy())
    tuned = Record(RECORD.storages, (Tune("k", "", ((step, LAUNCH),)),), (MADE,), (INPUT,))
    for each in (record, tuned):
        with pytest.raises(BadRecord) as caught:
            check_policy(each, Policy(allow=frozenset({"alloc", "view"})))
        assert caught.value.rule == f"not-allowed-{verb}"


@pytest.mark.parametrize(("source", "target", "lossy"), [
    ("float32", "int32", True), ("float32", "bool", True), ("int32", "bool", True), ("complex64", "float32", True),
    ("float32", "float8_e4m3fn", True), ("float32", "float16", False), ("int32", "float32", False), ("float32", "complex64", False), ("bool", "bool", False),
])  # fmt: skip
def test_policy_of_conversions(source, target, lossy):
    src, dst = (View(i, getattr(torch, n), (2,), (1,), 0) for i, n in enumerate((source, target)))
    record = Record((Storage(64, 0), Storage(64)), (Copy(dst, src),), (), ())
    check_policy(record, Policy())
    if lossy:
        with pytest.raises(BadRecord, match="computes"):
            check_policy(record, Policy(lossy_copy=False))
    else:
        check_policy(record, Policy(lossy_copy=False))


def test_provenance():
    third = View(2, torch.float32, (4, 4), (4, 1), 0)
    storages = (*RECORD.storages, Storage(64, None, torch.float32))
    for steps in (
        (Copy(third, INPUT),),
        (Fill(MADE, 1.0), Copy(third, MADE)),
        (LAUNCH, Copy(third, MADE)),
        (Copy(MADE, INPUT), Copy(third, MADE)),
    ):
        check_provenance(Record(storages, steps, (third,), ()))
    for steps in ((Copy(third, MADE),), (Copy(third, MADE), LAUNCH)):
        with pytest.raises(BadRecord, match="nothing has written"):
            check_provenance(Record(storages, steps, (third,), ()))
    assert reached_by_launches(Record(storages, (LAUNCH, Copy(third, MADE)), (), ())) == {0, 1, 2}
    assert reached_by_launches(Record(storages, (Copy(third, MADE), LAUNCH), (), ())) == {0, 1}


def moved(src, dst, returned, nbytes=64):
    """A record of one copy out of a 4 x 4 input of floats."""
    storages = (Storage(64, 0, torch.float32), Storage(nbytes), Storage(64))
    return Record(storages, (Copy(dst, src),), (returned,), (INPUT,))


TWO = (Storage(64, 0, torch.float32), Storage(64), Storage(64))
TURNED = View(0, torch.float32, (4, 4), (1, 4), 0)
FLAT = View(1, torch.float32, (16,), (1,), 0)
ROW, FIRST_ROW = View(1, torch.float32, (4,), (1,), 0), View(0, torch.float32, (4,), (1,), 0)
ELSEWHERE = View(2, torch.float32, (4, 4), (4, 1), 0)


def test_what_is_a_copy_and_what_is_placed():
    """The judge's own word for a copy follows from the record: only what fills fresh memory is a conversion."""
    fresh, placed = Policy(allow=frozenset({"alloc", "copy"})), Policy(allow=frozenset({"alloc", "place"}))
    whole, part = moved(INPUT, MADE, MADE), moved(FIRST_ROW, ROW, ROW)
    twice = Record(whole.storages, whole.steps * 2, (MADE,), (INPUT,))
    onto = Record(whole.storages, (Copy(INPUT, MADE),), (), (INPUT,))
    check_policy(whole, fresh)
    for record in (part, twice, onto):
        with pytest.raises(BadRecord) as caught:
            check_policy(record, fresh)
        assert caught.value.rule == "not-allowed-place"
    with pytest.raises(BadRecord) as caught:
        check_policy(whole, placed)
    assert caught.value.rule == "not-allowed-copy"


def test_an_input_is_copied_whole_and_only_to_be_read():
    check_policy(moved(INPUT, MADE, ELSEWHERE), CONVERTED_INPUTS)
    check_policy(moved(TURNED, MADE, ELSEWHERE), CONVERTED_INPUTS)
    check_policy(moved(View(0, torch.float32, (2, 2, 4), (8, 4, 1), 0), FLAT, ELSEWHERE), CONVERTED_INPUTS)
    half = View(1, torch.float16, (4, 4), (4, 1), 0)
    check_policy(moved(INPUT, half, ELSEWHERE, 32), CONVERTED_INPUTS)
    repeated = View(0, torch.float32, (2, 4, 4), (0, 4, 1), 0)
    twice = View(1, torch.float32, (2, 4, 4), (16, 4, 1), 0)
    windows = View(0, torch.float32, (13, 4), (1, 1), 0)
    of_windows = View(1, torch.float32, (13, 4), (4, 1), 0)
    for record, rule in (
        (moved(FIRST_ROW, ROW, ELSEWHERE, 16), "part-copied"),
        (moved(repeated, twice, ELSEWHERE, 128), "part-copied"),
        (moved(windows, of_windows, ELSEWHERE, 208), "part-copied"),
        (moved(INPUT, MADE, MADE), "copy-returned"),
        (Record(TWO, (Copy(MADE, INPUT), Copy(ELSEWHERE, MADE)), (ELSEWHERE,), (INPUT,)), "copy-returned"),
        (Record(TWO, (Copy(MADE, INPUT), Fill(ELSEWHERE, 0), Copy(ELSEWHERE, MADE)), (), (INPUT,)), "input-placed"),
        (Record(TWO, (Copy(INPUT, INPUT),), (), (INPUT,)), "input-placed"),
        (Record(TWO, (Fill(ROW, 0), Copy(FIRST_ROW, ROW)), (), (INPUT,)), "part-copied"),
    ):
        with pytest.raises(BadRecord) as caught:
            check_policy(record, CONVERTED_INPUTS)
        assert caught.value.rule == rule


def test_what_kernels_wrote_may_be_placed_whole():
    launch = Launch("k", (1, 1, 1), {"x": MADE}, {}, None)
    check_policy(Record(TWO, (launch, Copy(INPUT, MADE)), (), (INPUT,)), CONVERTED_INPUTS)
    check_policy(Record(TWO, (launch, Copy(TURNED, MADE)), (), (INPUT,)), RESHAPED_INPUTS)
    half = View(1, torch.float16, (4, 4), (4, 1), 0)
    made = Record(
        (TWO[0], Storage(32), TWO[2]), (Launch("k", (1, 1, 1), {"x": half}, {}, None), Copy(INPUT, half)), (), (INPUT,)
    )
    check_policy(made, CONVERTED_INPUTS)
    with pytest.raises(BadRecord) as caught:
        check_policy(made, RESHAPED_INPUTS)
    assert caught.value.rule == "not-allowed-copy"


def test_reshaping_alone_converts_nothing():
    check_policy(moved(TURNED, MADE, ELSEWHERE), RESHAPED_INPUTS)
    half = View(1, torch.float16, (4, 4), (4, 1), 0)
    with pytest.raises(BadRecord) as caught:
        check_policy(moved(INPUT, half, ELSEWHERE, 32), RESHAPED_INPUTS)
    assert caught.value.rule == "not-allowed-copy"
