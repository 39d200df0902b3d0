"""The surface of torch, Triton and the standard library that a submission's wrapper may name.

The screen reads these tables before anything runs; `verbs.py` classifies what the dispatcher then really sees.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import torch

IMPORTS = {
    "torch": None,
    "triton": None,
    "triton.language": None,
    "triton.language.extra": None,
    "triton.language.extra.libdevice": None,
    "triton.language.extra.cuda": None,
    "triton.language.extra.cuda.libdevice": None,
    "triton.language.math": None,
    "triton.language.standard": None,
    "triton.tools.tensor_descriptor": None,
    "math": None,
    "cmath": None,
    "numbers": None,
    "typing": frozenset({
        "Any", "Callable", "Dict", "Iterable", "List", "Literal", "NamedTuple", "Optional", "Sequence", "Tuple",
        "Type", "Union", "Final", "Mapping", "TYPE_CHECKING", "cast", "overload",
    }),
    "collections.abc": frozenset({"Callable", "Iterable", "Mapping", "Sequence"}),
    "collections": frozenset({"namedtuple", "OrderedDict", "defaultdict"}),
    "dataclasses": frozenset({"dataclass", "field"}),
    "enum": frozenset({"Enum", "IntEnum", "auto"}),
    "functools": frozenset({"cache", "lru_cache", "reduce", "wraps", "partial"}),
    "itertools": frozenset({"accumulate", "chain", "islice", "product", "repeat", "zip_longest"}),
    "operator": frozenset({"mul", "add", "sub", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne", "itemgetter"}),
    "contextlib": frozenset({"contextmanager", "nullcontext"}),
    "__future__": None,
}  # fmt: skip
"""Modules that may be imported, with the names that may be used of them; None: all, unless another table decides."""

BUILTINS_DENIED = frozenset({
    "exec", "eval", "compile", "__import__", "open", "globals", "locals", "vars", "dir", "input", "breakpoint",
    "setattr", "delattr", "memoryview", "help", "__builtins__", "__loader__", "__spec__", "__file__",
})  # fmt: skip

REUSABLE = frozenset({"input", "dir", "vars", "help", "compile", "open"})
"""Builtins whose names may be parameters; the functions themselves do no harm that the fences do not stop."""

DTYPES = frozenset(n for n in dir(torch) if isinstance(getattr(torch, n), torch.dtype))

TORCH = {
    "alloc": frozenset({"empty", "empty_like", "empty_strided", "empty_permuted", "resize_as_"}),
    "fill": frozenset({
        "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "scalar_tensor", "tensor", "as_tensor", "fill",
        "fill_", "zero_",
    }),
    "view": frozenset({
        "as_strided", "view_as_real", "view_as_complex", "reshape", "transpose", "permute", "movedim", "moveaxis",
        "swapaxes", "swapdims", "unsqueeze", "squeeze", "flatten", "unflatten", "ravel", "narrow", "select", "split",
        "chunk", "unbind", "diagonal", "broadcast_tensors", "broadcast_to", "real", "imag", "conj", "t", "detach",
        "unsafe_split", "unsafe_chunk", "split_with_sizes", "atleast_1d", "atleast_2d", "atleast_3d", "as_strided_",
        "detach_", "adjoint", "hsplit", "vsplit", "dsplit", "tensor_split", "positive", "unsafe_split_with_sizes",
    }),
    "copy": frozenset({"clone", "resolve_conj", "resolve_neg"}),
    "draw": frozenset({"randint"}),
    "metadata": DTYPES | frozenset({
        "Tensor", "Size", "dtype", "device", "layout", "memory_format", "strided", "contiguous_format",
        "channels_last", "channels_last_3d", "preserve_format", "Generator", "finfo", "iinfo", "promote_types",
        "result_type", "can_cast", "is_tensor", "is_floating_point", "is_complex", "numel", "broadcast_shapes",
        "get_default_dtype", "no_grad", "inference_mode", "enable_grad", "is_grad_enabled", "version", "__version__",
        "inf", "nan", "pi", "e", "get_device", "is_same_size", "is_signed", "LongTensor", "FloatTensor",
        "cuda", "library", "float8_e4m3fn", "float8_e5m2",
    }) - {"library"},
}  # fmt: skip
"""Names directly under `torch`, by the verb that the operator's policy must allow."""

