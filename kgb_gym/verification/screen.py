"""The first layer (L1 of the paper): an allowlist over the syntax tree, before anything runs.

It answers in rules with line numbers. What it cannot know (whether `a + b` adds numbers or tensors) the audit and the
record decide; so it errs on the side of letting an unclear name pass, never a clear one.
"""

from __future__ import annotations

import ast

from kgb_gym.operators.policy import WORDS, Policy
from kgb_gym.verdict import Hack
from kgb_gym.verification import surface
from kgb_gym.verification.purity import impurities
from kgb_gym.verification.rebuild import imported, imported_by, is_jit
from kgb_gym.verification.source import Source, dotted

MAX_EVIDENCE = 20
WHOLE = frozenset({("torch",), ("triton",), ("triton", "language")})
"""Modules that hold everything: a name for them is only there to be followed by another."""


def screen(
    source: Source, policy: Policy, *, own: str = "", reads: frozenset[str] = frozenset(),
    plugins: frozenset[str] = frozenset(),
) -> tuple[Hack, ...]:  # fmt: skip
    """Everything in the module that the rules forbid, in order of line.

    Args:
        source: the parsed submission.
        policy: the operator's allow-list.
        own: the ATen name of the operator itself: calling it is recursion, which the mount reports as that.
        reads: methods by which values may be read back on the host, where that is the operator's meaning.
        plugins: modules that bring the platform's device to torch: they may be imported, and not be used further.
    """
    visitor = _Screen(policy, own, reads, plugins)
    visitor.collect_imports(source.tree)
    try:
        visitor.visit(source.tree)
    except RecursionError:
        visitor.found.append(Hack("screen", "too-deep", "the program's expressions are nested too deeply to be read"))
    unique = {(h.rule, h.line, h.message): h for h in visitor.found}
    return tuple(sorted(unique.values(), key=lambda h: (h.line or 0, h.rule)))[:MAX_EVIDENCE]


