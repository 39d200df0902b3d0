"""libcublas through ctypes: the baseline of the `cublas` operators.

`load()` finds one library and gives a `Library`, whose `routine(name)` is a function with exactly the Python signature
of the operator: sizes, enumerations and scalars as numbers (ops by letter where the operator has them so), matrices
and vectors as CUDA tensors. Calls run on
torch's current stream. Scalars live on the host, results (of dot, asum) are written on the device; fp32 stays fp32 (the
default math mode); a status other than 0 raises. An array of pointers is a list of tensors, uploaded once for each set of
addresses, so that timed calls don't pay for it.

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
POINTER_MODE_HOST, POINTER_MODE_DEVICE = 0, 1
DEFAULT_MATH = 0

MAX_ARRAYS = 256
"""Arrays of pointers that are kept on the device; the one dropped first is the longest unused, and so none of a call's
own."""

MAJORS = (13, 12)
"""Versions of libcublas whose interface this is, newest first."""
WHEELS = ("nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12")
WHEEL_FOLDERS = ("nvidia/cu13/lib", "nvidia/cublas/lib", "nvidia/cu12/lib")
TOOLKIT_FOLDERS = ("lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib")

_FORMS = {
    "copy": "n:i x:p incx:i y:p incy:i",
    "swap": "n:i x:p incx:i y:p incy:i",
    "scal": "n:i alpha:? x:p incx:i",
    "axpy": "n:i alpha:? x:p incx:i y:p incy:i",
    "dot": "n:i x:p incx:i y:p incy:i result:r",
    "asum": "n:i x:p incx:i result:r",
    "gemv": "trans:op m:i n:i alpha:? A:p lda:i x:p incx:i beta:? y:p incy:i",
    "gemvStridedBatched": (
        "trans:op m:i n:i alpha:? A:p lda:i strideA:l x:p incx:i stridex:l beta:? y:p incy:i stridey:l batchCount:i"
    ),
    "gemvBatched": "trans:op m:i n:i alpha:? Aarray:P lda:i xarray:P incx:i beta:? yarray:P incy:i batchCount:i",
    "ger": "m:i n:i alpha:? x:p incx:i y:p incy:i A:p lda:i",
    "syr2": "uplo:e n:i alpha:? x:p incx:i y:p incy:i A:p lda:i",
    "symv": "uplo:e n:i alpha:? A:p lda:i x:p incx:i beta:? y:p incy:i",
    "sbmv": "uplo:e n:i k:i alpha:? A:p lda:i x:p incx:i beta:? y:p incy:i",
    "tbmv": "uplo:e trans:e diag:e n:i k:i A:p lda:i x:p incx:i",
    "trsv": "uplo:e trans:e diag:e n:i A:p lda:i x:p incx:i",
    "gemm": "transa:op transb:op m:i n:i k:i alpha:? A:p lda:i B:p ldb:i beta:? C:p ldc:i",
    "gemmStridedBatched": (
        "transa:op transb:op m:i n:i k:i alpha:? A:p lda:i strideA:l B:p ldb:i strideB:l beta:? C:p ldc:i strideC:l "
        "batchCount:i"
    ),
    "gemmBatched": (
        "transa:op transb:op m:i n:i k:i alpha:? Aarray:P lda:i Barray:P ldb:i beta:? Carray:P ldc:i batchCount:i"
    ),
    "gemmEx": ("transa:op transb:op m:i n:i k:i alpha:? A:p Atype:e lda:i B:p Btype:e ldb:i beta:? C:p Ctype:e ldc:i"),
    "geam": "transa:e transb:e m:i n:i alpha:? A:p lda:i beta:? B:p ldb:i C:p ldc:i",
    "dgmm": "mode:e m:i n:i A:p lda:i x:p incx:i C:p ldc:i",
    "symm": "side:e uplo:e m:i n:i alpha:? A:p lda:i B:p ldb:i beta:? C:p ldc:i",
    "syrk": "uplo:e trans:e n:i k:i alpha:? A:p lda:i beta:? C:p ldc:i",
    "syrkEx": "uplo:e trans:e n:i k:i alpha:? A:p Atype:e lda:i beta:? C:p Ctype:e ldc:i",
    "trsm": "side:e uplo:e trans:e diag:e m:i n:i alpha:? A:p lda:i B:p ldb:i",
    "trsmBatched": "side:e uplo:e trans:e diag:e m:i n:i alpha:? Aarray:P lda:i Barray:P ldb:i batchCount:i",
}
"""Parameters after the handle, in C order, each `name:kind`; `?` stands for a scalar of the routine's type."""

