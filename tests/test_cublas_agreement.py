"""The comparison of oracles and libcublas, with stand-ins for the library."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import cublas_agreement
from kgb_gym.operators import Close, Exact, Target, get
from kgb_gym.operators.cublas import library
from kgb_gym.operators.oracle import parameters


def standing_in(name: str, spoil: Callable[[str, torch.Tensor], None] | None = None) -> Callable[[str], Any]:
    """A library whose routine does what the oracle says, and then spoils it."""
    operator = get(name)
    interface = operator.interfaces[0]
    order = parameters(operator, interface)

    def call(*args: Any) -> None:
        given = dict(zip(order, args, strict=True))
        assert interface.oracle is not None
        for key, answer in interface.oracle(**given).items():
            pairs = zip(given[key], answer, strict=True) if isinstance(answer, list) else [(given[key], answer)]
            for target, value in pairs:
                target.copy_(value.to(target.dtype))
        for key, value in given.items():
            for tensor in value if isinstance(value, list) else [value]:
                if spoil and isinstance(tensor, torch.Tensor) and tensor.numel():
                    spoil(key, tensor)

    return lambda wanted: call if wanted == interface.name else None


@pytest.mark.parametrize(
    "name", ["cublas/Ccopy_v2", "cublas/Sdot_v2", "cublas/DgemmBatched", "cublas/Sgeam", "cublas/Strsv_v2", "cublas/Zswap_v2"]
)  # fmt: skip
def test_what_agrees(name: str) -> None:
    found = cublas_agreement.compare(get(name), standing_in(name), "smoke", 0, "cpu")
    assert (found.cases, found.agree, found.paper, found.problems) == (2, 2, 2, ())
    assert found.routine == f"cublas{name.partition('/')[2]}" and found.worst <= 1 / 256
    assert " agree " in found.line and "DISAGREE" not in found.line


def test_a_wrong_value_a_wrong_write_and_a_wrong_input() -> None:
    operator = get("cublas/Sgemm_v2")

    def scaled(key: str, tensor: torch.Tensor) -> None:
        if key == "C":
            tensor[:1] *= 1.5

    def behind(key: str, tensor: torch.Tensor) -> None:
        if key == "C":
            tensor[-1] += 1

    def scribble(key: str, tensor: torch.Tensor) -> None:
        if key == "A":
            tensor[0] += 1

    for spoil, text in (
        (scaled, "mismatches=1"),
        (behind, "mismatches=1"),
        (scribble, "A changed, which may only be read"),
    ):
        found = cublas_agreement.compare(operator, standing_in(operator.id, spoil), "smoke", 0, "cpu")
        assert found.agree == 0 and found.worst > 1
        assert len(found.problems) == 2 and text in found.problems[0]
        assert "DISAGREE" in found.line


def test_an_error_and_a_missing_routine_are_said() -> None:
    operator = get("cublas/Sgemm_v2")

    def failing(*args: Any) -> None:
        raise library.CublasError("cublasSgemm_v2", 7)

    found = cublas_agreement.compare(operator, lambda name: failing, "smoke", 0, "cpu")
    assert found.agree == 0 and found.problems[0].endswith("CUBLAS_STATUS_INVALID_VALUE")
    found = cublas_agreement.compare(operator, lambda name: None, "smoke", 0, "cpu")
    assert found.worst == float("inf") and "no such routine" in found.problems[0]


def test_the_margin_is_a_power_of_four() -> None:
    exact = torch.ones(3, dtype=torch.float64)
    target = Target("C", exact.float(), exact)
    judge = Close(slack=8.0)
    allowed = 8 * 2.0**-24 * 4 + 1.01 * 2.0**-24

    def margin(share: float) -> float:
        got = (exact * (1 + share * allowed)).float()
        return cublas_agreement.used(judge, target, got, {}, judge.check(target, got, {}).strict)

    assert [margin(s) for s in (0.0, 0.1, 0.9, 3.0, 1e9)] == [0.0, 0.25, 1.0, 4.0, float("inf")]
    assert cublas_agreement.used(Exact(), target, exact.float(), {}, True) == 0.0
    assert cublas_agreement.used(Exact(), target, exact.float(), {}, False) == float("inf")


def test_memory_that_is_shared_stays_shared() -> None:
    operator = get("cublas/Sgeam")
    interface = operator.interfaces[0]
    case = next(c for c in interface.cases("quick") if c.params.get("place") == "A" and c.params["transa"] == 0)
    from kgb_gym.operators import Maker

    call = interface.call(Maker(0), case.params)
    moved, back = cublas_agreement._moved(call, "cpu")
    a, c = moved.args[5], moved.args[10]
    assert a is c and a is not call.args[5] and torch.equal(a.nan_to_num(), call.args[5].nan_to_num())
    a.fill_(7.0)
    assert bool((back().args[10] == 7).all()) and not bool((call.args[10] == 7).all())


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    library.load.cache_clear()
    assert cublas_agreement.main(["Sdot_v2"]) == 2
    assert "no CUDA device" in capsys.readouterr().err

    class Found:
        label = "libcublas.so.13 13.1.0"
        routine = staticmethod(standing_in("cublas/Sdot_v2"))

    one = cublas_agreement.compare
    monkeypatch.setattr(library, "load", lambda: Found())
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setattr(cublas_agreement, "compare", lambda o, r, suite, seed, device: one(o, r, suite, seed, "cpu"))
    file = tmp_path / "found.json"
    assert cublas_agreement.main(["Sdot_v2", "--suite", "smoke", "--json", str(file)]) == 0
    assert "1 of 1 routines agree on all of 2 cases" in capsys.readouterr().out
    told = json.loads(file.read_text())
    row = told["cublas/Sdot_v2"]
    assert (row["library"], row["suite"], row["routine"], row["agree"]) == (Found.label, "smoke", "cublasSdot_v2", 2)
    assert cublas_agreement.main(["S*ot_v2", "cublas/Dasum_v2", "--suite", "smoke"]) == 1
