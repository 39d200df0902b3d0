"""What a call should give, computed on the CPU from the definition and independent of any submission.

ATen interfaces are judged by the native operator: once on the call as it is (dtype, shape, strides, aliases, errors)
and once on inputs raised to double precision (values). vLLM and cuBLAS interfaces bring a plain definition.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import torch

from kgb_gym.operators.compare import Target
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.maker import Seeded

WIDE = {
    torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
    torch.float64: torch.float64, torch.complex64: torch.complex128, torch.complex128: torch.complex128,
}  # fmt: skip


@dataclass(frozen=True)
class Expected:
    """What one call should give."""

    returns: tuple[Any, ...] = ()
    """Targets for returned tensors in order, other values as they are."""
    written: Mapping[str, Target] = field(default_factory=dict)
    """Targets for written arguments by name; of an argument that is a list, by `name[index]` for each of its tensors."""
    aliases: Mapping[int, str] = field(default_factory=dict)
    """Which returned tensor must share the storage of which argument."""
    same_object: Mapping[int, str] = field(default_factory=dict)
    """Which returned tensor must be that argument itself (in-place and `out=`)."""
    raises: str = ""
    """Name of the exception the call must raise; empty: none."""


def aten_overload(name: str) -> Any:
    """The `torch.ops.aten` overload of an interface's name: `softmax.int`, `cos` (its `default`)."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def parameters(operator: Operator, interface: Interface) -> tuple[str, ...]:
    """Names of the interface's parameters in order: from the ATen schema, or from the declared signature."""
    if operator.source == "aten":
        return tuple(a.name for a in aten_overload(interface.name)._schema.arguments)
    return _declared(interface.signature)


@lru_cache(maxsize=1024)
def _declared(signature: str) -> tuple[str, ...]:
    definition = ast.parse(f"def {signature}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    return tuple(a.arg for a in (*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs))


def written_names(operator: Operator, interface: Interface) -> tuple[str, ...]:
    """Names of the arguments that the interface may write."""
    if operator.source == "aten":
        arguments = aten_overload(interface.name)._schema.arguments
        return tuple(a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write)
    return interface.writes


def bind(operator: Operator, interface: Interface, call: Call) -> dict[str, Any]:
    """The call's arguments by name (only those given)."""
    names = parameters(operator, interface)
    return {**dict(zip(names, call.args, strict=False)), **call.kwargs}


def expected(operator: Operator, interface: Interface, call: Call) -> Expected:
    """What `call` should give. The call itself is not changed."""
    if operator.source == "aten" and interface.oracle is None:
        return _native(operator, interface, call)
    assert interface.oracle is not None
    arguments = bind(operator, interface, call)
    own = bind(operator, interface, call.clone())
    answers = interface.oracle(**own)
    touched = interface.touched(**arguments) if interface.touched else {}
    written = {}
    for name in interface.writes:
        original = arguments.get(name)
        if isinstance(original, torch.Tensor):
            written[name] = _defined(name, original, answers[name], touched.get(name))
        for index, item in enumerate(original if isinstance(original, list) else ()):
            mask = touched[name][index] if name in touched else None
            label = f"{name}[{index}]"
            written[label] = replace(_defined(label, item, answers[name][index], mask), item=index)
    leaves = answers.get("return", ())
    leaves = leaves if isinstance(leaves, tuple) else (leaves,)
    aliases, same = _relations(leaves, own, interface.writes)
    return Expected(tuple(_returned(i, leaf, len(leaves)) for i, leaf in enumerate(leaves)), written, aliases, same)


def _defined(name: str, original: torch.Tensor, answer: torch.Tensor | Target, mask: torch.Tensor | None) -> Target:
    target = answer if isinstance(answer, Target) else None
    if target is None:
        assert isinstance(answer, torch.Tensor)
        precise = answer if answer.dtype in (torch.float64, torch.complex128) else None
        target = Target(name, answer.to(original.dtype), precise)
    reference = target.reference if mask is None else torch.where(mask, target.reference, original)
    return replace(target, name=name, reference=reference, touched=mask)


def _returned(index: int, leaf: Any, count: int) -> Any:
    label = "return" if count == 1 else f"return[{index}]"
    if isinstance(leaf, torch.Tensor):
        return Target(label, leaf)
    return replace(leaf, name=label) if isinstance(leaf, Target) else leaf


def _relations(
    leaves: Sequence[Any], arguments: Mapping[str, Any], writes: Sequence[str]
) -> tuple[dict[int, str], dict[int, str]]:
    """Which returned tensor shares the memory of which argument, and which of them may be written."""
    aliases, same = {}, {}
    for index, leaf in enumerate(leaves):
        tensor = leaf.reference if isinstance(leaf, Target) else leaf
        for name, argument in arguments.items():
            if isinstance(tensor, torch.Tensor) and isinstance(argument, torch.Tensor) and _shares(argument, tensor):
                aliases[index] = name
                if name in writes:
                    same[index] = name
    return aliases, same


def argument(arguments: Mapping[str, Any], name: str) -> Any:
    """The argument that a target's name says: `C`, or `Carray[2]` for one tensor of a list."""
    base, _, index = name.partition("[")
    return arguments[base][int(index[:-1])] if index else arguments[base]


def _native(operator: Operator, interface: Interface, call: Call) -> Expected:
    op = aten_overload(interface.name)
    plain = _real(call.clone())
    try:
        with torch.no_grad():
            try:
                result = op(*plain.args, **plain.kwargs)
            except NotImplementedError:
                if not operator.random:
                    raise
                result = _through_float32(op, plain, written_names(operator, interface))
    except Exception as error:  # noqa: BLE001 (whatever the native operator raises is what a call must raise)
        return Expected(raises=type(error).__name__)
    leaves = list(result) if isinstance(result, (list, tuple)) else [] if result is None else [result]
    wide = _precise(op, call) if _judged_in_double(operator, interface) else None
    arguments = bind(operator, interface, plain)
    names = written_names(operator, interface)
    returns: list[Any] = []
    aliases, same = _relations(leaves, arguments, names)
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, torch.Tensor):
            returns.append(leaf)
            continue
        label = "return" if len(leaves) == 1 else f"return[{index}]"
        returns.append(_target(label, leaf, wide[0][index] if wide else None))
    written = {}
    for name in (n for n in names if n in arguments):
        if isinstance(arguments[name], torch.Tensor):
            written[name] = _target(name, arguments[name], wide[1].get(name) if wide else None)
            continue
        for index, leaf in enumerate(arguments[name]):
            label = f"{name}[{index}]"
            written[label] = replace(_target(label, leaf, None), item=index)
    return Expected(tuple(returns), written, aliases, same)