class _Screen(ast.NodeVisitor):
    def __init__(self, policy: Policy, own: str, reads: frozenset[str], plugins: frozenset[str]) -> None:
        self.plugins = plugins
        self.policy = policy
        self.own = own
        self.reads = reads
        self.found: list[Hack] = []
        self.bound: frozenset[str] = frozenset()
        """Harmless builtins that the module uses as names of its own, such as a parameter called `input`."""
        self.modules: dict[str, tuple[str, ...]] = {}
        """Names bound to imported modules or to names from them, as dotted paths."""
        self.classes = 0
        """How many classes are being read: only there is `self` an object of the submission's own."""
        self.compared: set[ast.AST] = set()
        """Names that are only compared with None."""

    def report(self, node: ast.AST, rule: str, message: str) -> None:
        self.found.append(Hack("screen", rule, message, getattr(node, "lineno", None)))

    # Imports

    def collect_imports(self, tree: ast.Module) -> None:
        self.bound = surface.REUSABLE & {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
        self.modules = imported(tree)
        for node in ast.walk(tree):
            for name, path in imported_by(node):
                now = self.modules[name]
                # Versions of Triton keep libdevice in different places; otherwise one name means one thing throughout.
                if path != now and (path[:2], now[:2]) != (("triton", "language"),) * 2:
                    self.report(node, "import", f"{name} stands for {'.'.join(path)} and for {'.'.join(now)}")

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name not in surface.IMPORTS and alias.name not in self.plugins:
                self.report(node, "import", f"imports {alias.name}, which a submission may not use")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            self.report(node, "import", "imports relative to a package; a submission is one module")
            return
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            if alias.name == "*":
                self.report(node, "star-import", f"imports everything from {node.module}")
            elif full in surface.IMPORTS or node.module == "__future__":
                continue
            elif node.module not in surface.IMPORTS:
                self.report(node, "import", f"imports from {node.module}, which a submission may not use")
            else:
                self.path(node, (*node.module.split("."), alias.name))

    # Names and attributes

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in surface.BUILTINS_DENIED and node.id not in self.modules and node.id not in self.bound:
            self.report(node, "dynamic-code", f"uses {node.id}")
        elif isinstance(node.ctx, ast.Load) and node.id in self.modules:
            self.path(node, self.modules[node.id])
            if self.modules[node.id] in WHOLE and node not in self.compared:
                name = ".".join(self.modules[node.id])
                self.report(
                    node, "module-as-value", f"uses the module {name} as a value instead of naming what it needs"
                )
        elif isinstance(node.ctx, ast.Load) and node.id == "getattr":
            self.report(node, "getattr", "uses getattr other than to read one named attribute")
        elif _dunder(node.id) and node.id not in surface.MODULE_DUNDERS:
            self.report(node, "dunder", f"uses {node.id}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = dotted(node)
        if path and path[0] in self.modules:
            full = (*self.modules[path[0]], *path[1:])
            if isinstance(node.ctx, (ast.Store, ast.Del)):
                self.report(node, "patch", f"assigns to {'.'.join(full)}")
            else:
                self.path(node, full)
            return
        own = self.classes > 0 and path and len(path) == 2 and path[0] == "self"
        if isinstance(node.ctx, (ast.Store, ast.Del)) and not own:
            self.report(
                node, "patch", f"assigns to the attribute {node.attr!r} of an object that is not its own `self`"
            )
        elif _dunder(node.attr) or not self.limits_of_a_type(node.value):
            self.attribute(node, node.attr)
        self.visit(node.value)

    def limits_of_a_type(self, node: ast.expr) -> bool:
        """Whether this is `torch.finfo(...)` or `torch.iinfo(...)`, whose `max` and `min` are no tensor's."""
        path = dotted(node.func) if isinstance(node, ast.Call) else ()
        full = (*self.modules.get(path[0], ()), *path[1:]) if path else ()
        return full in {("torch", "finfo"), ("torch", "iinfo")}

    def visit_Compare(self, node: ast.Compare) -> None:
        if any(isinstance(part, ast.Constant) and part.value is None for part in node.comparators):
            self.compared.add(node.left)
        self.generic_visit(node)

    def attribute(self, node: ast.AST, name: str) -> None:
        if _dunder(name):
            if name not in surface.MODULE_DUNDERS:
                self.report(node, "dunder", f"reads {name}")
            return
        if name in surface.NEVER:
            self.report(node, "internal", f"reads .{name}, which leads out of the submission")
            return
        if name in self.reads:
            return
        verb = surface.method_verb(name)
        if verb is None and name == self.own:
            return
        if verb is None:
            rule = "read-back" if name in surface.READ_BACK else "tensor-method"
            self.report(node, rule, f"uses the tensor attribute .{name}: {_why(rule)}")
        elif verb and verb not in self.policy.allow:
            self.report(node, f"not-allowed-{verb}", f"uses .{name}: this operator allows no {WORDS[verb]}")
        elif name in self.policy.deny_ops:
            self.report(node, "own-family", f"uses .{name}, which belongs to the operator's own family")

    def path(self, node: ast.AST, path: tuple[str, ...]) -> None:
        """Judge one use of a dotted name that starts at an imported module."""
        name = ".".join(path)
        if any(_dunder(p) and p not in surface.MODULE_DUNDERS for p in path):
            self.report(node, "dunder", f"uses {name}")
        elif path[0] == "torch":
            verb = surface.torch_verb(path)
            if verb is None and path == ("torch", self.own):
                return
            if verb is None:
                self.report(node, "torch-function", f"uses {name}: {_why('torch-function')}")
            elif verb and verb not in self.policy.allow:
                self.report(node, f"not-allowed-{verb}", f"uses {name}: this operator allows no {WORDS[verb]}")
            elif path[-1] in self.policy.deny_ops:
                self.report(node, "own-family", f"uses {name}, which belongs to the operator's own family")
        elif path[0] == "triton":
            self.triton_path(node, path)
        else:
            self.library_path(node, path)

    def triton_path(self, node: ast.AST, path: tuple[str, ...]) -> None:
        if not surface.triton_allows(path):
            self.report(node, "triton-internal", f"uses {'.'.join(path)}, which is not for kernels")

    def library_path(self, node: ast.AST, path: tuple[str, ...]) -> None:
        if path[0] in self.plugins:
            self.report(node, "library", f"uses {'.'.join(path)}: the module may be imported, and nothing of it used")
            return
        for cut in range(len(path), 0, -1):
            module = ".".join(path[:cut])
            if module in surface.IMPORTS:
                names = surface.IMPORTS[module]
                rest = path[cut:]
                if names is not None and rest and rest[0] not in names:
                    self.report(node, "library", f"uses {'.'.join(path)}, which a submission may not use")
                return

    # Calls, definitions, statements

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in {"getattr", "hasattr"} and node.args:
            self.getattr_call(node)
            plain = isinstance(node.args[0], ast.Name)
            for part in (*node.args[plain:], *(k.value for k in node.keywords)):
                self.visit(part)
            return
        if isinstance(node.func, ast.Name) and node.func.id == "type" and len(node.args) + len(node.keywords) > 1:
            self.report(node, "dynamic-class", "makes a class with type(...)")
        self.generic_visit(node)

    def getattr_call(self, node: ast.Call) -> None:
        names = _literals(node.args[1]) if len(node.args) > 1 else None
        if names is None:
            self.report(node, "getattr", "reads an attribute whose name is computed")
            return
        base = dotted(node.args[0])
        for name in names:
            if base and base[0] in self.modules:
                self.path(node, (*self.modules[base[0]], *base[1:], name))
            else:
                self.attribute(node, name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if _dunder(node.name) and node.name not in surface.METHOD_DUNDERS:
            self.report(node, "dunder", f"defines {node.name}")
        if is_jit(node, self.modules):
            for decorator in node.decorator_list:
                self.visit(decorator)
            self.jit_body(node)
            return
        self.generic_visit(node)

    def jit_body(self, node: ast.FunctionDef) -> None:
        """Inside a kernel only Triton's language counts: names of torch or of host libraries have no place there."""
        for child, rule, message in impurities(node, self.modules):
            self.report(child, rule, message)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.report(node, "async", "defines an asynchronous function")

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        self.report(node, "match-class", "matches a class pattern, which reads attributes by name")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            path = dotted(base)
            full = (*self.modules.get(path[0], (path[0],)), *path[1:]) if path else ()
            if full and full[0] in {"torch", "triton"}:
                self.report(node, "subclass", f"the class {node.name} derives from {'.'.join(full)}")
        if node.keywords:
            self.report(node, "dynamic-class", f"the class {node.name} has a metaclass or class arguments")
        self.classes += 1
        self.generic_visit(node)
        self.classes -= 1


def _why(rule: str) -> str:
    if rule == "read-back":
        return "values may not be read back on the host"
    return "compute belongs in your Triton kernels, not in the wrapper"


def _dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _literals(node: ast.expr) -> list[str] | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        left, right = _literals(node.body), _literals(node.orelse)
        return left + right if left is not None and right is not None else None
    return None
