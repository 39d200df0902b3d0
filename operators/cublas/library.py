"""libcublas through ctypes: the baseline of the `cublas` operators.

`load()` finds one library and gives a `Library`, whose `routine(name)` is a function with exactly the Python signature
of the operator: sizes and scalars as numbers, ops as 'N', 'T', 'C', matrices and vectors as CUDA tensors. Calls run on
torch's current stream. Scalars live on the host; fp32 stays fp32 (the default math mode); a status other than 0 raises.

Not covered: more than one library in a process, and the environment variables by which NVIDIA lets users overrule the
math mode.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

STATUS = {
    0: "CUBLAS_STATUS_SUCCESS",
    1: "CUBLAS_STATUS_NOT_INITIALIZED",
    3: "CUBLAS_STATUS_ALLOC_FAILED",
    7: "CUBLAS_STATUS_INVALID_VALUE",
    8: "CUBLAS_STATUS_ARCH_MISMATCH",
    11: "CUBLAS_STATUS_MAPPING_ERROR",
    13: "CUBLAS_STATUS_EXECUTION_FAILED",
    14: "CUBLAS_STATUS_INTERNAL_ERROR",
    15: "CUBLAS_STATUS_NOT_SUPPORTED",
    16: "CUBLAS_STATUS_LICENSE_ERROR",
}

OPS = {"N": 0, "T": 1, "C": 2}
POINTER_MODE_HOST = 0
DEFAULT_MATH = 0

MAJORS = (13, 12)
"""Versions of libcublas whose interface this is, newest first."""
WHEELS = ("nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12")
WHEEL_FOLDERS = ("nvidia/cu13/lib", "nvidia/cublas/lib", "nvidia/cu12/lib")
TOOLKIT_FOLDERS = ("lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib")

ROUTINES = {
    "cublasSgemm_v2": "transa:op transb:op m:i n:i k:i alpha:s A:p lda:i B:p ldb:i beta:s C:p ldc:i",
    "cublasSaxpy_v2": "n:i alpha:s x:p incx:i y:p incy:i",
    "cublasCgemmStridedBatched": (
        "transa:op transb:op m:i n:i k:i alpha:c A:p lda:i strideA:l B:p ldb:i strideB:l beta:c C:p ldc:i strideC:l "
        "batchCount:i"
    ),
}
"""Parameters after the handle, in C order, each `name:kind`. Kinds: `op` transposition, `i` int, `l` long long, `p`
tensor, and scalars by host pointer: `s` float, `d` double, `c` and `z` their complex pairs."""


class CublasError(RuntimeError):
    """A routine gave a status other than success."""

    def __init__(self, routine: str, status: int) -> None:
        super().__init__(routine, status)
        self.routine = routine
        self.status = status

    def __str__(self) -> str:
        return f"{self.routine}: {status_name(self.status)}"


def status_name(status: int) -> str:
    """The name of a status; unknown ones by number."""
    return STATUS.get(status, f"cuBLAS status {status}")


def check(routine: str, status: int) -> None:
    """Raise unless the status is success.

    Raises:
        CublasError: it is not.
    """
    if status:
        raise CublasError(routine, status)


def candidates(
    site: Sequence[str | os.PathLike[str]] | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[str]:  # fmt: skip
    """Where a library may be, best first: the wheels, the CUDA toolkit, the loader's own search.

    Within one place the version that torch was built for comes first, then the newest.

    Args:
        site: folders that hold installed packages; None: `sys.path`, and what the installed wheels say.
        environment: None: the process's own.
    """
    environment = os.environ if environment is None else environment
    folders = list(_wheel_folders()) if site is None else []
    folders += [Path(root) / sub for root in (sys.path if site is None else site) for sub in WHEEL_FOLDERS]
    folders += [Path(root) / sub for root in _toolkits(environment) for sub in TOOLKIT_FOLDERS]
    seen = set()
    for folder in folders:
        for name in _file_names():
            path = folder / name
            if path.is_file() and path not in seen:
                seen.add(path)
                yield str(path)
    yield from _file_names()


def _file_names() -> list[str]:
    major = (torch.version.cuda or "").partition(".")[0]
    ordered = sorted(MAJORS, key=lambda m: (str(m) != major, -m))
    return [f"libcublas.so.{m}" for m in ordered]


def _wheel_folders() -> Iterator[Path]:
    for wheel in WHEELS:
        try:
            files = importlib.metadata.files(wheel) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if re.fullmatch(r"libcublas\.so\.\d+", file.name):
                yield Path(str(file.locate())).parent


def _toolkits(environment: Mapping[str, str]) -> list[str]:
    named = [environment[name] for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)]
    return [*named, "/usr/local/cuda"]


class Library:
    """One loaded libcublas, with a handle a device.

    Args:
        path: of the shared library, or its name for the loader.

    Raises:
        OSError: it cannot be loaded.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._dll = ctypes.CDLL(path)
        self._handles: dict[int, _Handle] = {}
        self._routines: dict[str, Callable[..., None]] = {}

    @property
    def version(self) -> str:
        """Such as `13.1.0`."""
        parts = []
        for kind in range(3):
            value = ctypes.c_int()
            check("cublasGetProperty", self._dll.cublasGetProperty(kind, ctypes.byref(value)))
            parts.append(str(value.value))
        return ".".join(parts)

    @property
    def label(self) -> str:
        """File name and version, such as `libcublas.so.13 13.1.0`."""
        return f"{Path(self.path).name} {self.version}"

    def handle(self, device: int) -> ctypes.c_void_p:
        """The device's handle, set to torch's current stream there."""
        if device not in self._handles:
            self._handles[device] = _Handle(self._dll)
        return self._handles[device].on(torch.cuda.current_stream(device).cuda_stream)

    def routine(self, name: str) -> Callable[..., None] | None:
        """The routine as a function of the operator's Python arguments; None if it is not described here."""
        if name not in ROUTINES:
            return None
        if name not in self._routines:
            self._routines[name] = self._bind(name)
        return self._routines[name]

    def _bind(self, name: str) -> Callable[..., None]:
        names, kinds = parameters(name)
        function = getattr(self._dll, name)
        function.restype = ctypes.c_int
        function.argtypes = [ctypes.c_void_p, *(TYPES[kind] for kind in kinds)]
        convert = [CONVERT[kind] for kind in kinds]
        first_tensor = kinds.index("p")

        def call(*args: Any, **kwargs: Any) -> None:
            if kwargs:
                args = (*args, *(kwargs[n] for n in names[len(args) :]))
            converted = [c(a) for c, a in zip(convert, args, strict=True)]
            device = args[first_tensor].device.index
            with torch.cuda.device(device):
                check(name, function(self.handle(device), *converted))

        call.__name__ = name
        return call


