"""Functions of CUDA's libdevice for Triton's interpreter, which has none.

Kernels call them as `triton.language.extra.libdevice.tanh(x)`. Compiled, Triton links NVIDIA's bitcode; interpreted, the
generic module returns None and the CUDA one raises. Here each is computed in double precision and rounded once, which is
at least as near as the bitcode ("CUDA Math API", one to a few units in the last place). The fast approximations
(`fast_expf`, …) are therefore too good, and what rounds in another direction than to nearest, the Bessel functions of
order n and a few integer functions are missing: those say so.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
PREFIX = "__nv_"


def _torch(name: str) -> Callable[[Array], Array]:
    def function(x: Array) -> Array:
        import torch

        value = torch.from_numpy(np.array(x, dtype=np.float64))
        return np.asarray(getattr(torch.special, name)(value).numpy())

    return function


def _gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan


def _remainder(x: float, y: float) -> float:
    try:
        return math.remainder(x, y)
    except ValueError:
        return math.nan


def _round(x: Array) -> Array:
    return np.asarray(np.trunc(x + np.copysign(np.nextafter(0.5, 0.0), x)))


def _sinpi(x: Array) -> Array:
    turn = np.fmod(x, 2.0)
    return np.where(turn == np.trunc(turn), turn * 0.0, np.sin(np.pi * turn))


def _cospi(x: Array) -> Array:
    turn = np.fmod(np.abs(x), 2.0)
    return np.where(turn % 1.0 == 0.5, 0.0, np.cos(np.pi * turn))


def _fma(x: Array, y: Array, z: Array) -> Array:
    return np.asarray(x.astype(np.longdouble) * y + z)


def _norm(*parts: Array) -> Array:
    return np.asarray(np.sqrt(sum(p * p for p in parts)))


ndtri, ndtr = _torch("ndtri"), _torch("ndtr")
UNARY: dict[str, Callable[[Array], Array]] = {
    "fabs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "nearbyint": np.rint,
    "round": _round, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "rcbrt": lambda x: 1 / np.cbrt(x),
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(10.0, x), "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinpi": _sinpi, "cospi": _cospi,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": _torch("erf"), "erfc": _torch("erfc"),
    "erfinv": _torch("erfinv"), "erfcinv": lambda x: -ndtri(x / 2) / math.sqrt(2), "erfcx": _torch("erfcx"),
    "normcdf": ndtr, "normcdfinv": ndtri, "lgamma": _torch("gammaln"), "tgamma": np.vectorize(_gamma, otypes=[float]),
    "j0": _torch("bessel_j0"), "j1": _torch("bessel_j1"), "y0": _torch("bessel_y0"), "y1": _torch("bessel_y1"),
    "cyl_bessel_i0": _torch("i0"), "cyl_bessel_i1": _torch("i1"), "logb": lambda x: np.floor(np.log2(np.abs(x))),
}  # fmt: skip
"""Of floating-point numbers, for both types: `sin` and `sinf`."""
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "pow": np.power, "fmod": np.fmod, "remainder": np.vectorize(_remainder, otypes=[float]), "atan2": np.arctan2,
    "hypot": np.hypot, "rhypot": lambda x, y: 1 / np.hypot(x, y), "copysign": np.copysign,
    "fdim": lambda x, y: np.where(np.isnan(x) | np.isnan(y), np.nan, np.maximum(x - y, 0.0)),
}  # fmt: skip
MORE: dict[str, Callable[..., Array]] = {
    "fma": _fma, "norm3d": _norm, "norm4d": _norm, "rnorm3d": lambda *p: 1 / _norm(*p), "rnorm4d": lambda *p: 1 / _norm(*p),
}  # fmt: skip
BOTH: dict[str, Callable[..., Array]] = {**UNARY, **BINARY, **MORE}
NEAREST: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "rcp": lambda x: 1 / x, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
"""`fadd_rn`, `dadd_rn`, …: rounded to nearest."""
SINGLE: dict[str, Callable[..., Array]] = {
    "saturatef": lambda x: np.clip(np.nan_to_num(x, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0),
    "fast_fdividef": np.divide, "fast_powf": np.power,
    **{f"fast_{n}f": UNARY[n] for n in ("sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "tanh")},
}  # fmt: skip
BY_SYMBOL: dict[str, Callable[..., Array]] = {
    **BOTH, **{f"{name}f": function for name, function in BOTH.items()}, **SINGLE,
    **{f"{kind}{name}_rn": function for name, function in NEAREST.items() for kind in "fd"}, "fma_rn": _fma, "fmaf_rn": _fma,
}  # fmt: skip
TESTS: dict[str, Callable[[Array], Array]] = {
    "isnand": np.isnan, "isnanf": np.isnan, "isinfd": np.isinf, "isinff": np.isinf, "isfinited": np.isfinite,
    "finitef": np.isfinite, "signbitd": np.signbit, "signbitf": np.signbit,
}  # fmt: skip
DIRECTIONS: dict[str, Callable[[Array], Array]] = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
WHOLE: dict[str, Callable[[Array], Array]] = {"llrint": np.rint, "llround": _round, "ilogb": UNARY["logb"]}
AS_THEY_ARE = {
    "int_as_float",
    "uint_as_float",
    "float_as_int",
    "float_as_uint",
    "longlong_as_double",
    "double_as_longlong",
}
_TO_INTEGER = re.compile(r"(?:float|double)2(?:u?int|u?ll)_(r[nzdu])")
_TO_FLOAT = re.compile(r"(?:u?int|u?ll|double)2(?:float|double)_rn")


COUNTS: dict[str, Callable[[int, int], int]] = {
    "popc": lambda width, v: v.bit_count(), "clz": lambda width, v: width - v.bit_length(),
    "ffs": lambda width, v: (v & -v).bit_length(),
}  # fmt: skip


def evaluate(symbol: str, arguments: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    """What a function of libdevice gives.

    Args:
        symbol: its name there, such as `__nv_tanhf`.
        arguments: equally shaped arrays of the types that the symbol takes.
        dtype: of the result.

    Raises:
        NotImplementedError: it is not among those made here.
    """
    name = symbol.removeprefix(PREFIX)
    with np.errstate(all="ignore"):
        value = _value(name, arguments, dtype)
    if value is None:
        raise NotImplementedError(f"the interpreter has no {symbol} of CUDA's libdevice: write it from `tl` functions")
    return np.asarray(value).astype(dtype, copy=False)


def _value(name: str, arguments: Sequence[Array], dtype: np.dtype[Any]) -> Array | None:
    first = arguments[0]
    if name in AS_THEY_ARE:
        return first.view(dtype)
    if name in ("nextafter", "nextafterf"):
        return np.asarray(np.nextafter(*arguments))
    if name in TESTS:
        return TESTS[name](first)
    if name in ("abs", "llabs"):
        return np.abs(first)
    if name in ("popc", "popcll", "clz", "clzll", "ffs", "ffsll"):
        return _bits(name.removesuffix("ll"), first)
    if name in ("mulhi", "umulhi"):
        kind: Any = np.int64 if name == "mulhi" else np.uint64
        return np.asarray((arguments[0].astype(kind) * arguments[1].astype(kind)) >> kind(32))
    wide = [a.astype(np.float64) for a in arguments]
    if name.removesuffix("f") in ("ldexp", "scalbn", "powi"):
        return np.asarray(np.power(*wide) if name.startswith("pow") else np.ldexp(wide[0], arguments[1]))
    if name.removesuffix("f") in ("llrint", "llround", "ilogb"):
        rule = WHOLE[name.removesuffix("f")]
        return _saturated(rule(wide[0]), dtype)
    if match := _TO_INTEGER.fullmatch(name):
        return _saturated(DIRECTIONS[match[1]](wide[0]), dtype)
    if _TO_FLOAT.fullmatch(name):
        return first
    function = BY_SYMBOL.get(name)
    return None if function is None else function(*wide)


def _bits(name: str, values: Array) -> Array:
    width = values.dtype.itemsize * 8
    unsigned = values.astype(np.int64).astype(np.uint64) & np.uint64((1 << width) - 1)
    count = functools.partial(COUNTS[name], width)
    return np.asarray(np.vectorize(count, otypes=[np.int64])(unsigned.astype(object)))


def _saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    """Whole numbers in the type's range; NaN is 0."""
    info = np.iinfo(dtype)
    inside = np.clip(np.nan_to_num(values, nan=0.0), float(info.min), float(info.max))
    top = inside >= float(info.max)
    return np.where(top, info.max, np.where(top, 0.0, inside).astype(dtype))


def install(interpreter: ModuleType) -> None:
    """Let kernels of this process's interpreter call libdevice, by its generic module and by CUDA's."""
    from triton.language.extra import libdevice as generic
    from triton.language.extra.cuda import libdevice as cuda

    handle, semantic = interpreter.TensorHandle, interpreter.interpreter_semantic

    def create_extern_elementwise(
        self: Any, library: str, path: str, symbol: str, given: Sequence[Any], kind: Any, is_pure: bool
    ) -> Any:
        data = np.broadcast_arrays(*(g.data for g in given))
        scalar = kind.scalar
        return handle(evaluate(symbol, data, np.dtype(interpreter._get_np_dtype(scalar))), scalar)

    interpreter.InterpreterBuilder.create_extern_elementwise = create_extern_elementwise

    def forward(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **{**kwargs, "_semantic": semantic})

        return call

    for name, stub in list(vars(generic).items()):
        function = getattr(cuda, name, None)
        if callable(stub) and not name.startswith("_") and function is not None:
            ready = forward(function)
            setattr(cuda, name, ready)
            setattr(generic, name, ready)
