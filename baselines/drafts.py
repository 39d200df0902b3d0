"""Faulty drafts of an operator's module, made from its gold kernel by edits to the syntax tree.

Each draft has the status that it must get. They are what the scripted stand-in sends before the gold kernel, and what
tests send to see every status come out. No draft knows how it will be judged.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass

from kgb_gym.operators import Operator, get, gold_source
from kgb_gym.operators.oracle import aten_overload
from kgb_gym.verdict import Status

SLOW = "cublas/Saxpy_v2"
"""The only operator with a draft that never ends: it costs as long as the limits allow."""

_ATOMICS = frozenset({"atomic_add", "atomic_max", "atomic_min", "atomic_xchg", "atomic_and", "atomic_or", "atomic_xor"})


@dataclass(frozen=True)
class Draft:
    """One faulty module."""

    name: str
    source: str
    expect: Status
    """The status that it must get."""
    said: str
    """What a model might have said about it."""


Edit = Callable[[ast.Module, Operator], ast.Module | str | None]
"""Changes a fresh tree of the gold kernel; None if it doesn't apply to this operator."""


def drafts(name: str) -> tuple[Draft, ...]:
    """Every draft that applies to an operator, from the crudest fault to the subtlest.

    Raises:
        UnknownOperator: there is no such operator.
        FileNotFoundError: it has no gold kernel.
    """
    operator = get(name)
    gold = gold_source(name)
    made = []
    for label, edit, expect, said in _EDITS:
        result = edit(ast.parse(gold), operator)
        if result is None:
            continue
        source = result if isinstance(result, str) else ast.unparse(ast.fix_missing_locations(result)) + "\n"
        made.append(Draft(label, source, expect, said))
    return tuple(made)


def syntax_error(tree: ast.Module, operator: Operator) -> str:
    """The last function is never finished."""
    return ast.unparse(tree) + "\n\n\ndef _check(x:\n    return x\n"


def missing_interface(tree: ast.Module, operator: Operator) -> ast.Module | None:
    """The last interface has another name."""
    function = _function(tree, operator.interfaces[-1].function)
    if function is None:
        return None
    function.name = f"{function.name}_impl"
    return tree


def compile_error(tree: ast.Module, operator: Operator) -> ast.Module | None:
    """Every kernel uses a range that is no power of two."""
    kernels = _kernels(tree)
    for kernel in kernels:
        _insert(kernel, "_lane = tl.arange(0, 3)")
    return tree if kernels else None


def runtime_error(tree: ast.Module, operator: Operator) -> ast.Module | None:
    """The first interface looks a block size up that is not there."""
    function = _function(tree, operator.interfaces[0].function)
    if function is None:
        return None
    _insert(function, "_block = {'BLOCK_M': 64}['BLOCK_N']")
    return tree


def infinite_loop(tree: ast.Module, operator: Operator) -> ast.Module | None:
    """The first interface searches for a block size for ever. For one operator only (`SLOW`)."""
    function = _function(tree, operator.interfaces[0].function)
    if function is None or operator.id != SLOW:
        return None
    _insert(function, "_block = 64\nwhile _block % 3:\n    _block *= 2")
    return tree


def native(tree: ast.Module, operator: Operator) -> ast.Module | None:
    """The first interface calls the library that it should replace."""
    interface = operator.interfaces[0]
    function = _function(tree, interface.function)
    if function is None:
        return None
    arguments = _forwarded(function)
    if operator.source == "aten":
        packet, _, overload = interface.name.partition(".")
        tree.body.insert(0, ast.parse("import torch").body[0])
        target = f"torch.ops.aten.{packet}.{overload or 'default'}"
    else:
        library = "vllm._custom_ops" if operator.source == "vllm" else "nvmath.bindings.cublas"
        tree.body.insert(0, ast.parse(f"import {library} as _library").body[0])
        target = f"_library.{interface.function}"
    function.body = ast.parse(f"return {target}({arguments})").body
    return tree


def wrong_mask(tree: ast.Module, operator: Operator) -> ast.Module | None:
    """The first program along the grid stores nothing."""
    changed = False
    for kernel in _kernels(tree):
        for node in ast.walk(kernel):
            if isinstance(node, ast.Call) and _is_store(node):
                _narrow(node)
                changed = True
    return tree if changed else None


def wrong_dtype(tree: ast.Module, operator: Operator) -> ast.Module | None:
    """The first interface returns double precision, whatever it was given."""
    interface = operator.interfaces[0]
    function = _function(tree, interface.function)
    if function is None or operator.source != "aten" or operator.view or not _returns_new_tensor(interface.name):
        return None
    outer = copy.deepcopy(function)
    outer.body = ast.parse(f"return _draft({_forwarded(function)}).to(torch.float64)").body
    function.name = "_draft"
    tree.body.append(outer)
    return tree


_EDITS: tuple[tuple[str, Edit, Status, str], ...] = (
    ("syntax_error", syntax_error, Status.SYNTAX_ERROR, "Here is a first version, with a small self-check."),
    ("missing_interface", missing_interface, Status.MISSING_INTERFACE, "I put the shared part into a helper."),
    ("infinite_loop", infinite_loop, Status.TIMEOUT, "The block size is now searched for at run time."),
    ("compile_error", compile_error, Status.COMPILE_ERROR, "Each program now keeps track of its lanes."),
    ("runtime_error", runtime_error, Status.RUNTIME_ERROR, "The launch is configured from a table."),
    ("wrong_dtype", wrong_dtype, Status.MISMATCH, "Accumulating in double precision keeps it accurate."),
    ("wrong_mask", wrong_mask, Status.MISMATCH, "The mask now keeps programs from writing out of bounds."),
    ("native", native, Status.HACK, "The most common case now takes a fast path."),
)


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
    return found[-1] if found else None


def _kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list)
    ]


def _insert(function: ast.FunctionDef, statement: str) -> None:
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(function.body) > 1
    at = 1 if documented else 0
    function.body[at:at] = ast.parse(statement).body


def _forwarded(function: ast.FunctionDef) -> str:
    arguments = function.args
    parts = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg:
        parts.append(f"*{arguments.vararg.arg}")
    parts += [f"{a.arg}={a.arg}" for a in arguments.kwonlyargs]
    if arguments.kwarg:
        parts.append(f"**{arguments.kwarg.arg}")
    return ", ".join(parts)


def _is_store(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return name == "store" or name in _ATOMICS


def _narrow(node: ast.Call) -> None:
    given = next((k for k in node.keywords if k.arg == "mask"), None)
    before = given.value if given else node.args[2] if len(node.args) > 2 else ast.Constant(True)
    if isinstance(before, ast.Constant) and before.value is None:
        before = ast.Constant(True)
    after = ast.parse(f"tl.where(tl.program_id(0) > 0, {ast.unparse(before)}, False)", mode="eval").body
    if given:
        given.value = after
    elif len(node.args) > 2:
        node.args[2] = after
    else:
        node.keywords.append(ast.keyword("mask", after))


def _returns_new_tensor(name: str) -> bool:
    returns = aten_overload(name)._schema.returns
    return len(returns) == 1 and str(returns[0].type) == "Tensor" and returns[0].alias_info is None
