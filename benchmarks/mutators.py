"""Mutators of kernels: one small wrong change at every place where it applies. Version 2.

The set is fixed: a change of it is a new version, and scores of different versions are not compared. A mutant changes
one place inside one jitted function; wrappers stay as they are. Golds without a kernel get contract mutants instead:
what a function returns is a copy, or has another offset, or other strides.

Left out, because no run of a case grid could tell them from the original (version 1 had them): a cast to 64-bit integers
(only offsets beyond 2^31 differ), a cast that the store makes by itself (`tl.store(p, x.to(p.dtype.element_ty))`), and
the filler of masked lanes where no lane mixes with another and every store has the same mask.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kgb_gym.verification.rebuild import imported, is_jit

VERSION = 2

MIXING = frozenset(
    {"sum", "max", "min", "argmax", "argmin", "dot", "dot_scaled", "cumsum", "cumprod", "reduce", "associative_scan",
     "sort", "flip", "gather", "xor_sum", "histogram", "trans", "permute", "reshape", "atomic_add", "atomic_max",
     "atomic_min", "atomic_cas", "atomic_xchg", "topk"}
)  # fmt: skip
"""Calls in which one lane's value may reach another lane."""


@dataclass(frozen=True)
class Mutant:
    """One changed module."""

    mutator: str
    function: str
    line: int
    before: str
    after: str
    source: str
    text: str = ""
    """The first changed line as it reads in `source`, without its indentation."""


Change = Callable[[ast.AST], Iterator[ast.AST]]
"""`change(node)`: the wrong nodes that may stand in the node's place."""


def mask_off_by_one(node: ast.AST) -> Iterator[ast.AST]:
    """`a < b` becomes `a <= b`, and `a < b - 1`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt):
        yield ast.Compare(node.left, [ast.LtE()], node.comparators)
        yield ast.Compare(node.left, [ast.Lt()], [ast.BinOp(node.comparators[0], ast.Sub(), ast.Constant(1))])


def dropped_mask(node: ast.AST) -> Iterator[ast.AST]:
    """A load or store without its mask."""
    if _is_call(node, "load", "store", "atomic_add") and any(k.arg == "mask" for k in node.keywords):  # type: ignore[attr-defined]
        assert isinstance(node, ast.Call)
        yield ast.Call(node.func, node.args, [k for k in node.keywords if k.arg not in {"mask", "other"}])


def swapped_operands(node: ast.AST) -> Iterator[ast.AST]:
    """`a - b`, `a / b`, `tl.dot(a, b)`, `tl.where(c, a, b)` with the operands the other way round."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod)):
        yield ast.BinOp(node.right, node.op, node.left)
    if _is_call(node, "dot") and len(node.args) >= 2:  # type: ignore[attr-defined]
        assert isinstance(node, ast.Call)
        yield ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    if _is_call(node, "where") and len(node.args) == 3:  # type: ignore[attr-defined]
        assert isinstance(node, ast.Call)
        yield ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)


def wrong_operator(node: ast.AST) -> Iterator[ast.AST]:
    """`+` for `-`, `-` for `+`, `+` for `*`."""
    if isinstance(node, ast.BinOp):
        other = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add}.get(type(node.op))
        if other is not None:
            yield ast.BinOp(node.left, other(), node.right)


def wrong_stride(node: ast.AST) -> Iterator[ast.AST]:
    """A factor that is a plain name, one too large."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Name):
        yield ast.BinOp(node.left, ast.Mult(), ast.BinOp(node.right, ast.Add(), ast.Constant(1)))


def dropped_accumulate(node: ast.AST) -> Iterator[ast.AST]:
    """`a += b` becomes `a = b`; `tl.dot(a, b, acc)` loses `acc`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        target = copy.deepcopy(node.target)
        yield ast.Assign([target], node.value)
    if _is_call(node, "dot") and len(node.args) >= 3:  # type: ignore[attr-defined]
        assert isinstance(node, ast.Call)
        yield ast.Call(node.func, node.args[:2], node.keywords)


def constant_off_by_one(node: ast.AST) -> Iterator[ast.AST]:
    """A number one larger, and one smaller."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


def flipped_comparison(node: ast.AST) -> Iterator[ast.AST]:
    """`<` for `>`, `==` for `!=`, `and` for `or` and `&` for `|`, and the reverse."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        flips = {
            ast.Lt: ast.Gt,
            ast.Gt: ast.Lt,
            ast.LtE: ast.GtE,
            ast.GtE: ast.LtE,
            ast.Eq: ast.NotEq,
            ast.NotEq: ast.Eq,
        }
        flip = flips.get(type(node.ops[0]))
        if flip is not None:
            yield ast.Compare(node.left, [flip()], node.comparators)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        yield ast.BinOp(node.left, ast.BitOr() if isinstance(node.op, ast.BitAnd) else ast.BitAnd(), node.right)


