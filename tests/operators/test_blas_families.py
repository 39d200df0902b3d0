"""The oracles of every cuBLAS family by hand and element by element, what their inputs hide, and what their gates reject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from kgb_gym.operators import Call, Case, Maker, Target, expected, get, names
from kgb_gym.operators.cublas import library
from kgb_gym.operators.cublas.families import buffers, gemm, gemv, published, routine, triangular
from kgb_gym.operators.oracle import argument, bind, parameters

ALL = names("cublas")
NAN = float("nan")
C64 = torch.complex64


@cache
def judged(name: str) -> tuple[tuple[Case, dict[str, Any], Mapping[str, Target]], ...]:
    """Every quick case with its arguments and its targets by name."""
    operator = get(name)
    interface = operator.interfaces[0]
    out = []
    for case in interface.cases("quick"):
        call = interface.call(Maker(3), case.params)
        out.append((case, bind(operator, interface, call), expected(operator, interface, call).written))
    return tuple(out)


def cases(name: str, limit: int = 10**9) -> Iterator[tuple[Case, dict[str, Any], Mapping[str, Any]]]:
    """The cases of at most `limit` elements: case, arguments and targets by name."""
    for case, given, written in judged(f"cublas/{name}"):
        tensors = [
            t for v in given.values() for t in (v if isinstance(v, list) else [v]) if isinstance(t, torch.Tensor)
        ]
        if sum(t.numel() for t in tensors) <= limit:
            yield case, given, written


def answer(name: str, *arguments: Any) -> list[Any]:
    """The one written argument after a call, in double precision."""
    operator = get(f"cublas/{name}")
    (target,) = expected(operator, operator.interfaces[0], Call(arguments)).written.values()
    values = target.precise if target.precise is not None else target.reference
    return list(values.tolist())


def test_there_are_fifty() -> None:
    assert len(ALL) == 50
    assert {f"cublas{n.partition('/')[2]}" for n in ALL} == set(library.ROUTINES) == {
        f"cublas{n}" for n in published.AXES
    }  # fmt: skip
    assert all("\n" not in get(n).description for n in ALL)


@pytest.mark.parametrize("name", ALL)
def test_calls_are_what_the_library_takes(name: str) -> None:
    operator = get(name)
    interface = operator.interfaces[0]
    names_, kinds = library.parameters(interface.name)
    assert tuple(names_) == parameters(operator, interface)
    python = {"op": str, "e": int, "i": int, "l": int, "p": torch.Tensor, "r": torch.Tensor, "P": list, "h": float,
              "s": float, "d": float, "c": complex, "z": complex}  # fmt: skip
    for case, given, _ in judged(name):
        for parameter, kind in zip(names_, kinds, strict=True):
            assert isinstance(given[parameter], python[kind]), (case.id, parameter)


def test_level_one_by_hand() -> None:
    x, y = torch.tensor([1.0, NAN, -2.0, NAN, 3.0]), torch.tensor([10.0, 20.0, 30.0, 40.0])
    d = torch.float64
    assert answer("Dcopy_v2", 3, x.to(d), 2, y.to(d), -1) == [3, -2, 1, 40]
    assert answer("Dcopy_v2", 3, x.to(d), 0, y.to(d), 1) == [1, 1, 1, 40]
    assert answer("Sscal_v2", 3, 2.0, x, 2)[::2] == [2, -4, 6]
    assert answer("Sscal_v2", 2, 2.0, y, -1) == [10, 20, 30, 40]
    assert answer("Sdot_v2", 3, x, -2, y, 1, torch.tensor([NAN])) == [3 * 10 - 2 * 20 + 1 * 30]
    assert answer("Sdot_v2", 0, x, 1, y, 1, torch.tensor([NAN])) == [0]
    assert answer("Dasum_v2", 3, x.to(d), 2, torch.tensor([NAN], dtype=d)) == [6]
    assert answer("Dasum_v2", 3, x.to(d), -2, torch.tensor([NAN], dtype=d)) == [0]
    a, b = torch.tensor([1 + 2j, 3j]), torch.tensor([2 - 1j, 1 + 1j])
    nothing = torch.tensor([NAN + 0j])
    assert answer("Cdotu_v2", 2, a, 1, b, 1, nothing) == [(1 + 2j) * (2 - 1j) + 3j * (1 + 1j)]
    z = torch.complex128
    assert answer("Zdotc_v2", 2, a.to(z), 1, b.to(z), -1, nothing.to(z)) == [(1 - 2j) * (1 + 1j) - 3j * (2 - 1j)]
    operator = get("cublas/Zswap_v2")
    written = expected(operator, operator.interfaces[0], Call((2, a.to(z), 1, b.to(z), -1))).written
    assert written["x"].reference.tolist() == [1 + 1j, 2 - 1j] and written["y"].reference.tolist() == [3j, 1 + 2j]


def test_rank_updates_by_hand() -> None:
    x, y, a = torch.tensor([1.0, 2.0]), torch.tensor([3.0, NAN, 4.0]), torch.arange(7.0)
    # A is 2 x 2 with ld 3: [[0, 3], [1, 4]].
    assert answer("Sger_v2", 2, 2, 10.0, x, 1, y, 2, a, 3) == [30, 61, 2, 43, 84, 5, 6]
    d = torch.float64
    lower = answer("Dsyr2_v2", 0, 2, 1.0, x.to(d), 1, y.to(d), 2, a.to(d), 3)
    assert lower == [0 + 6, 1 + 2 * 3 + 1 * 4, 2, 3, 4 + 16, 5, 6]
    assert answer("Dsyr2_v2", 1, 2, 1.0, x.to(d), 1, y.to(d), 2, a.to(d), 3) == [6, 1, 2, 3 + 10, 20, 5, 6]
    u, v, one = torch.tensor([1j]), torch.tensor([2 + 1j]), torch.zeros(1, dtype=C64)
    assert answer("Cgeru_v2", 1, 1, 1 + 0j, u, 1, v, 1, one, 1) == [1j * (2 + 1j)]
    z = torch.complex128
    assert answer("Zgerc_v2", 1, 1, 1 + 0j, u.to(z), 1, v.to(z), 1, one.to(z), 1) == [1j * (2 - 1j)]


def test_symmetric_products_by_hand() -> None:
    # S = [[1, 2], [2, 1j]]: the lower triangle is stored, then the upper one.
    for uplo, a in ((0, [1, 2, NAN, 1j]), (1, [1, NAN, 2, 1j])):
        half = torch.tensor(a, dtype=C64)
        x, y = torch.tensor([1, 1j]), torch.tensor([NAN, NAN], dtype=C64)
        assert answer("Csymv_v2", uplo, 2, 1 + 0j, half, 2, x, 1, 0j, y, -1) == [2 - 1, 1 + 2j]
        b, c = torch.tensor([1, 1j, 0, 2], dtype=C64), torch.zeros(4, dtype=C64)
        left = answer("Csymm_v2", 0, uplo, 2, 2, 1 + 0j, half, 2, b, 2, 0j, c, 2)
        assert left == [1 + 2j, 2 - 1, 4, 2j]
        right = answer("Csymm_v2", 1, uplo, 2, 2, 1 + 0j, half, 2, b, 2, 0j, c, 2)
        assert right == [1, 1j + 4, 2, 2j + 2j]


def test_bands_by_hand() -> None:
    # S = [[1, 4, 0], [4, 2, 5], [0, 5, 3]] by its lower, then by its upper diagonals.
    x, y = torch.tensor([1.0, 2.0, 3.0]).double(), torch.full((3,), NAN).double()
    for uplo, band in ((0, [1, 4, 2, 5, 3, NAN]), (1, [NAN, 1, 4, 2, 5, 3])):
        stored = torch.tensor(band).double()
        assert answer("Dsbmv_v2", uplo, 3, 1, 1.0, stored, 2, x, 1, 0.0, y, 1) == [9, 23, 19]
        triangle = [[1, 4 * uplo, 0], [4 - 4 * uplo, 2, 5 * uplo], [0, 5 - 5 * uplo, 3]]
        for trans in range(3):
            op = np.array(triangle).T if trans else np.array(triangle)
            assert (
                answer("Stbmv_v2", uplo, trans, 0, 3, 1, stored.float(), 2, x.float(), 1) == (op @ [1, 2, 3]).tolist()
            )
            unit = op + np.eye(3) - np.diag(np.diag(op))
            hidden = torch.tensor([NAN if v in (1, 2, 3) else v for v in band])
            assert answer("Stbmv_v2", uplo, trans, 1, 3, 1, hidden, 2, x.float(), 1) == (unit @ [1, 2, 3]).tolist()


def test_elementwise_by_hand() -> None:
    a, b, c = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([10.0, 20.0, 30.0, 40.0]), torch.full((6,), 7.0)
    assert answer("Sgeam", 0, 1, 2, 2, 2.0, a, 2, 1.0, b, 2, c, 3) == [12, 34, 7, 26, 48, 7]
    assert answer("Sgeam", 0, 1, 2, 2, 0.0, a * NAN, 2, 0.0, b * NAN, 2, c, 3) == [0, 0, 7, 0, 0, 7]
    assert answer("Sdgmm", 0, 2, 2, a, 2, torch.tensor([5.0, 6.0]), -1, c, 3) == [6, 10, 7, 18, 20, 7]
    assert answer("Sdgmm", 1, 2, 2, a, 2, torch.tensor([5.0, 6.0]), 1, c, 3) == [5, 10, 7, 18, 24, 7]
    assert answer("Sdgmm", 1, 2, 2, a, 2, torch.tensor([5.0, 6.0]), 0, a, 2) == [5, 10, 15, 20]
    # A = [[1, 3], [2, 4]]: A A^T = [[10, 14], [14, 20]], A^T A = [[5, 11], [11, 25]].
    assert answer("Ssyrk_v2", 0, 0, 2, 2, 1.0, a, 2, 0.0, torch.full((4,), 7.0), 2) == [10, 14, 7, 20]
    assert answer("Ssyrk_v2", 1, 1, 2, 2, 1.0, a, 2, 1.0, torch.full((4,), 7.0), 2) == [12, 7, 18, 32]
    i = torch.tensor([1j])
    assert answer("CsyrkEx", 1, 0, 1, 1, 1 + 0j, i, 4, 1, 0j, i * NAN, 4, 1) == [-1]


def test_solves_by_hand() -> None:
    # L = [[2, 0], [1, 4]]: its transpose is the upper triangle's answer.
    stored, b = torch.tensor([2.0, 1.0, NAN, 4.0]), torch.tensor([2.0, 9.0])
    assert answer("Strsv_v2", 0, 0, 0, 2, stored, 2, b, 1) == [1, 2]
    assert answer("Strsv_v2", 0, 1, 0, 2, stored, 2, b, 1) == [(2 - 2.25) / 2, 2.25]
    assert answer("Strsv_v2", 0, 0, 1, 2, stored, 2, b, 1) == [2, 7]
    assert answer("Strsv_v2", 0, 0, 0, 2, stored, 2, b, -1) == [(2 - 4.5) / 4, 4.5]
    assert answer("Strsm_v2", 0, 0, 0, 0, 2, 1, 2.0, stored, 2, b, 2) == [2, 4]
    assert answer("Strsm_v2", 1, 0, 0, 0, 1, 2, 1.0, stored, 2, b, 1) == [(2 - 2.25) / 2, 2.25]
    assert answer("Strsm_v2", 0, 0, 0, 0, 2, 1, 0.0, stored * NAN, 2, b, 2) == [0, 0]
    z = torch.complex128
    operator = get("cublas/ZtrsmBatched")
    call = Call(
        (0, 0, 2, 0, 1, 1, 1j, [torch.tensor([1 + 1j], dtype=z)] * 2, 1, [torch.ones(1, dtype=z) for _ in "ab"], 1, 1)
    )
    written = expected(operator, operator.interfaces[0], call).written
    assert written["Barray[0]"].precise.item() == pytest.approx(1j / (1 - 1j))  # type: ignore[union-attr]
    assert written["Barray[1]"].reference.item() == 1 and not written["Barray[1]"].touched.any()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["Strsv_v2", "Strsm_v2", "DtrsmBatched", "ZtrsmBatched"])
def test_solutions_solve(name: str) -> None:
    """op(A) X = alpha B, multiplied out from the stored triangle."""
    for case, given, written in cases(name):
        for label, target in written.items():
            index = None if target.item is None else target.item
            a = given["Aarray"][index] if index is not None else given["A"]
            before = argument(given, label).to(buffers.wide(a.dtype))
            if target.touched is not None and not target.touched.any():
                assert torch.equal(target.precise, before)
                continue
            n, side = given["n"], given.get("side", 0)
            order = n if side or "m" not in given else given["m"]
            op = triangular.triangle(a, given["lda"], order, given["uplo"], given["trans"], given["diag"])
            if "m" in given:
                views = [buffers.columns(t, given["m"], n, given["ldb"]) for t in (target.precise, before)]
            else:
                views = [t[buffers.positions(n, given["incx"])][:, None] for t in (target.precise, before)]
            if given.get("alpha", 1.0) != 0:
                left = views[0] @ op if side else op @ views[0]
                right = views[1] * buffers.seen(given.get("alpha", 1.0), a.dtype)
                torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-9, msg=case.id)


@np.errstate(invalid="ignore", over="ignore")  # cases hold infinities
def gemv_by_elements(g: dict[str, Any]) -> np.ndarray[Any, Any]:
    """y after one product, one element after the other."""
    kind = np.complex128 if g["y"].is_complex() else np.float64
    a, x, y = (g[name].numpy().astype(kind) for name in ("A", "x", "y"))
    alpha, beta = (buffers.seen(g[s], g["y"].dtype) for s in ("alpha", "beta"))
    m, n, lda, op = g["m"], g["n"], g["lda"], g["trans"]
    if m <= 0 or n <= 0:
        return np.asarray(y)
    taken, given = (n, m) if op == "N" else (m, n)
    for i in range(given):
        at = i * g["incy"] if g["incy"] > 0 else (i - given + 1) * g["incy"]
        total = kind(0)
        for j in range(taken if alpha != 0 else 0):
            element = a[i + j * lda] if op == "N" else a[j + i * lda]
            source = j * g["incx"] if g["incx"] > 0 else (j - taken + 1) * g["incx"]
            total += (element.conjugate() if op == "C" else element) * x[source]
        y[at] = alpha * total + (beta * y[at] if beta != 0 else 0)
    return np.asarray(y)


@pytest.mark.parametrize("name", ["Cgemv_v2", "Dgemv_v2", "SgemvBatched", "CgemvBatched_64"])
def test_gemv_element_by_element(name: str) -> None:
    count = 0
    for _, given, written in cases(name, 2000):
        for label, target in written.items():
            if target.item is not None and target.item >= given["batchCount"]:
                assert not target.touched.any()
                continue
            want = gemv_by_elements(routine.item_of(given, target.item))
            np.testing.assert_allclose(target.precise.numpy(), want, rtol=1e-12, atol=1e-12, err_msg=label)
            count += 1
    assert count > 10


@pytest.mark.parametrize(
    ("strided", "single"),
    [("ZgemvStridedBatched", "Zgemv"), ("DgemmStridedBatched_64", "Dgemm"), ("HgemmStridedBatched", "Hgemm")],
)
def test_strided_items_are_single_calls(strided: str, single: str) -> None:
    """An item of a strided batch is the call without a batch at its offset."""
    one: Callable[..., torch.Tensor] = gemv.evaluate if "gemv" in single else lambda **g: gemm.evaluate(g)
    for _, given, written in cases(strided, 20000):
        ((label, target),) = written.items()
        strides = {n.removeprefix("stride"): v for n, v in given.items() if n.startswith("stride")}
        for item in range(given["batchCount"]):
            plain = {n: v for n, v in given.items() if not n.startswith("stride") and n != "batchCount"}
            plain |= {n: plain[n][item * s :] for n, s in strides.items()}
            alone = one(**plain)
            mask = target.touched[item * strides[label] :][: strides[label]]
            got = target.precise[item * strides[label] :][: strides[label]]
            assert torch.allclose(got[mask], alone[: strides[label]][mask], rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", ALL)
def test_untouched_elements_keep_their_values(name: str) -> None:
    for case, given, written in cases(name.partition("/")[2]):
        for label, target in written.items():
            before = argument(given, label)
            assert target.reference.dtype == before.dtype and target.reference.shape == before.shape
            if target.touched is not None:
                kept = ~target.touched
                assert torch.equal(target.reference[kept].nan_to_num(), before[kept].nan_to_num()), case.id
                assert not before[kept].isnan().any(), f"{case.id}: a write over NaN could not be seen"


@pytest.mark.parametrize("name", ALL)
def test_what_may_not_be_read_is_nan(name: str) -> None:
    """Behind every input, and between its elements, lies NaN (99 for integers)."""
    operator = get(name)
    writes = operator.interfaces[0].writes
    for case, given, _ in cases(name.partition("/")[2]):
        out = {id(t) for w in writes for t in (given[w] if isinstance(given[w], list) else [given[w]])}
        for key, value in given.items():
            for tensor in value if isinstance(value, list) else [value]:
                if isinstance(tensor, torch.Tensor) and id(tensor) not in out:
                    tail = tensor[-buffers.TAIL :]
                    guarded = (tail == 99) if not tail.is_floating_point() and not tail.is_complex() else tail.isnan()
                    assert guarded.all(), (case.id, key)


@pytest.mark.parametrize("name", [n for n in ALL if n.partition("/")[2][0] in "DZ"])
def test_fp32_arithmetic_is_not_enough_for_double(name: str) -> None:
    operator = get(name)
    judge = operator.compare
    if judge.exact:
        pytest.skip("copies")
    caught = 0
    for _, given, written in cases(name.partition("/")[2]):
        for target in written.values():
            narrow = torch.complex64 if target.reference.is_complex() else torch.float32
            got = target.reference.to(narrow).to(target.reference.dtype)
            got = got if target.touched is None else torch.where(target.touched, got, target.reference)
            caught += not judge.check(target, got, given).strict
    assert caught > 5


@pytest.mark.parametrize("name", [n for n in ALL if "gemm" in n or "syrk" in n or "trs" in n])
def test_one_percent_is_caught(name: str) -> None:
    operator = get(name)
    caught, seen = 0, 0
    for _, given, written in cases(name.partition("/")[2]):
        for target in written.values():
            if target.touched.any() and bool((target.reference[target.touched].nan_to_num() != 0).any()):
                seen += 1
                got = torch.where(target.touched, target.reference * 1.01, target.reference).to(target.reference.dtype)
                caught += not operator.compare.check(target, got, given).strict
    assert caught >= 0.9 * seen > 5


def test_covers_hold_every_pair() -> None:
    points = [{"a": a, "b": b, "c": c} for a in range(4) for b in range(5) for c in range(6)]
    chosen = published.cover(points, 2, 100)
    assert len(chosen) == 100
    few = published.cover(points, 2, 60)
    assert {(p["b"], p["c"]) for p in few} == {(b, c) for b in range(5) for c in range(6)}
    assert {p["c"] for p in published.cover(points, 1, 12)} == set(range(6))
    assert published.cover(points, 2, 60) == few
    assert sum(c.origin == "paper" for c in get("cublas/CsyrkEx").cases("paper")) < published.WHOLE


def test_half_scalars_are_rounded() -> None:
    assert buffers.seen(100.001, torch.float16) == 100.0
    assert buffers.seen(100.001, torch.float32) != 100.001