TORCH_DEEP = frozenset({
    "torch.cuda.is_available", "torch.cuda.current_device", "torch.cuda.device_count", "torch.cuda.get_device_name",
    "torch.cuda.get_device_properties", "torch.cuda.get_device_capability", "torch.cuda.device",
    "torch.cuda.device_of", "torch.cuda.is_bf16_supported", "torch.version.cuda", "torch.version.hip",
    "torch.version.__version__", "torch.finfo", "torch.iinfo",
})  # fmt: skip
"""Names further down that may be used."""

METHODS = {
    "alloc": frozenset({"new_empty", "new_empty_strided", "resize_", "resize_as_"}),
    "fill": frozenset({"new_zeros", "new_ones", "new_full", "new_tensor", "fill_", "zero_"}),
    "copy": frozenset({
        "contiguous", "clone", "to", "type", "type_as", "float", "double", "half", "bfloat16", "int", "long",
        "short", "char", "byte", "bool", "cfloat", "cdouble", "chalf", "cuda", "resolve_conj", "resolve_neg",
    }),
    "place": frozenset({"copy_"}),
    "view": frozenset({
        "view", "view_as", "reshape", "reshape_as", "permute", "transpose", "t", "T", "mT", "H", "mH", "adjoint",
        "expand", "expand_as", "broadcast_to", "flatten", "unflatten", "ravel", "unsqueeze", "unsqueeze_", "squeeze",
        "squeeze_", "select", "narrow", "as_strided", "detach", "movedim", "moveaxis", "swapaxes", "swapdims",
        "unbind", "chunk", "split", "split_with_sizes", "tensor_split", "hsplit", "vsplit", "dsplit", "diagonal",
        "unfold", "real", "imag", "conj", "data", "transpose_", "t_", "detach_", "unsafe_split", "unsafe_chunk",
        "as_strided_", "swapaxes_", "swapdims_", "positive", "unsafe_split_with_sizes",
    }),
    "metadata": frozenset({
        "shape", "size", "stride", "dim", "ndim", "ndimension", "numel", "nelement", "element_size", "itemsize",
        "nbytes", "dtype", "device", "layout", "is_contiguous", "is_cuda", "is_cpu", "is_floating_point", "is_complex",
        "is_conj", "is_neg", "is_signed", "is_sparse", "is_quantized", "is_meta", "is_leaf", "is_inference",
        "is_non_overlapping_and_dense", "is_same_size", "is_set_to", "storage_offset", "data_ptr", "get_device",
        "requires_grad", "grad_fn", "names", "dim_order", "is_pinned", "is_shared", "sym_numel", "const_data_ptr",
    }),
}  # fmt: skip
"""Attributes of tensors, by the verb that the operator's policy must allow."""

ELSEWHERE = frozenset(
    name
    for kind in (list, dict, set, frozenset, tuple, str, int, float, complex, bytes, range, type(None), BaseException)
    for name in dir(kind)
    if not name.startswith("__")
) | frozenset({"arg_names", "fn", "run", "name", "names", "kernel", "block", "register", "apply", "item_size"})
"""Names that other objects have as well: the screen lets them pass, the audit sees what they do."""

MODULE_DUNDERS = frozenset({"__name__", "__doc__", "__version__"})

METHOD_DUNDERS = frozenset({
    "__init__", "__call__", "__repr__", "__str__", "__len__", "__iter__", "__next__", "__getitem__", "__contains__",
    "__hash__", "__eq__", "__enter__", "__exit__", "__post_init__", "__bool__", "__add__", "__mul__", "__lt__",
})  # fmt: skip
"""Special methods that a class may define."""

READ_BACK = frozenset({"item", "tolist", "numpy", "cpu", "__array__", "nonzero", "is_nonzero", "equal", "allclose"})
"""Tensor attributes that bring values to the host."""

NEVER = frozenset({
    "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "gi_frame", "gi_code", "cr_frame", "ag_frame",
    "tb_frame", "tb_next", "co_code", "func_globals", "sys", "os", "modules", "builtins", "subprocess", "ctypes",
    "importlib", "inspect", "exec", "eval", "knobs",
})  # fmt: skip
"""Attributes that lead from an ordinary value to frames, modules or the interpreter, whatever they are read from."""


