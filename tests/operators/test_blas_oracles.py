"""The cuBLAS oracles against small examples worked out by hand or element by element, and what the gates reject."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
import torch

from kgb_gym.operators import Call, Maker, Operator, expected, get
from kgb_gym.operators.cublas.families import axpy, buffers, gemm
from kgb_gym.operators.oracle import bind

NAMES = ("cublas/Sgemm_v2", "cublas/Saxpy_v2", "cublas/CgemmStridedBatched")
NAN = float("nan")


def answer(operator: Operator, call: Call) -> tuple[torch.Tensor, torch.Tensor]:
    """The precise answer and the mask of the one written argument."""
    target = next(iter(expected(operator, operator.interfaces[0], call).written.values()))
    assert target.precise is not None and target.touched is not None
    return target.precise, target.touched


def gemm_by_elements(arguments: dict[str, Any]) -> np.ndarray[Any, Any]:
    """C after the call by the definition, one element after the other, straight from the flat buffers."""
    kind = np.complex128 if arguments["C"].is_complex() else np.float64
    a, b, c = (arguments[x].numpy().astype(kind) for x in "ABC")
    out: np.ndarray[Any, Any] = c.copy()
    single = np.complex64 if kind is np.complex128 else np.float32
    alpha, beta = kind(single(arguments["alpha"])), kind(single(arguments["beta"]))

    def element(x: np.ndarray[Any, Any], op: str, i: int, j: int, ld: int, base: int) -> Any:
        value = x[base + (i + j * ld if op == "N" else j + i * ld)]
        return value.conjugate() if op == "C" else value

    for item in range(arguments.get("batchCount", 1)):
        base = {x: item * arguments.get(f"stride{x}", 0) for x in "ABC"}
        for i, j in itertools.product(range(arguments["m"]), range(arguments["n"])):
            at = base["C"] + i + j * arguments["ldc"]
            total = kind(0)
            if alpha != 0:
                for p in range(arguments["k"]):
                    left = element(a, arguments["transa"], i, p, arguments["lda"], base["A"])
                    total += left * element(b, arguments["transb"], p, j, arguments["ldb"], base["B"])
            out[at] = alpha * total + (beta * c[at] if beta != 0 else 0)
    return out


def test_gemm_by_hand() -> None:
    operator = get("cublas/Sgemm_v2")
    # A = [[1, 2], [3, 4]] with ld 3, B = [[5], [6]], C = [[10], [20]] with ld 3: padding and tails stay.
    a = torch.tensor([1.0, 3.0, NAN, 2.0, 4.0, NAN])
    b = torch.tensor([5.0, 6.0, NAN])
    c = torch.tensor([10.0, 20.0, 7.0, 8.0])
    precise, touched = answer(operator, Call(("N", "N", 2, 1, 2, 2.0, a, 3, b, 2, 0.5, c, 3)))
    assert precise.tolist() == [2 * 17 + 5, 2 * 39 + 10, 7, 8]
    assert touched.tolist() == [True, True, False, False]
    precise, _ = answer(operator, Call(("C", "N", 2, 1, 2, 2.0, a, 3, b, 2, 0.5, c, 3)))
    assert precise.tolist() == [2 * 23 + 5, 2 * 34 + 10, 7, 8]


def test_complex_gemm_by_hand() -> None:
    operator = get("cublas/CgemmStridedBatched")
    a = torch.tensor([1 + 2j, 9, 3 - 1j], dtype=torch.complex64)
    b = torch.tensor([2 - 1j], dtype=torch.complex64)
    c = torch.tensor([1j, 5, 5, 1], dtype=torch.complex64)
    call = Call(("C", "T", 1, 1, 1, 1j, a, 1, 2, b, 1, 0, 2 + 0j, c, 1, 3, 2))
    precise, touched = answer(operator, call)
    # 1j * conj(1+2j) * (2-1j) + 2 * 1j and 1j * conj(3-1j) * (2-1j) + 2 * 1
    assert precise.tolist() == [1j * (1 - 2j) * (2 - 1j) + 2j, 5, 5, 1j * (3 + 1j) * (2 - 1j) + 2]
    assert touched.tolist() == [True, False, False, True]


def test_axpy_by_hand() -> None:
    operator = get("cublas/Saxpy_v2")
    x, y = torch.tensor([1.0, NAN, 2.0, NAN, 3.0]), torch.tensor([10.0, 20.0, 30.0, 40.0])
    precise, touched = answer(operator, Call((3, 2.0, x, 2, y, 1)))
    assert precise.tolist() == [12, 24, 36, 40] and touched.tolist() == [True, True, True, False]
    precise, _ = answer(operator, Call((3, 2.0, x, -2, y, 1)))
    assert precise.tolist() == [16, 24, 32, 40]
    precise, touched = answer(operator, Call((2, 2.0, x, 2, y, -3)))
    assert precise.tolist() == [14, 20, 30, 42] and touched.tolist() == [True, False, False, True]


@pytest.mark.parametrize("n", [0, -1])
def test_axpy_of_nothing(n: int) -> None:
    x, y = torch.full((3,), NAN), torch.tensor([1.0, 2.0, 3.0])
    precise, touched = answer(get("cublas/Saxpy_v2"), Call((n, 2.0, x, 1, y, 1)))
    assert precise.tolist() == [1, 2, 3] and not touched.any()


def test_axpy_does_not_read_x_where_alpha_is_zero() -> None:
    precise, _ = answer(get("cublas/Saxpy_v2"), Call((2, 0.0, torch.full((2,), NAN), 1, torch.tensor([1.0, 2.0]), 1)))
    assert precise.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("alpha", "beta", "a", "c", "want"),
    [
        (1.0, 0.0, 3.0, NAN, 6.0),  # beta = 0: C is not read
        (0.0, 0.5, NAN, 4.0, 2.0),  # alpha = 0: A is not read
        (0.0, 0.0, NAN, NAN, 0.0),
        (1.0, 1.0, 3.0, NAN, NAN),  # NaN comes through
    ],
)
def test_gemm_scalars(alpha: float, beta: float, a: float, c: float, want: float) -> None:
    tensors = [torch.tensor([v]) for v in (a, 2.0, c)]
    call = Call(("N", "N", 1, 1, 1, alpha, tensors[0], 1, tensors[1], 1, beta, tensors[2], 1))
    precise, _ = answer(get("cublas/Sgemm_v2"), call)
    assert precise.item() == want or (math.isnan(want) and precise.isnan().all())


@pytest.mark.parametrize("size", [(0, 2, 2), (2, 0, 2)])
def test_gemm_of_nothing(size: tuple[int, int, int]) -> None:
    c = torch.arange(6.0)
    precise, touched = answer(
        get("cublas/Sgemm_v2"), Call(("N", "N", *size, 1.0, torch.ones(4), 2, torch.ones(4), 2, 0.0, c, 2))
    )
    assert torch.equal(precise, c.double()) and not touched.any()


def test_gemm_over_no_terms_scales() -> None:
    c = torch.tensor([2.0, 4.0, 6.0])
    call = Call(("N", "N", 2, 1, 0, 1.0, torch.empty(0), 2, torch.empty(0), 1, 0.5, c, 2))
    assert answer(get("cublas/Sgemm_v2"), call)[0].tolist() == [1, 2, 6]


@pytest.mark.parametrize("name", ["cublas/Sgemm_v2", "cublas/CgemmStridedBatched"])
def test_gemm_element_by_element(name: str) -> None:
    operator = get(name)
    interface = operator.interfaces[0]
    small = [c for c in interface.cases("quick") if c.params["m"] * c.params["n"] * c.params["k"] < 4000]
    assert len(small) > 10
    for case in small:
        call = interface.call(Maker(3), case.params)
        arguments = bind(operator, interface, call)
        precise, touched = answer(operator, call)
        np.testing.assert_allclose(precise.numpy(), gemm_by_elements(arguments), rtol=1e-12, atol=1e-12)
        assert torch.equal(precise[~touched], arguments["C"].to(precise.dtype)[~touched])


def test_magnitudes_bound_the_answer() -> None:
    operator = get("cublas/CgemmStridedBatched")
    interface = operator.interfaces[0]
    for case in list(interface.cases("quick"))[:8]:
        call = interface.call(Maker(4), case.params)
        precise, touched = answer(operator, call)
        bound = gemm.scale(bind(operator, interface, call))
        assert bound.dtype is torch.float64 and bound.shape == precise.shape
        assert bool((precise.abs() <= bound * (1 + 1e-12))[touched].all())
        assert not bound[~touched].any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suite", ["quick", "smoke"])
def test_inputs_guard_what_must_not_be_read(name: str, suite: str) -> None:
    operator = get(name)
    interface = operator.interfaces[0]
    for case in interface.cases(suite):
        call = interface.call(Maker(5), case.params)
        arguments = bind(operator, interface, call)
        for key, value in arguments.items():
            if isinstance(value, torch.Tensor):
                assert value.dim() == 1 and value.is_contiguous()
                assert key in interface.writes or bool(value[-buffers.TAIL :].isnan().all())


@pytest.mark.parametrize("name", NAMES)
def test_a_right_answer_passes_and_wrong_ones_fail(name: str) -> None:
    operator = get(name)
    interface = operator.interfaces[0]
    failed: set[str] = set()
    for case in interface.cases("quick"):
        call = interface.call(Maker(6), case.params)
        arguments = bind(operator, interface, call)
        for target in expected(operator, interface, call).written.values():
            right = target.reference.clone()
            check = operator.compare.check(target, right, arguments)
            assert check.strict and check.paper, case.id
            assert target.touched is not None
            if not target.touched.all():
                stray = right.clone()
                stray[~target.touched] += 1
                assert not operator.compare.check(target, stray, arguments).strict, case.id
            for canary, wrong in (("zeros", torch.zeros_like(right)), ("scaled", right * 0.9)):
                wrong = torch.where(target.touched, wrong, right)
                if not operator.compare.check(target, wrong, arguments).strict:
                    failed.add(canary)
    assert failed == {"zeros", "scaled"}


def to_tf32(tensor: torch.Tensor) -> torch.Tensor:
    """Rounded to the 10 bits of mantissa that TF32 keeps."""
    if tensor.is_complex():
        return torch.view_as_complex(to_tf32(torch.view_as_real(tensor)))
    bits = tensor.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("name", ["cublas/Sgemm_v2", "cublas/CgemmStridedBatched"])
@pytest.mark.parametrize("values", ["normal", "trap"])
def test_tf32_products_are_rejected(name: str, values: str) -> None:
    operator = get(name)
    interface = operator.interfaces[0]
    cases = [c for c in interface.cases("quick") if c.params.get("values") == values]
    assert cases
    for case in cases:
        call = interface.call(Maker(7), case.params)
        arguments = bind(operator, interface, call)
        rough = {**arguments, **{x: to_tf32(arguments[x]) for x in "AB"}}
        got = gemm.evaluate(rough).to(arguments["C"].dtype)
        target = expected(operator, interface, call).written["C"]
        assert not operator.compare.check(target, got, arguments).strict, case.id


@pytest.mark.parametrize("name", NAMES)
def test_published_counts(name: str) -> None:
    want = {"cublas/Sgemm_v2": (352, 128), "cublas/Saxpy_v2": (648, 288), "cublas/CgemmStridedBatched": (120, 24)}
    counts = get(name).counts("paper")
    timed = sum(c.timed and c.origin == "paper" for c in get(name).cases("paper"))
    assert (counts["k"], timed) == want[name]
    assert counts["k_extra"] > 0
    assert len(get(name).cases("quick")) <= 40 and len(get(name).cases("smoke")) == 2


@pytest.mark.parametrize("name", NAMES)
def test_hidden_cases_build(name: str) -> None:
    operator = get(name)
    interface = operator.interfaces[0]
    grid = {c.id for c in interface.cases("quick")}
    for seed in range(20):
        case = interface.hidden(seed, "quick")
        assert case == interface.hidden(seed, "quick")
        assert case.id.removesuffix("#hidden") not in grid
        assert expected(operator, interface, interface.call(Maker(seed), case.params)).written


def test_a_twin_is_one_line() -> None:
    operator = get("cublas/DgemmStridedBatched")
    interface = operator.interfaces[0]
    for case in interface.cases("smoke"):
        call = interface.call(Maker(1), case.params)
        assert answer(operator, call)[0].dtype is torch.float64
        # fp32 arithmetic is not enough for a double-precision routine.
        narrow = gemm.evaluate({**bind(operator, interface, call)}).float().double()
        target = expected(operator, interface, call).written["C"]
        assert not operator.compare.check(target, narrow, bind(operator, interface, call)).strict


def test_values_and_ops_by_name() -> None:
    with pytest.raises(ValueError, match="unknown values"):
        buffers.values(Maker(0), 1, torch.float32, "odd")
    with pytest.raises(ValueError, match="unknown op"):
        buffers.transposed(torch.ones(1, 1), "H")
    assert buffers.scalar([0.5, -1.0], torch.complex64) == 0.5 - 1j
    assert buffers.scalar(1, torch.complex64) == 1 + 0j
    assert buffers.seen(0.1, torch.float32) == float(np.float32(0.1))
    assert isinstance(buffers.jitter_scalar(random.Random(0), "complex64"), list)
    assert axpy.jitter(random.Random(0), {"n": 0, "dtype": "float32"})["n"] >= 1
