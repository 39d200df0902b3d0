"""What may stand inside a kernel: Triton's language, and nothing that only a Python interpreter would understand.

On the CPU kernels are Python under Triton's interpreter, in the process whose outputs the judge believes. Compiling them
for a GPU as well refuses host code that is reached there, but not in a branch that only the interpreter takes. So the
syntax tree is held against allowlists of statements, names and attributes.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping

from kgb_gym.verification import surface
from kgb_gym.verification.source import dotted

BUILTINS = frozenset({
    "range", "len", "min", "max", "abs", "int", "float", "bool", "str", "tuple", "list", "isinstance", "print", "sum",
    "slice", "zip", "enumerate", "reversed", "round", "pow", "divmod", "any", "all", "AssertionError", "ValueError",
    "NotImplementedError", "RuntimeError", "NotImplemented", "Ellipsis", "True", "False", "None",
})  # fmt: skip
"""Python's own names that a kernel may use."""

FORBIDDEN = {
    ast.Import: "an import", ast.ImportFrom: "an import", ast.Global: "a global statement",
    ast.Nonlocal: "a nonlocal statement", ast.ClassDef: "a class", ast.FunctionDef: "a nested function",
    ast.AsyncFunctionDef: "an asynchronous function", ast.Lambda: "a lambda", ast.With: "a with statement",
    ast.AsyncWith: "a with statement", ast.Try: "a try statement", ast.TryStar: "a try statement",
    ast.Match: "a match statement", ast.Delete: "a del statement", ast.Yield: "a yield", ast.YieldFrom: "a yield",
    ast.Await: "an await",
}  # fmt: skip
"""Syntax that Triton compiles nowhere."""

HOST_ONLY = frozenset({"jit", "autotune", "heuristics", "Config", "tools", "constexpr_function", "must_use_result"})
"""What `triton` offers to wrappers, not to kernels."""


def impurities(kernel: ast.FunctionDef, modules: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[ast.AST, str, str]]:
    """Everything in a kernel that is not Triton's language, as (node, rule, message).

    Args:
        kernel: the definition of a jitted function.
        modules: names bound by imports, as dotted paths.
    """
    arguments = kernel.args
    listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    for note in [a.annotation for a in listed if a is not None] + [kernel.returns]:
        if note is not None and not _plain_note(note):
            yield note, "host-code-in-kernel", f"the kernel {kernel.name} has a computed annotation"
    for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)):
        yield from _inside(default, f"the kernel {kernel.name} ", frozenset(), modules)
    local = {a.arg for a in listed if a is not None} | _stored(kernel.body)
    for statement in kernel.body:
        yield from _inside(statement, f"the kernel {kernel.name} ", local, modules)


def _stored(body: list[ast.stmt]) -> set[str]:
    """Names that the statements bind for the whole function: those of a comprehension end with it."""
    nodes = [n for statement in body for n in ast.walk(statement)]
    passing = {
        n for c in nodes if isinstance(c, ast.comprehension) for n in ast.walk(c.target) if isinstance(n, ast.Name)
    }
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in passing}


def _inside(
    part: ast.AST, text: str, local: Collection[str], modules: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[ast.AST, str, str]]:
    done: set[ast.AST] = set()
    for node in ast.walk(part):
        if type(node) in FORBIDDEN:
            yield node, "host-code-in-kernel", f"{text}holds {FORBIDDEN[type(node)]}"
        elif isinstance(node, ast.Attribute) and node not in done:
            path = dotted(node)
            if path and path[0] in modules and path[0] not in local:
                done.update(ast.walk(node))
                if problem := _foreign((*modules[path[0]], *path[1:])):
                    yield node, "host-code-in-kernel", f"{text}uses {problem}"
            elif node.attr.startswith("_"):
                yield node, "dunder", f"{text}reads {node.attr}"
            elif node.attr not in surface.kernel_attributes():
                yield node, "host-code-in-kernel", f"{text}reads .{node.attr}, which no value of a kernel has"
        elif isinstance(node, ast.Name) and node not in done and node.id not in local:
            if node.id in modules:
                if problem := _foreign(modules[node.id]):
                    yield node, "host-code-in-kernel", f"{text}uses {problem}"
            elif hasattr(builtins, node.id) and node.id not in BUILTINS and isinstance(node.ctx, ast.Load):
                yield node, "dynamic-code", f"{text}uses {node.id}"


def _foreign(path: tuple[str, ...]) -> str:
    """The dotted name if it is not of Triton's language (or a function or constant of `math`); empty if it is."""
    name = ".".join(path)
    if path[0] == "math":
        return "" if len(path) == 2 and not path[1].startswith("_") else name
    if path[0] != "triton" or len(path) < 2 or path[1] in HOST_ONLY or path[1].startswith("_"):
        return name
    if path[1] != "language":
        return "" if surface.triton_allows(path) else name
    return "" if len(path) > 2 and path[2] != "target_info" and surface.triton_allows(path, module=False) else name


def _plain_note(note: ast.expr) -> bool:
    """An annotation that names a type and computes nothing."""
    allowed = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Tuple, ast.BinOp, ast.BitOr, ast.Load)
    return all(isinstance(n, allowed) and not str(getattr(n, "attr", "")).startswith("_") for n in ast.walk(note))