def missing_cast(node: ast.AST) -> Iterator[ast.AST]:
    """`x.to(t)` becomes `x`, except for 64-bit integers."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to" and node.args:
        kind = node.args[0]
        if not (isinstance(kind, ast.Attribute) and kind.attr in {"int64", "uint64"}):
            yield node.func.value


WRONG_VIEWS = (
    "Y.clone()",
    "Y.as_strided(Y.size(), Y.stride(), Y.storage_offset() + 1)",
    "Y.as_strided(Y.size(), Y.stride()[::-1])",
)
"""What a function may return in place of its view Y: a copy, another offset, other strides."""


def wrong_view(node: ast.AST) -> Iterator[ast.AST]:
    """`return x` becomes a copy of x, x one element further on, and x with its strides reversed."""
    if (
        isinstance(node, ast.Return)
        and node.value is not None
        and not isinstance(node.value, (ast.Tuple, ast.Constant))
    ):
        value = ast.unparse(node.value)
        for change in WRONG_VIEWS:
            several, one = (change.replace("Y", name) for name in ("y", f"({value})"))
            yield ast.parse(
                f"return [{several} for y in ({value})] if isinstance({value}, (list, tuple)) else {one}"
            ).body[0]


def stale_block(node: ast.AST) -> Iterator[ast.AST]:
    """A program id times another block size."""
    by_name = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Name)
    if by_name and node.right.id.isupper():  # type: ignore[attr-defined]
        assert isinstance(node, ast.BinOp)
        yield ast.BinOp(node.left, ast.Mult(), ast.BinOp(node.right, ast.FloorDiv(), ast.Constant(2)))


MUTATORS: dict[str, Change] = {
    f.__name__: f
    for f in (
        mask_off_by_one, dropped_mask, swapped_operands, wrong_operator, wrong_stride, dropped_accumulate,
        constant_off_by_one, flipped_comparison, missing_cast, stale_block,
    )
}  # fmt: skip


CONTRACT: dict[str, Change] = {
    f.__name__: f for f in (wrong_view, constant_off_by_one, wrong_operator, flipped_comparison)
}
"""Mutators of the functions of a module that has no kernel."""


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a module, in order of line; duplicates once."""
    tree = ast.parse(source)
    modules = imported(tree)
    kernels = [n for n in tree.body if is_jit(n, modules)]
    functions = kernels or [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    changes = MUTATORS if kernels else CONTRACT
    out: dict[str, Mutant] = {}
    for function in functions:
        assert isinstance(function, ast.FunctionDef)
        unseen = set(_unseen(function)) if kernels else set()
        for place in _places(function):
            for name, mutator in changes.items():
                if id(_at(function, place)) in unseen and name in {"missing_cast", "constant_off_by_one"}:
                    continue
                for number, _ in enumerate(mutator(_at(function, place))):
                    mutant = _make(tree, function, place, name, mutator, number)
                    if mutant is not None and mutant.source != ast.unparse(tree):
                        out.setdefault(mutant.source, mutant)
    return sorted(out.values(), key=lambda m: (m.line, m.mutator, m.after))


def _unseen(kernel: ast.FunctionDef) -> Iterator[int]:
    """Identities of nodes whose change nobody can see: casts that a store repeats, fillers of lanes that end nowhere."""
    calls = [n for n in ast.walk(kernel) if isinstance(n, ast.Call)]
    stores = [c for c in calls if _is_call(c, "store") and len(c.args) >= 2]
    for store in stores:
        value = store.args[1]
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "to":
            kind = ast.unparse(value.args[0]) if value.args else ""
            if kind.removesuffix(".dtype.element_ty") == _base(store.args[0]) != kind:
                yield id(value)
    mixing = any(isinstance(c.func, ast.Attribute) and c.func.attr in MIXING for c in calls)
    masks = {ast.unparse(k.value) for s in stores for k in s.keywords if k.arg == "mask"}
    if mixing or len(masks) != 1 or any(not any(k.arg == "mask" for k in s.keywords) for s in stores):
        return
    for load in (c for c in calls if _is_call(c, "load")):
        words = {k.arg: k.value for k in load.keywords}
        if "mask" in words and "other" in words and {ast.unparse(words["mask"])} == masks:
            yield from (id(n) for n in ast.walk(words["other"]))


def _base(pointer: ast.expr) -> str:
    """The name at the left end of a sum of offsets."""
    while isinstance(pointer, ast.BinOp) and isinstance(pointer.op, ast.Add):
        pointer = pointer.left
    return ast.unparse(pointer)


Place = tuple[tuple[str, int | None], ...]


def _places(node: ast.AST) -> Iterator[Place]:
    """Paths to every node of a kernel's body (decorators, annotations and docstring left out)."""
    assert isinstance(node, ast.FunctionDef)
    for index, statement in enumerate(node.body):
        if index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        yield from _below(statement, (("body", index),))


def _below(node: ast.AST, path: Place) -> Iterator[Place]:
    yield path
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield from _below(value, (*path, (name, None)))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _below(item, (*path, (name, index)))


def _at(node: ast.AST, path: Place) -> ast.AST:
    for name, index in path:
        value = getattr(node, name)
        node = value if index is None else value[index]
    return node


def _make(
    tree: ast.Module, kernel: ast.FunctionDef, path: Place, name: str, mutator: Change, number: int
) -> Mutant | None:
    twin = copy.deepcopy(tree)
    target = next(n for n in twin.body if isinstance(n, ast.FunctionDef) and n.name == kernel.name)
    old = _at(target, path)
    new = list(mutator(copy.deepcopy(old)))[number]
    parent, (field, index) = _at(target, path[:-1]), path[-1]
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new
    ast.fix_missing_locations(twin)
    try:
        source = ast.unparse(twin)
        return Mutant(
            name,
            kernel.name,
            getattr(old, "lineno", kernel.lineno),
            ast.unparse(old),
            ast.unparse(new),
            source,
            _changed(ast.unparse(tree), source),
        )
    except (AttributeError, ValueError):
        return None


def _changed(before: str, after: str) -> str:
    """The first line of `after` that is not that of `before`, stripped; empty if there is none."""
    lines = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((new.strip() for old, new in lines if old != new), "")


def _is_call(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names
