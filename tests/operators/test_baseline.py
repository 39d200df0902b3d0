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

from kgb_gym.operators import Interface, Operator, get, grids, names
from kgb_gym.operators.baseline import ABSENT, resolve
from kgb_gym.operators.cublas import library
from kgb_gym.operators.oracle import parameters

CUBLAS = names("cublas")


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
    assert set(kinds) <= set(library.TYPES) == {*library.CONVERT, "P"}


def test_scalars_are_converted() -> None:
    assert [library.CONVERT["op"](op) for op in "NTC"] == [0, 1, 2]
    assert library.CONVERT["s"](0.5).contents.value == 0.5
    assert list(library.CONVERT["c"](1 - 2j)) == [1.0, -2.0]
    assert list(library.CONVERT["z"](3)) == [3.0, 0.0]
    assert library.CONVERT["h"](-1.5).contents.value == torch.tensor(-1.5).half().view(torch.int16).item()
    with pytest.raises(KeyError):
        library.CONVERT["op"]("H")
    with pytest.raises(ValueError, match="takes CUDA tensors"):
        library.pointer(torch.ones(1))


def test_strided_tensors_are_refused() -> None:
    class OnTheGpu:
        """Says that it is on a GPU."""

        is_cuda = True

        def is_contiguous(self) -> bool:
            return False

        def stride(self) -> tuple[int, ...]:
            return (2,)

    with pytest.raises(ValueError, match=r"takes contiguous tensors, not strides of \(2,\)"):
        library.pointer(OnTheGpu())  # type: ignore[arg-type]  # there is no GPU here


class FakeLibrary(library.Library):
    """A library whose functions record what they were given."""

    def __init__(self, status: int) -> None:
        self.calls: list[tuple[object, ...]] = []

        def function(*args: object) -> int:
            self.calls.append(args)
            return status

        self.path = "/somewhere/libcublas.so.13"
        self._dll = type("Dll", (), {name: staticmethod(function) for name in library.ROUTINES})()
        self._handles, self._routines, self._arrays = {}, {}, {}
        self.modes: list[int] = []

    def handle(self, device: int, mode: int = 0) -> ctypes.c_void_p:
        self.modes.append(mode)
        return ctypes.c_void_p(42)


@pytest.fixture
def on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Host tensors may be passed to a fake library."""
    for kind in ("p", "r"):
        monkeypatch.setitem(library.CONVERT, kind, lambda tensor: ctypes.c_void_p(tensor.data_ptr()))
    monkeypatch.setattr(library, "pointer", lambda tensor: ctypes.c_void_p(tensor.data_ptr()))
    monkeypatch.setattr(torch.cuda, "device", lambda index: nullcontext())
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)


@pytest.mark.usefixtures("on_the_host")
def test_calls_pass_the_handle_and_raise_a_status() -> None:
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


@pytest.mark.usefixtures("on_the_host")
def test_results_are_written_on_the_device() -> None:
    fake = FakeLibrary(status=0)
    call = fake.routine("cublasSdot_v2")
    assert call is not None
    x, result = torch.ones(3), torch.zeros(1)
    call(3, x, 1, x, 1, result)
    assert fake.modes == [library.POINTER_MODE_DEVICE]
    assert fake.calls[0][-1].value == result.data_ptr()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("on_the_host")
def test_lists_become_arrays_of_pointers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "MAX_ARRAYS", 3)
    fake = FakeLibrary(status=0)
    call = fake.routine("cublasDgemvBatched")
    assert call is not None
    a, x, y = torch.ones(4), torch.ones(2), [torch.zeros(2), torch.zeros(2)]
    for _ in range(2):
        call("N", 2, 2, 1.0, [a, a], 2, [x, x], 1, 0.0, y, 1, 2)
    assert fake.modes == [library.POINTER_MODE_HOST] * 2
    first, again = ([args[5].value, args[7].value, args[10].value] for args in fake.calls)  # type: ignore[attr-defined]
    assert first == again
    assert (ctypes.c_int64 * 2).from_address(first[0])[:] == [a.data_ptr()] * 2
    assert (ctypes.c_int64 * 2).from_address(first[2])[:] == [t.data_ptr() for t in y]
    call("N", 2, 2, 1.0, [y[0]], 2, [x], 1, 0.0, [y[1]], 1, 1)
    assert len(fake._arrays) == 3
    # The first of a call's arrays was the longest unused when its last one needed room.
    z = [torch.zeros(2)]
    call("N", 2, 2, 1.0, [y[0]], 2, [x], 1, 0.0, z, 1, 1)
    held = {array.data_ptr(): key[1] for key, array in fake._arrays.items()}
    used = [fake.calls[-1][i].value for i in (5, 7, 10)]  # type: ignore[attr-defined]
    assert [held[at] for at in used] == [(y[0].data_ptr(),), (x.data_ptr(),), (z[0].data_ptr(),)]
    with pytest.raises(ValueError, match="cublasDgemvBatched: xarray has fewer tensors than batchCount, which is 2"):
        call("N", 2, 2, 1.0, [a, a], 2, [x], 1, 0.0, y, 1, 2)
    call("N", 2, 2, 1.0, [], 2, [], 1, 0.0, [], 1, 0)
    assert fake.calls[-1][5].value is None  # type: ignore[attr-defined]


def test_nothing_is_loaded_at_import() -> None:
    assert "CDLL" not in inspect.getsource(library).split("class Library")[0]