@cache
def tensor_names() -> frozenset[str]:
    """Every attribute of `torch.Tensor` that no ordinary container has."""
    return frozenset(dir(torch.Tensor)) - ELSEWHERE


def torch_verb(path: tuple[str, ...]) -> str | None:
    """The verb under which a dotted name from `torch` may be used; "" if torch has no such name; None if it may not."""
    if len(path) == 1:
        return "metadata"
    if ".".join(path) in TORCH_DEEP:
        return "metadata"
    for verb, names in TORCH.items():
        if path[1] in names:
            if len(path) == 2 or path[1] in DTYPES or path[1] in {"Size", "device", "__version__"}:
                return verb
            if path[1] == "Tensor":
                return method_verb(path[2]) if len(path) == 3 else None
            if path[1] in {"cuda", "version"} and len(path) == 3:
                return None if _exists(path) else ""
            return verb if verb == "metadata" and not _exists(path) else None
    return None if _exists(path) else ""


def method_verb(name: str) -> str | None:
    """The verb under which an attribute may be read; "" if it is no tensor's business; None if it may not."""
    for verb, names in METHODS.items():
        if name in names:
            return verb
    return None if name in tensor_names() else ""


TRITON_TOP = frozenset({
    "jit", "autotune", "heuristics", "Config", "cdiv", "next_power_of_2", "language", "tools", "__version__",
    "constexpr_function", "must_use_result",
})  # fmt: skip
NOT_LANGUAGE = frozenset({"extern_elementwise", "dispatch", "builtin", "handle", "to_ir"})
"""Public names inside `triton.language` that reach past it: foreign object files, the compiler's builder."""


@cache
def triton_allows(path: tuple[str, ...], module: bool = True) -> bool:
    """Whether a dotted name from `triton` is part of the kernel language, not of the compiler or the runtime.

    Args:
        path: the name's parts.
        module: whether it may name a module of the language itself.
    """
    if len(path) == 1:
        return module
    if path[1] not in TRITON_TOP:
        return False
    if path[1] == "tools":
        return path[2:3] in ((), ("tensor_descriptor",))
    if path[1] != "language":
        return len(path) == 2
    return _of_language(path[2:], module)


def _of_language(rest: tuple[str, ...], module: bool) -> bool:
    """Whether every step from `triton.language` stays inside it. Names that do not exist are left to Python to report,
    as another version may have them."""
    import triton.language
    import triton.language.extra.libdevice

    value: Any = triton.language
    for number, part in enumerate(rest):
        if part.startswith("_") or part in NOT_LANGUAGE:
            return False
        if not isinstance(value, ModuleType):
            return all(p in kernel_attributes() for p in rest[number:])
        value = getattr(value, part, None)
        if value is None:
            return True
        home = value.__name__ if isinstance(value, ModuleType) else _home(value)
        if not home.startswith("triton.language") and not isinstance(value, (int, float, str)):
            return number == 0 and part in triton.language.__all__
    return module or not isinstance(value, ModuleType)


def _home(value: Any) -> str:
    inner = getattr(value, "fn", value)
    return str(getattr(inner, "__module__", None) or type(value).__module__)


@cache
def kernel_attributes() -> frozenset[str]:
    """Attributes that values inside a kernel have: blocks, types, constants and descriptors."""
    import triton.language as tl

    kinds = (tl.tensor, tl.dtype, tl.block_type, tl.pointer_type, tl.constexpr, tl.tensor_descriptor)
    found = {n for kind in kinds for n in dir(kind) if not n.startswith("_")}
    return frozenset(found - NOT_LANGUAGE | {
        "dtype", "shape", "type", "numel", "ndim", "rank", "element_ty", "address_space", "scalar", "value", "name",
        "primitive_bitwidth", "int_bitwidth", "itemsize", "fp_mantissa_width", "exponent_bias", "int_signedness", "T",
        "block_shape", "strides", "base", "load", "store", "gather", "scatter",
    })  # fmt: skip


def _exists(path: tuple[str, ...]) -> bool:
    value: object = torch
    for part in path[1:]:
        try:
            value = getattr(value, part)
        except Exception:  # noqa: BLE001 (any failure to resolve means the name is not there)
            return False
    return True
