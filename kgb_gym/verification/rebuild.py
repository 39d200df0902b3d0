"""The kernels of a submission without its wrapper: what the player and the compiler run.

The rebuilt module is the submission's own text with everything blanked except imports of Triton's language, jitted
functions and the constants that they use. Lines keep their numbers, so that a compiler's message points into the
submission. Autotuning and heuristics decorators are blanked: their choices stand in the record.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kgb_gym.verification.source import Source, dotted

PURE_CALLS = frozenset({"int", "float", "bool", "min", "max", "abs", "round", "pow", "str", "len", "tuple"})


class BadKernel(Exception):
    """A kernel is not written in the form that can be judged; `line` counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Kernels:
    """A submission's jitted functions as a module of their own."""

    text: str
    names: frozenset[str]
    constexprs: Mapping[str, frozenset[str]]
    """Names of each kernel's parameters annotated `tl.constexpr`."""

    def lines_of(self, name: str) -> tuple[int, int]:
        """First and last line of a kernel's definition."""
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node.lineno, node.end_lineno or node.lineno
        raise KeyError(name)


def is_jit(node: ast.AST, modules: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a definition is decorated with `triton.jit`, called or not, under any imported name."""
    return isinstance(node, ast.FunctionDef) and any(
        _resolved(d, modules) == ("triton", "jit") for d in node.decorator_list
    )


def rebuild(source: Source) -> Kernels:
    """The kernels of a submission.

    Raises:
        BadKernel: a kernel is nested in a function or class, defined twice, or shares a line with another statement.
    """
    modules = imported(source.tree)
    top = [n for n in source.tree.body if is_jit(n, modules)]
    for node in ast.walk(source.tree):
        if is_jit(node, modules) and node not in top:
            assert isinstance(node, ast.FunctionDef)
            raise BadKernel(
                f"the kernel {node.name} is not defined at the top level of the module; move it there", node.lineno
            )
        if (
            isinstance(node, ast.Call)
            and _resolved(node.func, modules) == ("triton", "jit")
            and not _decorates(source.tree, node)
        ):
            raise BadKernel("write @triton.jit above the kernel instead of calling triton.jit on it", node.lineno)
    kernels: dict[str, ast.FunctionDef] = {}
    for node in top:
        assert isinstance(node, ast.FunctionDef)
        if node.name in kernels:
            raise BadKernel(f"the kernel {node.name} is defined twice", node.lineno)
        kernels[node.name] = node
    constants = _constants(source.tree, modules)
    needed = _needed(kernels, constants)
    lines = source.lines
    kept: list[str] = [""] * len(lines)

    crowded = _crowded(source)

    def keep(node: ast.stmt, first: int) -> None:
        for number in range(first, (node.end_lineno or first) + 1):
            if kept[number - 1] or number in crowded:
                raise BadKernel("a kernel or one of its constants shares a line with another statement", number)
            kept[number - 1] = lines[number - 1]

    for node in source.tree.body:
        if _is_language_import(node) or (isinstance(node, ast.Try) and _is_import_guard(node)):
            keep(node, node.lineno)
    for name in sorted(needed):
        keep(constants[name], constants[name].lineno)
    for node in kernels.values():
        jit = [d for d in node.decorator_list if _resolved(d, modules) == ("triton", "jit")]
        for decorator in jit:
            if not _plain_decorator(decorator):
                raise BadKernel("@triton.jit takes numbers and names of parameters here, nothing computed",
                                decorator.lineno)  # fmt: skip
            for number in range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1):
                kept[number - 1] = lines[number - 1]
        keep(node, node.lineno)
    text = "\n".join(kept)
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise BadKernel(
            "the kernels cannot be taken out of the module: put one statement on a line", error.lineno
        ) from error
    constexprs = {
        name: frozenset(
            a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs) if _is_constexpr(a)
        )
        for name, node in kernels.items()
    }
    return Kernels(text, frozenset(kernels), constexprs)


def _crowded(source: Source) -> set[int]:
    """Lines on which more than one statement of the module stands: a whole line is kept or none of it."""
    seen: dict[int, int] = {}
    for index, node in enumerate(source.whole.body):
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        for number in range(first, (node.end_lineno or first) + 1):
            seen[number] = -1 if seen.get(number, index) != index else index
    return {number for number, index in seen.items() if index < 0}


def _plain_decorator(decorator: ast.expr) -> bool:
    """`triton.jit`, alone or called with keywords that are numbers, parameter names or lists of them."""

    def plain(value: ast.expr) -> bool:
        if isinstance(value, (ast.List, ast.Tuple)):
            return all(plain(e) for e in value.elts)
        if not isinstance(value, ast.Constant):
            return False
        return value.value.isidentifier() if isinstance(value.value, str) else not isinstance(value.value, bytes)

    if not isinstance(decorator, ast.Call):
        return True
    return not decorator.args and all(k.arg is not None and plain(k.value) for k in decorator.keywords)


def _is_constexpr(argument: ast.arg) -> bool:
    note = argument.annotation
    if isinstance(note, ast.Constant):
        return str(note.value).split(".")[-1] == "constexpr"
    path = dotted(note) if note is not None else ()
    return bool(path) and path[-1] == "constexpr"


def imported(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Names bound by imports anywhere in the module, as dotted paths."""
    return {name: path for node in ast.walk(tree) for name, path in imported_by(node)}


def imported_by(node: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names that one import statement binds, as dotted paths."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            path = tuple(alias.name.split("."))
            yield alias.asname or path[0], path if alias.asname else path[:1]
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            yield alias.asname or alias.name, (*node.module.split("."), alias.name)


def _resolved(node: ast.AST, modules: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if isinstance(node, ast.Call):
        node = node.func
    path = dotted(node)
    return (*modules.get(path[0], (path[0],)), *path[1:]) if path else ()


def _decorates(tree: ast.Module, call: ast.Call) -> bool:
    return any(
        call in node.decorator_list or any(call is getattr(d, "func", None) for d in node.decorator_list)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    )


def _is_language_import(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import):
        return all(a.name.split(".")[0] in {"triton", "math", "torch"} for a in node.names)
    if isinstance(node, ast.ImportFrom):
        return bool(node.module) and str(node.module).split(".")[0] in {"triton", "math", "__future__"}
    return False


def _is_import_guard(node: ast.Try) -> bool:
    def simple(body: list[ast.stmt]) -> bool:
        return all(
            _is_language_import(n)
            or isinstance(n, ast.Pass)
            or (isinstance(n, ast.Assign) and isinstance(n.value, (ast.Constant, ast.Name, ast.Attribute)))
            for n in body
        )

    blocks = [node.body, node.orelse, node.finalbody, *(h.body for h in node.handlers)]
    return any(_is_language_import(n) for n in node.body) and all(simple(b) for b in blocks)


def _constants(tree: ast.Module, modules: Mapping[str, tuple[str, ...]]) -> dict[str, ast.stmt]:
    """Module-level assignments of one name to a pure expression of literals, constants and Triton's types."""
    out: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            name, value = node.target.id, node.value
        else:
            continue
        if _is_pure(value, modules, out):
            out[name] = node
        else:
            out.pop(name, None)
    return out


def _is_pure(node: ast.expr, modules: Mapping[str, tuple[str, ...]], known: Mapping[str, ast.stmt]) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        return node.id in known or modules.get(node.id, ("",))[0] in {"triton", "math"}
    if isinstance(node, ast.Attribute):
        path = _resolved(node, modules)
        return bool(path) and path[0] in {"triton", "math"} and path[:2] != ("triton", "runtime")
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(_is_pure(e, modules, known) for e in node.elts)
    if isinstance(node, ast.UnaryOp):
        return _is_pure(node.operand, modules, known)
    if isinstance(node, ast.BinOp):
        return _is_pure(node.left, modules, known) and _is_pure(node.right, modules, known)
    if isinstance(node, ast.Compare):
        return all(_is_pure(e, modules, known) for e in (node.left, *node.comparators))
    if isinstance(node, ast.IfExp):
        return all(_is_pure(e, modules, known) for e in (node.test, node.body, node.orelse))
    if isinstance(node, ast.Call) and not node.keywords and all(_is_pure(a, modules, known) for a in node.args):
        if isinstance(node.func, ast.Name) and node.func.id in PURE_CALLS and node.func.id not in modules:
            return True
        path = _resolved(node, modules)
        return path[:1] == ("math",) or path in {("triton", "language", "constexpr"), ("triton", "cdiv"),
                                                ("triton", "next_power_of_2")}  # fmt: skip
    return False


def _needed(kernels: Mapping[str, ast.FunctionDef], constants: Mapping[str, ast.stmt]) -> set[str]:
    used: set[str] = set()
    queue: list[ast.AST] = list(kernels.values())
    while queue:
        for node in ast.walk(queue.pop()):
            if not isinstance(node, ast.Name) or node.id not in constants or node.id in used:
                continue
            if node.id not in kernels and not hasattr(builtins, node.id):
                used.add(node.id)
                queue.append(constants[node.id])
    return used
