"""Triton's interpreter, made to compute what a GPU computes.

As released (3.6 to 3.9) it keeps bfloat16 as bit patterns and computes on those: `+`, `<`, `tl.dot`, `tl.sum`, casts to
and from integers and fp64 give nonsense, and fp32 → bfloat16 truncates where every GPU rounds to nearest even. It also
ignores `input_precision`, so that fp32 products which a GPU would make in TF32 look exact, and passes floating-point
arguments on in double precision, where every GPU gets fp32; and a comparison of two numbers keeps their type, so that
it cannot be combined with a block of bools; and it lacks libdevice. `repair` puts these right in
the running process. Not covered: atomics on bfloat16, fp8 arithmetic, the approximations of `ex2.approx` and its like.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgb_gym.platforms import libdevice

_ARITHMETIC = (
    "create_fadd", "create_fsub", "create_fmul", "create_fdiv", "create_frem", "create_fneg", "create_precise_divf",
    "create_approx_divf", "create_minimumf", "create_minnumf", "create_maximumf", "create_maxnumf", "create_clampf",
    "create_fma", "create_cos", "create_sin", "create_exp", "create_exp2", "create_log", "create_log2", "create_floor",
    "create_ceil", "create_sqrt", "create_precise_sqrt", "create_rsqrt", "create_erf",
)  # fmt: skip
_COMPARISONS = tuple(f"create_fcmp{kind}" for kind in (
    "OLT", "OGT", "OLE", "OGE", "OEQ", "ONE", "ULT", "UGT", "ULE", "UGE", "UEQ", "UNE",
))  # fmt: skip
_MARK = "_kgb_repaired"


def to_float32(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values of bfloat16 bit patterns (uint16)."""
    return np.asarray(bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bfloat16(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Bit patterns (uint16) of the nearest bfloat16 values, ties to even; NaN stays NaN."""
    values = np.asarray(values, dtype=np.float32)
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.asarray(np.where(np.isnan(values), quiet, rounded)).astype(np.uint16)


def to_tf32(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """fp32 values rounded to TF32's ten bits of mantissa, ties away from zero, as `cvt.rna.tf32.f32` does."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = np.asarray((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(values), rounded, values)


def to_float8(values: np.ndarray[Any, Any], e5m2: bool) -> np.ndarray[Any, Any]:
    """Bit patterns (uint8) of the nearest fp8 values (e4m3, or e5m2), ties to even, saturated as a GPU does."""
    import torch

    kind = torch.float8_e5m2 if e5m2 else torch.float8_e4m3fn
    top = torch.finfo(kind).max
    wide = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
    return np.asarray(wide.clamp(-top, top).to(kind).view(torch.uint8).numpy())


def from_float8(bits: np.ndarray[Any, Any], e5m2: bool) -> np.ndarray[Any, Any]:
    """The values of fp8 bit patterns (uint8), NaN included."""
    import torch

    kind = torch.float8_e5m2 if e5m2 else torch.float8_e4m3fn
    return np.asarray(torch.from_numpy(np.array(bits, dtype=np.uint8)).view(kind).float().numpy())


def to_argument(value: float) -> float:
    """A kernel's floating-point argument as a GPU receives it: rounded to fp32, whatever it is used for."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def repair() -> None:
    """Patch the interpreter of this process. May be called again; does not read `TRITON_INTERPRET`."""
    import triton.language as tl
    from triton._C.libtriton import ir
    from triton.runtime import interpreter

    builder = interpreter.InterpreterBuilder
    if hasattr(builder, _MARK):
        return
    handle = interpreter.TensorHandle

    def is_bf16(value: Any) -> bool:
        return isinstance(value, handle) and value.dtype.scalar == tl.bfloat16

    def decode(value: Any) -> Any:
        return handle(to_float32(value.data), tl.float32) if is_bf16(value) else value

    def encode(value: Any) -> Any:
        return handle(to_bfloat16(value.data), tl.bfloat16)

    def through_float32(original: Callable[..., Any], again: bool) -> Callable[..., Any]:
        def op(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not any(is_bf16(a) for a in (*args, *kwargs.values())):
                return original(self, *args, **kwargs)
            result = original(self, *map(decode, args), **{k: decode(v) for k, v in kwargs.items()})
            return encode(result) if again else result

        return op

    def as_bool(original: Callable[..., Any]) -> Callable[..., Any]:
        def op(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            return handle(result.data, tl.int1) if result.data.dtype == np.bool_ else result

        return op

    for name in (n for n in dir(builder) if n.startswith(("create_fcmp", "create_icmp"))):
        setattr(builder, name, as_bool(getattr(builder, name)))
    for name in (*_ARITHMETIC, *_COMPARISONS):
        if hasattr(builder, name):
            setattr(builder, name, through_float32(getattr(builder, name), name in _ARITHMETIC))

    cast, to_float, dot, absolute = builder.cast_impl, builder.create_fp_to_fp, builder.create_dot, builder.create_fabs

    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        target = dst_type.scalar
        if target == tl.bfloat16:
            return src if is_bf16(src) else encode(src)
        return cast(self, decode(src), dst_type) if is_bf16(src) and target != tl.float32 else cast(self, src, dst_type)

    def create_fp_to_fp(self: Any, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        nearest = rounding_mode is None or rounding_mode == ir.ROUNDING_MODE.RTNE
        if dst_type.scalar == tl.bfloat16 and nearest and src.dtype.scalar.primitive_bitwidth >= 16:
            return cast_impl(self, src, dst_type)
        if dst_type.scalar in (tl.float8e4nv, tl.float8e5) and nearest and src.dtype.scalar.primitive_bitwidth >= 16:
            return handle(to_float8(decode(src).data, dst_type.scalar == tl.float8e5), dst_type.scalar)
        if src.dtype.scalar in (tl.float8e4nv, tl.float8e5) and dst_type.scalar.primitive_bitwidth >= 16:
            wide = handle(from_float8(src.data, src.dtype.scalar == tl.float8e5), tl.float32)
            return wide if dst_type.scalar == tl.float32 else create_fp_to_fp(self, wide, dst_type, rounding_mode)
        return to_float(self, src, dst_type, rounding_mode)

    def create_fabs(self: Any, arg: Any) -> Any:
        return handle(arg.data & np.uint16(0x7FFF), tl.bfloat16) if is_bf16(arg) else absolute(self, arg)

    def create_dot(self: Any, a: Any, b: Any, d: Any, input_precision: Any, *rest: Any) -> Any:
        if input_precision == ir.INPUT_PRECISION.TF32 and a.data.dtype == np.float32 and b.data.dtype == np.float32:
            a, b = (handle(to_tf32(x.data), x.dtype) for x in (a, b))
        if is_bf16(d):
            return encode(dot(self, decode(a), decode(b), decode(d), input_precision, *rest))
        return dot(self, decode(a), decode(b), d, input_precision, *rest)

    builder.cast_impl = cast_impl
    builder.create_fp_to_fp = create_fp_to_fp
    builder.create_fabs = create_fabs
    builder.create_dot = create_dot

    reduction = interpreter.ReduceScanOpInterface
    apply = reduction.apply

    def reduce(self: Any, inputs: Any) -> Any:
        """Combine bfloat16 in fp32 and round the result."""
        if not isinstance(inputs, tuple):
            return reduce(self, (inputs,))[0]
        if not any(is_bf16(t.handle) for t in inputs):
            return apply(self, inputs)
        wide = tuple(retyped(t, decode(t.handle)) if is_bf16(t.handle) else t for t in inputs)
        results = apply(self, wide)
        return tuple(
            retyped(r, encode(r.handle)) if is_bf16(t.handle) else r for t, r in zip(inputs, results, strict=True)
        )

    def retyped(tensor: Any, value: Any) -> Any:
        kind = tl.block_type(value.dtype, list(value.data.shape)) if tensor.type.is_block() else value.dtype
        return tl.core.tensor(value, kind)

    reduction.apply = reduce

    executor = interpreter.GridExecutor
    prepare = executor.__init__

    def with_quoted(self: Any, fn: Any, *args: Any, **kwargs: Any) -> None:
        """`BLOCK: "tl.constexpr"` is a constant as well: compiled, it is."""
        prepare(self, fn, *args, **kwargs)
        notes = getattr(fn, "__annotations__", {})
        quoted = (
            n for n, note in notes.items() if isinstance(note, str) and note.strip("\"'").split(".")[-1] == "constexpr"
        )
        self.constexprs = [*self.constexprs, *(n for n in quoted if n not in self.constexprs)]

    executor.__init__ = with_quoted
    convert = interpreter._implicit_cvt

    def argument(value: Any) -> Any:
        return to_argument(value) if isinstance(value, float) else convert(value)

    interpreter._implicit_cvt = argument
    libdevice.install(interpreter)
    setattr(builder, _MARK, True)
