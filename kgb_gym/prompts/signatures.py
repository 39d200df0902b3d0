"""The Python functions that a submission defines, and the C declarations that cuBLAS routines have."""

from __future__ import annotations

import ast
from typing import Any

from kgb_gym.operators import Interface, Operator
from kgb_gym.operators.oracle import aten_overload

_ENUMS = {
    "trans": "cublasOperation_t", "uplo": "cublasFillMode_t", "side": "cublasSideMode_t", "mode": "cublasSideMode_t",
    "diag": "cublasDiagType_t", "computeType": "cublasComputeType_t", "executionType": "cudaDataType",
    "algo": "cublasGemmAlgo_t",
}  # fmt: skip
_ELEMENTS = {"S": "float", "D": "double", "C": "cuComplex", "Z": "cuDoubleComplex", "H": "__half"}


def functions(operator: Operator) -> tuple[str, ...]:
    """A `def` line for every interface, in order."""
    return tuple(_function(operator, interface) for interface in operator.interfaces)


def c_signatures(operator: Operator) -> tuple[str, ...]:
    """The C declaration of every interface of a cuBLAS operator, derived from its Python signature."""
    return tuple(_declaration(interface) for interface in operator.interfaces)


def _function(operator: Operator, interface: Interface) -> str:
    if operator.source != "aten":
        return f"def {interface.signature}:"
    parts, keywords = [], False
    for argument in aten_overload(interface.name)._schema.arguments:
        if argument.kwarg_only and not keywords:
            parts.append("*")
            keywords = True
        default = f"={argument.default_value!r}" if argument.has_default_value() else ""
        parts.append(f"{argument.name}{default}")
    return f"def {interface.function}({', '.join(parts)}):"


def _declaration(interface: Interface) -> str:
    definition = ast.parse(f"def {interface.signature}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    parts = ["cublasHandle_t handle"]
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        kind = ast.unparse(argument.annotation) if argument.annotation else ""
        parts.append(_c_parameter(interface, argument.arg, kind))
    return f"cublasStatus_t {interface.name}({', '.join(parts)});"


def _c_parameter(interface: Interface, name: str, kind: str) -> str:
    for prefix, enum in _ENUMS.items():
        if name.startswith(prefix):
            return f"{enum} {name}"
    if name.endswith("ype"):
        return f"cudaDataType {name}"
    const = "" if name in interface.writes else "const "
    element = _element(interface.name)
    if "Tensor" in kind:
        if name == "result" and interface.name.startswith("cublasI"):
            return "int *result"
        if name.endswith("array"):
            return f"{const}{element} *const {name}[]"
        return f"{const}{element} *{name}"
    if kind == "int":
        whole = "int64_t" if interface.name.endswith("_64") else "int"
        return f"long long int {name}" if name.startswith("stride") and whole == "int" else f"{whole} {name}"
    return f"const {_ELEMENTS.get(interface.name.removeprefix('cublas')[:1], 'void')} *{name}"


def _element(routine: str) -> Any:
    """The type of a routine's matrices; that of its scalars follows the first letter even where matrices have any."""
    letters = routine.removeprefix("cublas")
    if letters[:1] == "I" and letters[1:2].islower():
        return _ELEMENTS.get(letters[1].upper(), "void")
    return _ELEMENTS.get(letters[:1], "void") if "Ex" not in letters else "void"
