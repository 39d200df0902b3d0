"""One conformance suite over every operator, whatever its source."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from benchmarks import refused
from kgb_gym import operators
from kgb_gym.operators import SUITES, Call, Interface, Maker, Operator, Seeded, expected
from kgb_gym.operators.compare import same_bits_or_nan
from kgb_gym.operators.maker import ScalarType
from kgb_gym.operators.oracle import parameters, written_names

NAMES = operators.names()
BEARABLE = 40
"""Cases of an operator that the interpreter bears in `quick` (about 15 ms for every program of every case)."""


@pytest.fixture(params=NAMES)
def operator(request: pytest.FixtureRequest) -> Operator:
    return operators.get(request.param)


def values(call: Call) -> list[Any]:
    """The call's arguments with every tensor as its geometry and values."""
    leaves: list[Any] = [
        a for a in (*call.args, *call.kwargs.values()) if not isinstance(a, (torch.Tensor, list, tuple))
    ]
    return [*leaves, *((t.dtype, t.shape, t.stride(), t.storage_offset()) for t in call.tensors())]


def same(first: Call, second: Call) -> bool:
    tensors = zip(first.tensors(), second.tensors(), strict=True)
    return repr(values(first)) == repr(values(second)) and all(bool(same_bits_or_nan(a, b).all()) for a, b in tensors)


def test_names_are_unique_and_spelt_in_every_way(operator: Operator) -> None:
    assert operators.get(operator.env_id) is operator
    assert operators.get(f"{operator.source}::{operator.name}") is operator
    assert len({i.function for i in operator.interfaces}) == len(operator.interfaces)


def test_is_described(operator: Operator) -> None:
    assert operator.description
    assert operator.description.endswith(".")
    assert operator.family
    assert all(reason for _, reason in operator.left_out)
    assert {name for name, _ in operator.left_out}.isdisjoint(i.name for i in operator.interfaces)


def test_every_dispatcher_overload_is_an_interface_or_left_out(operator: Operator) -> None:
    if operator.source != "aten":
        pytest.skip("only ATen has overloads")
    packet = getattr(torch.ops.aten, operator.name)
    overloads = {operator.name if o == "default" else f"{operator.name}.{o}" for o in packet.overloads()}
    dispatched = {o for o in overloads if _in_dispatcher(o)}
    assert dispatched <= {i.name for i in operator.interfaces} | {name for name, _ in operator.left_out}


@pytest.mark.parametrize("suite", SUITES)
def test_cases_are_unique_and_plain(operator: Operator, suite: str) -> None:
    cases = operator.cases(suite)
    assert len({c.id for c in cases}) == len(cases)
    for case in cases:
        assert json.loads(json.dumps(dict(case.params), allow_nan=False)) == case.params
        assert case.origin in ("paper", "extra") or (suite == "wide" and case.origin == "beyond")
        assert not case.timed or suite == "paper"
    for interface in operator.interfaces:
        assert list(interface.cases(suite)), f"{interface.name} has no case in {suite}"


def test_suites_are_of_their_sizes(operator: Operator) -> None:
    assert len(operator.cases("quick")) <= BEARABLE
    assert all(len(list(i.cases("smoke"))) <= 2 for i in operator.interfaces)
    paper = operator.counts("paper")
    assert 0 < paper["k_timed"] <= paper["k"]


def test_every_case_of_small_suites_has_one_call_and_an_answer(operator: Operator) -> None:
    for suite in ("wide", "smoke"):
        for case in operator.cases(suite):
            interface = operator.interface(case.interface)
            call, again = (interface.call(Maker(3), case.params) for _ in range(2))
            assert same(call, again), case.id
            before = call.clone()
            answer = expected(operator, interface, call)
            assert same(call, before), f"{case.id}: the oracle changed the call"
            assert answer.raises or answer.returns or answer.written, case.id
            assert not answer.raises or case.origin == "beyond", f"{case.id} is refused: {answer.raises}"
            _check_targets(operator, interface, call, case.id)