class _Handle:
    """A cuBLAS context of the current device."""

    def __init__(self, dll: ctypes.CDLL) -> None:
        self._dll = dll
        self._handle = ctypes.c_void_p()
        self._stream: int | None = None
        check("cublasCreate_v2", dll.cublasCreate_v2(ctypes.byref(self._handle)))
        check("cublasSetPointerMode_v2", dll.cublasSetPointerMode_v2(self._handle, POINTER_MODE_HOST))
        check("cublasSetMathMode", dll.cublasSetMathMode(self._handle, DEFAULT_MATH))

    def on(self, stream: int) -> ctypes.c_void_p:
        """The context, set to a stream."""
        if stream != self._stream:
            check("cublasSetStream_v2", self._dll.cublasSetStream_v2(self._handle, ctypes.c_void_p(stream)))
            self._stream = stream
        return self._handle


def parameters(name: str) -> tuple[list[str], list[str]]:
    """Names and kinds of a routine's parameters after the handle."""
    pairs = [part.split(":") for part in ROUTINES[name].split()]
    return [n for n, _ in pairs], [k for _, k in pairs]


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    """The address of a CUDA tensor's first element.

    Raises:
        ValueError: the tensor is elsewhere: the library would end the process.
    """
    if not tensor.is_cuda:
        raise ValueError(f"cuBLAS takes CUDA tensors, not one on {tensor.device}")
    return ctypes.c_void_p(tensor.data_ptr())


def _complex(ctype: Any) -> Callable[[complex], Any]:
    return lambda value: (ctype * 2)(complex(value).real, complex(value).imag)


CONVERT: dict[str, Callable[[Any], Any]] = {
    "op": OPS.__getitem__,
    "i": int,
    "l": int,
    "p": pointer,
    "s": lambda value: ctypes.pointer(ctypes.c_float(value)),
    "d": lambda value: ctypes.pointer(ctypes.c_double(value)),
    "c": _complex(ctypes.c_float),
    "z": _complex(ctypes.c_double),
}
TYPES: dict[str, Any] = {
    "op": ctypes.c_int,
    "i": ctypes.c_int,
    "l": ctypes.c_longlong,
    "p": ctypes.c_void_p,
    "s": ctypes.POINTER(ctypes.c_float),
    "d": ctypes.POINTER(ctypes.c_double),
    "c": ctypes.POINTER(ctypes.c_float),
    "z": ctypes.POINTER(ctypes.c_double),
}


@lru_cache(maxsize=1)
def load() -> Library | None:
    """The process's library, the first candidate that loads; None without a GPU or a library."""
    if not torch.cuda.is_available():
        return None
    for path in candidates():
        try:
            return Library(path)
        except OSError:
            continue
    return None