def _through_float32(op: Any, call: Call, writes: Sequence[str]) -> Any:
    """What a random operator that the CPU lacks in 16-bit types gives on float32 copies, rounded; `call` is written.

    Raises:
        NotImplementedError: it lacks another type.
    """
    copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def widen(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype not in (torch.float16, torch.bfloat16):
            return tensor
        copies[id(tensor)] = tensor, tensor.float()
        return copies[id(tensor)][1]

    wide = call.map(widen)
    if not copies:
        raise NotImplementedError
    result = op(*wide.args, **wide.kwargs)
    given = {**dict(zip((a.name for a in op._schema.arguments), call.args, strict=False)), **call.kwargs}
    for name in writes:
        if id(given[name]) in copies:
            own, single = copies[id(given[name])]
            own.copy_(single)
            if result is single:
                return own
    return result.to(next(iter(copies.values()))[0].dtype)


def _target(name: str, reference: torch.Tensor, precise: torch.Tensor | None) -> Target:
    if precise is None or reference.dtype not in WIDE or precise.dtype not in (torch.float64, torch.complex128):
        return Target(name, reference)
    rounded = reference
    if reference.shape == precise.shape and not _overlaps(reference):
        rounded = torch.empty_strided(reference.shape, reference.stride(), dtype=reference.dtype).copy_(precise)
    return Target(name, rounded, precise)


def _precise(op: Any, call: Call) -> tuple[list[Any], dict[str, torch.Tensor]] | None:
    """The native operator in double precision: its returns, and the written arguments by name; None if it refuses."""
    schema = [a.name for a in op._schema.arguments]
    given = {**dict(zip(schema, call.args, strict=False)), **call.kwargs}
    dtype = given.get("dtype")
    outputs = [id(given[n]) for n in ("out",) if isinstance(given.get(n), torch.Tensor)]

    def widen(tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(dtype, torch.dtype) and id(tensor) not in outputs:
            tensor = tensor.to(dtype)
        if tensor.dtype not in WIDE:
            return tensor.clone()
        # An `out` is contiguous: `_softmax.out` of the CPU writes a transposed one in the wrong order.
        strides = torch.empty(tensor.shape, device="meta").stride() if id(tensor) in outputs else _dense(tensor)
        return torch.empty_strided(tensor.shape, strides, dtype=WIDE[tensor.dtype]).copy_(tensor)

    if isinstance(dtype, torch.dtype) and dtype in WIDE:
        given["dtype"] = WIDE[dtype]
    wide = _real(Call((), given).map(widen))
    arguments = dict(wide.kwargs)
    positional = [arguments.pop(n) for n in schema[: len(call.args)]]
    try:
        with torch.no_grad(), _default_dtype(torch.float64) if _takes_default(call, outputs) else nullcontext():
            result = op(*positional, **arguments)
    except Exception:  # noqa: BLE001 (refused in double precision: judged at its own)
        return None
    leaves = list(result) if isinstance(result, (list, tuple)) else [result]
    return leaves, {n: v for n, v in wide.kwargs.items() if isinstance(v, torch.Tensor)}


def switches_default_dtype(operator: Operator, interface: Interface, call: Call) -> bool:
    """Whether `expected` sets torch's default dtype for a while, which all threads of the process see."""
    if operator.source != "aten" or interface.oracle is not None or not _judged_in_double(operator, interface):
        return False
    return _takes_default(call, [id(bind(operator, interface, call).get("out"))])


def _judged_in_double(operator: Operator, interface: Interface) -> bool:
    """Whether the native operator is asked in double precision, too."""
    exact = (interface.compare or operator.compare).exact
    return not (exact or operator.view or operator.random)


def _takes_default(call: Call, outputs: Sequence[int]) -> bool:
    """Whether the default dtype may be that of an answer: nothing floating goes in."""
    given = [t.dtype for t in call.tensors() if id(t) not in outputs]
    return not any(d.is_floating_point or d.is_complex for d in given)


def _real(call: Call) -> Call:
    """The call with `Seeded` stand-ins turned into generators."""

    def swap(value: Any) -> Any:
        return torch.Generator().manual_seed(value.seed) if isinstance(value, Seeded) else value

    return Call(tuple(swap(a) for a in call.args), {k: swap(v) for k, v in call.kwargs.items()})


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _shares(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(a.untyped_storage()._cdata == b.untyped_storage()._cdata)


def _overlaps(tensor: torch.Tensor) -> bool:
    return any(s == 0 and n > 1 for s, n in zip(tensor.stride(), tensor.shape, strict=True))


def _dense(tensor: torch.Tensor) -> tuple[int, ...]:
    """Strides without gaps or overlaps, dimensions in the tensor's own order of memory: copying is cheap then."""
    return torch.empty_like(tensor, device="meta").stride()