_NAMES = """
    Ccopy_v2 Dcopy_v2 Zswap_v2 Sscal_v2 Saxpy_v2 Daxpy_v2 Sdot_v2 Cdotu_v2 Zdotc_v2 Dasum_v2
    Cgemv_v2 Dgemv_v2 SgemvStridedBatched DgemvStridedBatched CgemvStridedBatched ZgemvStridedBatched
    SgemvBatched DgemvBatched ZgemvBatched CgemvBatched_64
    Sger_v2 Cgeru_v2 Zgerc_v2 Dsyr2_v2 Csymv_v2 Dsbmv_v2 Stbmv_v2 Strsv_v2
    Sgemm_v2 Cgemm_v2 SgemmEx SgemmStridedBatched DgemmStridedBatched DgemmStridedBatched_64 CgemmStridedBatched
    CgemmStridedBatched_64 ZgemmStridedBatched HgemmStridedBatched
    SgemmBatched_64 DgemmBatched ZgemmBatched HgemmBatched
    Sgeam Sdgmm Csymm_v2 Ssyrk_v2 CsyrkEx Strsm_v2 DtrsmBatched ZtrsmBatched
"""


def _parameters(name: str) -> str:
    """A routine's parameters: those of its form, scalars of its type, 64-bit sizes where its name ends in `_64`."""
    stem = name[1:].removesuffix("_v2").removesuffix("_64")
    form = {"dotu": "dot", "dotc": "dot", "geru": "ger", "gerc": "ger"}.get(stem, stem)
    text = _FORMS[form].replace(":?", f":{name[0].lower()}")
    return text.replace(":i", ":l") if name.endswith("_64") else text


ROUTINES = {f"cublas{name}": _parameters(name) for name in _NAMES.split()}
"""Parameters after the handle, in C order, each `name:kind`. Kinds: `op` transposition by letter, `e` number of an
enumeration or data type, `i` int, `l` long long, `p` tensor, `P` list of tensors (in C an array of pointers on the
device), `r` one-element tensor for the result, and scalars by host pointer: `h` half, `s` float, `d` double, `c` and
`z` complex pairs of float and double."""


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
        self._arrays: dict[tuple[int | None, tuple[int, ...]], torch.Tensor] = {}

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

    def handle(self, device: int, mode: int = POINTER_MODE_HOST) -> ctypes.c_void_p:
        """The device's handle, set to torch's current stream there and to where scalars and results live."""
        if device not in self._handles:
            self._handles[device] = _Handle(self._dll)
        return self._handles[device].on(torch.cuda.current_stream(device).cuda_stream, mode)

    def _pointers(self, tensors: Sequence[torch.Tensor]) -> ctypes.c_void_p:
        """The device's array of the tensors' addresses."""
        addresses = tuple(pointer(t).value or 0 for t in tensors)
        if not addresses:
            return ctypes.c_void_p()
        key = (tensors[0].device.index, addresses)
        array = self._arrays.pop(key, None)
        if array is None:
            while len(self._arrays) >= MAX_ARRAYS:
                del self._arrays[next(iter(self._arrays))]
            array = torch.tensor(addresses, dtype=torch.int64, device=tensors[0].device)
        self._arrays[key] = array
        return ctypes.c_void_p(array.data_ptr())

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
        convert = [self._pointers if kind == "P" else CONVERT[kind] for kind in kinds]
        first_tensor = next(i for i, kind in enumerate(kinds) if kind in "pP")
        mode = POINTER_MODE_DEVICE if "r" in kinds else POINTER_MODE_HOST
        lists = [i for i, kind in enumerate(kinds) if kind == "P"]

        def call(*args: Any, **kwargs: Any) -> None:
            if kwargs:
                args = (*args, *(kwargs[n] for n in names[len(args) :]))
            if short := [names[i] for i in lists if len(args[i]) < args[-1]]:
                raise ValueError(f"{name}: {', '.join(short)} has fewer tensors than batchCount, which is {args[-1]}")
            first = args[first_tensor]
            if isinstance(first, list):
                first = first[0] if first else None
            device = torch.cuda.current_device() if first is None else first.device.index
            with torch.cuda.device(device):
                converted = [c(a) for c, a in zip(convert, args, strict=True)]
                check(name, function(self.handle(device, mode), *converted))

        call.__name__ = name
        return call


