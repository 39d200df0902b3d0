"""Reads the imports of every file in the rooms and reports the upward ones (DESIGN: rooms).

A file stands above all that it imports. Counted are imports at module level, inside functions and under
`TYPE_CHECKING`, relative ones, `importlib.import_module("kgb_gym...")`, and entry points given as text
(`"kgb_gym.envs.env:KernelEnv"` names a file without importing it, and is left out). Not covered: names put together
at run time beyond an f-string's leading text.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FLOORS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (7, ("kgb_gym", "kgb_gym.__main__")),
    (6, ("kgb_gym.cli", "kgb_gym.runs")),
    (5, ("kgb_gym.baselines", "kgb_gym.report")),
    (4, ("kgb_gym.envs",)),
    (3, ("kgb_gym.datasets", "kgb_gym.prompts", "kgb_gym.metrics")),
    (2, ("kgb_gym.sandbox",)),
    (1, ("kgb_gym.verification",)),
    (0, ("kgb_gym.operators", "kgb_gym.platforms", "kgb_gym.verdict")),
)
"""Floor, and the rooms on it. The package's own face, `kgb_gym`, stands above all: it may import anything, and no room
may import it."""

LINKED = ("envs", "operators", "baselines", "datasets")
"""Rooms that lie at the top level and are linked into the package."""


@dataclass(frozen=True)
class Import:
    """One import statement: where it stands and what it names."""

    path: Path
    line: int
    module: str
    target: str

    @property
    def upward(self) -> bool:
        """Whether the target stands on a higher floor than the module."""
        return floor(self.target) > floor(self.module)

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}: {self.module} (floor {floor(self.module)}) imports "
            f"{self.target} (floor {floor(self.target)})"
        )


def floor(module: str) -> int:
    """The floor of a module of ours.

    Raises:
        LookupError: it belongs to no room.
    """
    for number, rooms in FLOORS:
        if any(module == room or (room != "kgb_gym" and module.startswith(room + ".")) for room in rooms):
            return number
    raise LookupError(f"{module} is in no room: give it a floor in scripts/check_floors.py, as DESIGN says")


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Name and file of every module in the rooms below `root`; gold kernels, which are never imported, left out."""
    for top in ("kgb_gym", *LINKED):
        for path in sorted((root / top).rglob("*.py")):
            relative = path.relative_to(root)
            linked_twice = top == "kgb_gym" and len(relative.parts) > 1 and relative.parts[1] in LINKED
            if linked_twice or "gold" in relative.parts or "__pycache__" in relative.parts:
                continue
            parts = list(relative.with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            yield ".".join(parts if top == "kgb_gym" else ["kgb_gym", *parts]), path


def imports(root: Path) -> Iterator[Import]:
    """Every import of one of our modules by another."""
    known = dict(modules(root))
    for module, path in known.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
            for target in _targets(node, package, known):
                if target == "kgb_gym" or target.startswith("kgb_gym."):
                    yield Import(path.relative_to(root), node.lineno, module, target)  # type: ignore[attr-defined]


def _targets(node: ast.AST, package: str, known: dict[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            kept = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*kept, base] if base else kept)
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield inner if inner in known or _is_room(inner) else base
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
        yield from _text(node.args[0])


def _is_room(name: str) -> bool:
    return any(name in rooms for _, rooms in FLOORS)


def _text(argument: ast.expr) -> Iterator[str]:
    if isinstance(argument, ast.JoinedStr) and argument.values:
        argument = argument.values[0]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        yield argument.value.rstrip(".")


def upward(root: Path) -> list[Import]:
    """The imports that break the rule."""
    return [each for each in imports(root) if each.upward]


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    broken = upward(root)
    for each in broken:
        print(each, file=sys.stderr)
    if broken:
        print(f"{len(broken)} upward imports: move what is shared to the lower floor", file=sys.stderr)
        return 1
    print(f"floors: {sum(1 for _ in modules(root))} modules, {sum(1 for _ in imports(root))} imports, none upward")
    return 0


if __name__ == "__main__":
    sys.exit(main())