def test_the_answer_passes_its_own_gates(operator: Operator) -> None:
    for case in operator.cases("wide"):
        interface = operator.interface(case.interface)
        call = interface.call(Maker(5), case.params)
        answer = expected(operator, interface, call)
        arguments = operators.oracle.bind(operator, interface, call)
        judge = interface.compare or operator.compare
        for target in (*answer.written.values(), *(t for t in answer.returns if isinstance(t, operators.Target))):
            check = judge.check(target, target.reference, arguments)
            assert check.strict, (case.id, check)
            assert check.paper, (case.id, check)


def test_hidden_cases_build_and_have_an_answer(operator: Operator) -> None:
    for interface in operator.interfaces:
        known = {c.id for c in interface.cases("quick")}
        fresh = 0
        for seed in range(20):
            case = interface.hidden(seed, "quick")
            assert case.origin == "hidden"
            assert case == interface.hidden(seed, "quick")
            assert json.loads(json.dumps(dict(case.params), allow_nan=False)) == case.params
            answer = expected(operator, interface, interface.call(Maker(seed), case.params))
            assert not answer.raises, f"{case.id} is refused: {answer.raises}"
            assert answer.returns or answer.written, case.id
            fresh += case.id.removesuffix("#hidden") not in known
        assert fresh >= 10, f"{interface.name}: hidden cases repeat the grid"


def test_gold_defines_every_interface(operator: Operator) -> None:
    scope = compile(operators.gold_source(operator.id), f"gold/{operator.name}.py", "exec").co_names
    assert {i.function for i in operator.interfaces} <= set(scope)


def test_wide_is_quick_and_what_is_beyond_it(operator: Operator) -> None:
    wide, quick = operator.cases("wide"), operator.cases("quick")
    assert [c for c in wide if c.origin != "beyond"] == list(quick)
    assert operator.counts("wide")["k_beyond"] == len(wide) - len(quick)
    assert not any(operator.counts(suite)["k_beyond"] for suite in ("paper", "quick", "smoke"))


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("aten/")])
def test_no_case_of_paper_is_refused(name: str) -> None:
    """Of the small ones that `quick` has not. All, of all sources: `python -m benchmarks.refused`."""
    operator = operators.get(name)
    known = {c.id for c in operator.cases("quick")}
    for case in refused.cases(operator, "paper", most=1000):
        assert case.id in known or not refused.raises(operator, case), case.id


def test_numbers_that_may_be_read_follow_from_the_case(operator: Operator) -> None:
    for interface in (i for i in operator.interfaces if i.reads):
        for case in interface.cases("wide"):
            calls = [interface.call(Maker(seed, tiled=seed == 3), case.params) for seed in (1, 2, 3)]
            first, *rest = ([operators.oracle.bind(operator, interface, c)[n] for n in interface.reads] for c in calls)
            assert all(torch.equal(a, b) for others in rest for a, b in zip(first, others, strict=True)) or any(
                t.isnan().any() for t in first
            ), case.id


def test_softmax_has_the_papers_count() -> None:
    assert operators.get("aten/softmax").counts("paper")["k"] == 18


def _check_targets(operator: Operator, interface: Interface, call: Call, case: str) -> None:
    names = parameters(operator, interface)
    assert len(call.args) <= len(names), case
    assert set(call.kwargs) <= set(names), case
    assert set(written_names(operator, interface)) <= set(names), case
    assert all(isinstance(a, (torch.Tensor, Seeded, ScalarType, bool, int, float, str, list, tuple, type(None), torch.dtype, complex,
                              torch.device, torch.memory_format))
               for a in (*call.args, *call.kwargs.values())), case  # fmt: skip


def _in_dispatcher(name: str) -> bool:
    packet, _, overload = name.partition(".")
    return torch._C._dispatch_has_kernel(f"aten::{packet}" + (f".{overload}" if overload else ""))