class _Handle:
    """A cuBLAS context of the current device."""

    def __init__(self, dll: ctypes.CDLL) -> None:
        self._dll = dll
        self._handle = ctypes.c_void_p()
        self._stream: int | None = None
        check("cublasCreate_v2", dll.cublasCreate_v2(ctypes.byref(self._handle)))
        self._mode = -1
        check("cublasSetMathMode", dll.cublasSetMathMode(self._handle, DEFAULT_MATH))

    def on(self, stream: int, mode: int) -> ctypes.c_void_p:
        """The context, set to a stream and a pointer mode."""
        if stream != self._stream:
            check("cublasSetStream_v2", self._dll.cublasSetStream_v2(self._handle, ctypes.c_void_p(stream)))
            self._stream = stream
        if mode != self._mode:
            check("cublasSetPointerMode_v2", self._dll.cublasSetPointerMode_v2(self._handle, mode))
            self._mode = mode
        return self._handle


def parameters(name: str) -> tuple[list[str], list[str]]:
    """Names and kinds of a routine's parameters after the handle."""
    pairs = [part.split(":") for part in ROUTINES[name].split()]
    return [n for n, _ in pairs], [k for _, k in pairs]


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    """The address of a CUDA tensor's first element.

    Raises:
        ValueError: the tensor is elsewhere (the library would end the process), or its elements don't lie one after the
            other, as leading dimensions and increments assume.
    """
    if not tensor.is_cuda:
        raise ValueError(f"cuBLAS takes CUDA tensors, not one on {tensor.device}")
    if not tensor.is_contiguous():
        raise ValueError(f"cuBLAS takes contiguous tensors, not strides of {tuple(tensor.stride())}")
    return ctypes.c_void_p(tensor.data_ptr())


def _complex(ctype: Any) -> Callable[[complex], Any]:
    return lambda value: (ctype * 2)(complex(value).real, complex(value).imag)


def _half(value: float) -> Any:
    return ctypes.pointer(ctypes.c_int16(int(torch.tensor(value, dtype=torch.float16).view(torch.int16).item())))


CONVERT: dict[str, Callable[[Any], Any]] = {
    "op": OPS.__getitem__,
    "e": int,
    "i": int,
    "l": int,
    "p": pointer,
    "r": pointer,
    "h": _half,
    "s": lambda value: ctypes.pointer(ctypes.c_float(value)),
    "d": lambda value: ctypes.pointer(ctypes.c_double(value)),
    "c": _complex(ctypes.c_float),
    "z": _complex(ctypes.c_double),
}
"""How an argument of each kind is passed; `P` belongs to a library, which keeps the arrays."""
TYPES: dict[str, Any] = {
    "op": ctypes.c_int,
    "e": ctypes.c_int,
    "i": ctypes.c_int,
    "l": ctypes.c_longlong,
    "p": ctypes.c_void_p,
    "P": ctypes.c_void_p,
    "r": ctypes.c_void_p,
    "h": ctypes.POINTER(ctypes.c_int16),
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
