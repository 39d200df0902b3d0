"""How the thing to be replaced is called: a vLLM wrapper's source, a cuBLAS routine's chain of C calls (Table 5).

The wrapper's source is read from the installed vLLM, without importing it. The chain is written here, from the
operator's signature.
"""

from __future__ import annotations

import ast
import importlib.util
import textwrap
from functools import cache
from pathlib import Path

from kgb_gym.operators import Interface, Operator

MAX_WRAPPER = 8000
"""Characters of a wrapper's source that are shown."""

_SCALARS = {
    "S": "ctypes.c_float({0})", "D": "ctypes.c_double({0})", "H": "half({0})",
    "C": "(ctypes.c_float * 2)({0}.real, {0}.imag)", "Z": "(ctypes.c_double * 2)({0}.real, {0}.imag)",
}  # fmt: skip
"""A host scalar of each element type, as C code finds it in memory."""


def wrapper_source(operator: Operator) -> str:
    """The functions of the installed `vllm._custom_ops` that the operator's interfaces are named after; empty where no
    vLLM is installed, or it has no such function."""
    found = _functions(_custom_ops())
    texts = [found[i.function] for i in operator.interfaces if i.function in found]
    whole = "\n\n\n".join(texts)
    return whole if len(whole) <= MAX_WRAPPER else whole[:MAX_WRAPPER].rsplit("\n", 1)[0] + "\n# [...]"


def call_chain(operator: Operator) -> str:
    """The calls around a cuBLAS routine: library, handle, stream, pointer mode, the routine, and its status."""
    calls = [_call(interface) for interface in operator.interfaces]
    results = any(_result(interface) for interface in operator.interfaces)
    mode = (
        "1)   # CUBLAS_POINTER_MODE_DEVICE: the result is written to device memory"
        if results
        else "0)   # CUBLAS_POINTER_MODE_HOST: scalars are read from host memory"
    )
    lines = [
        'cublas = ctypes.CDLL("libcublas.so")',
        "handle = ctypes.c_void_p()",
        "cublas.cublasCreate_v2(ctypes.byref(handle))",
        "cublas.cublasSetStream_v2(handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))",
        f"cublas.cublasSetPointerMode_v2(handle, {mode}",
        *calls,
        "assert status == 0              # CUBLAS_STATUS_SUCCESS",
        "cublas.cublasDestroy_v2(handle)",
    ]
    return "\n".join(lines)


def _call(interface: Interface) -> str:
    arguments = ["handle", *(_argument(interface, a.arg, kind) for a, kind in _parameters(interface))]
    one_line = f"status = cublas.{interface.name}({', '.join(arguments)})"
    if len(one_line) <= 110:
        return one_line
    rows = textwrap.wrap(", ".join(a.replace(" ", "\0") for a in arguments), 100)
    body = "\n".join(f"    {row}" for row in rows).replace("\0", " ")
    return f"status = cublas.{interface.name}(\n{body})"


def _argument(interface: Interface, name: str, kind: str) -> str:
    if "Tensor" in kind:
        if "list" in kind.lower() or "Sequence" in kind or "tuple" in kind:
            return f"pointers({name})"
        return f"{name}.data_ptr()"
    if kind == "str":
        return f"op({name})"
    if kind == "int":
        return name
    scalar = _SCALARS.get(interface.name.removeprefix("cublas")[:1], "{0}").format(name)
    return scalar if scalar.startswith("(") else f"ctypes.byref({scalar})"


def _result(interface: Interface) -> bool:
    return any(a.arg == "result" and "Tensor" in kind for a, kind in _parameters(interface))


def _parameters(interface: Interface) -> list[tuple[ast.arg, str]]:
    definition = ast.parse(f"def {interface.signature}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return [(a, ast.unparse(a.annotation) if a.annotation else "") for a in every]


@cache
def _custom_ops() -> Path | None:
    try:
        spec = importlib.util.find_spec("vllm")
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "_custom_ops.py"
        if path.is_file():
            return path
    return None


@cache
def _functions(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}
    nodes = (n for n in tree.body if isinstance(n, ast.FunctionDef))
    return {n.name: ast.get_source_segment(text, n) or "" for n in nodes}
