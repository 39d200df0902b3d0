"""What an operator is timed against, and the parts of the ctypes layer that need no GPU."""

from __future__ import annotations

import ctypes
import inspect
import pickle
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest
import torch

from kgb_gym.operators import Interface, Operator, get, grids
from kgb_gym.operators.baseline import ABSENT, resolve
from kgb_gym.operators.cublas import library
from kgb_gym.operators.oracle import parameters

CUBLAS = ("cublas/Sgemm_v2", "cublas/Saxpy_v2", "cublas/CgemmStridedBatched")


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    library.load.cache_clear()


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("platform", ["cpu", "nvidia"])
@pytest.mark.parametrize("name", CUBLAS)
def test_without_a_gpu_there_is_no_cublas(name: str, platform: str) -> None:
    operator = get(name)
    found = resolve(operator, operator.interfaces[0], platform)
    assert found.label == "oracle (not comparable)" == ABSENT and found.call is None


def test_aten_is_native() -> None:
    interface = Interface(
        name="cos", build=lambda make: make.call(), jitter=lambda rng, p: p,
        grids={suite: (grids.points({}),) for suite in ("paper", "quick", "smoke")},
    )  # fmt: skip
    found = resolve(Operator(source="aten", name="cos", interfaces=(interface,)), interface, "cpu")
    assert found.label == "native" and found.call is not None
    assert torch.equal(found.call(torch.zeros(2)), torch.ones(2))


def test_vllm_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = get("vllm/rms_norm")
    interface = operator.interfaces[0]
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.setitem(sys.modules, "vllm._custom_ops", None)
    assert resolve(operator, interface, "nvidia").label == ABSENT
    package, ops = ModuleType("vllm"), ModuleType("vllm._custom_ops")
    ops.rms_norm = lambda *args: args  # type: ignore[attr-defined]
    package._custom_ops = ops  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", package)
    monkeypatch.setitem(sys.modules, "vllm._custom_ops", ops)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.13.0")
    found = resolve(operator, interface, "nvidia")
    assert found.label == "vllm 0.13.0" and found.call is ops.rms_norm
    assert resolve(operator, interface, "cpu").label == ABSENT
    del ops.rms_norm
    assert resolve(operator, interface, "nvidia").label == ABSENT


def touch(folder: Path, *names: str) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return [str(folder / name) for name in names]


def test_wheels_come_before_the_toolkit_and_the_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    site, toolkit = tmp_path / "site", tmp_path / "cuda"
    new = touch(site / "nvidia/cu13/lib", "libcublas.so.13", "libcublasLt.so.13")
    old = touch(site / "nvidia/cublas/lib", "libcublas.so.12", "libcublas.so.11")
    kit = touch(toolkit / "lib64", "libcublas.so.13", "libcublas.so.12")
    found = [p for p in library.candidates([site], {"CUDA_HOME": str(toolkit)}) if str(tmp_path) in p]
    assert found == [new[0], old[0], *kit]
    assert list(library.candidates([site], {}))[-2:] == ["libcublas.so.13", "libcublas.so.12"]
    assert not [p for p in library.candidates([tmp_path / "nowhere"], {}) if str(tmp_path) in p]


def test_the_version_of_torch_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "nvidia/cublas/lib"
    both = touch(folder, "libcublas.so.12", "libcublas.so.13")
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    assert [p for p in library.candidates([tmp_path], {}) if str(tmp_path) in p] == both
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert [p for p in library.candidates([tmp_path], {}) if str(tmp_path) in p] == both[::-1]


def test_status_names() -> None:
    assert library.status_name(7) == "CUBLAS_STATUS_INVALID_VALUE"
    assert library.status_name(99) == "cuBLAS status 99"
    library.check("cublasSgemm_v2", 0)
    with pytest.raises(library.CublasError, match="cublasSgemm_v2: CUBLAS_STATUS_NOT_SUPPORTED") as error:
        library.check("cublasSgemm_v2", 15)
    again = pickle.loads(pickle.dumps(error.value))
    assert (again.routine, again.status, str(again)) == ("cublasSgemm_v2", 15, str(error.value))


@pytest.mark.parametrize("name", CUBLAS)
def test_routines_take_the_operators_parameters(name: str) -> None:
    operator = get(name)
    interface = operator.interfaces[0]
    names, kinds = library.parameters(interface.name)
    assert tuple(names) == parameters(operator, interface)
    assert set(kinds) <= set(library.TYPES) == set(library.CONVERT)


def test_scalars_are_converted() -> None:
    assert [library.CONVERT["op"](op) for op in "NTC"] == [0, 1, 2]
    assert library.CONVERT["s"](0.5).contents.value == 0.5
    assert list(library.CONVERT["c"](1 - 2j)) == [1.0, -2.0]
    assert list(library.CONVERT["z"](3)) == [3.0, 0.0]
    with pytest.raises(KeyError):
        library.CONVERT["op"]("H")
    with pytest.raises(ValueError, match="takes CUDA tensors"):
        library.pointer(torch.ones(1))


class FakeLibrary(library.Library):
    """A library whose functions record what they were given."""

    def __init__(self, status: int) -> None:
        self.calls: list[tuple[object, ...]] = []

        def function(*args: object) -> int:
            self.calls.append(args)
            return status

        self.path = "/somewhere/libcublas.so.13"
        self._dll = type("Dll", (), {"cublasSaxpy_v2": staticmethod(function)})()
        self._handles, self._routines = {}, {}

    def handle(self, device: int) -> ctypes.c_void_p:
        return ctypes.c_void_p(42)


def test_calls_pass_the_handle_and_raise_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(library.CONVERT, "p", lambda tensor: ctypes.c_void_p(tensor.data_ptr()))
    monkeypatch.setattr(torch.cuda, "device", lambda index: nullcontext())
    x, y = torch.ones(3), torch.ones(3)
    fake = FakeLibrary(status=0)
    call = fake.routine("cublasSaxpy_v2")
    assert call is not None and fake.routine("cublasSaxpy_v2") is call
    call(3, 2.0, x, 1, y=y, incy=-1)
    handle, n, alpha, first, incx, second, incy = fake.calls[0]
    assert (n, incx, incy) == (3, 1, -1) and alpha.contents.value == 2.0  # type: ignore[attr-defined]
    assert isinstance(handle, ctypes.c_void_p) and handle.value == 42
    assert (first.value, second.value) == (x.data_ptr(), y.data_ptr())  # type: ignore[attr-defined]
    failing = FakeLibrary(status=7).routine("cublasSaxpy_v2")
    assert failing is not None
    with pytest.raises(library.CublasError, match="INVALID_VALUE"):
        failing(3, 2.0, x, 1, y, 1)
    assert fake.routine("cublasUnknown") is None


def test_nothing_is_loaded_at_import() -> None:
    assert "CDLL" not in inspect.getsource(library).split("class Library")[0]
