"""From received bytes to a syntax tree: decoding, size, newlines, parsing, and what the module defines.

The text is only ever parsed here, never run. Blocks under `if __name__ == "__main__"` are dropped: they cannot run.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from dataclasses import dataclass

from kgb_gym.verification.protocols import MAX_SOURCE_BYTES

MAX_LINES = 50_000


class Unparsable(Exception):
    """The submission is not the text of a Python module; `line` counts from 1 where it can be told."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Source:
    """A parsed submission."""

    text: str
    """With `\\n` line ends and without a byte-order mark."""
    tree: ast.Module
    """Without `if __name__ == "__main__"` blocks."""
    whole: ast.Module
    """With them."""

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")


def digest(data: bytes) -> str:
    """SHA-256 of the submission as received, in hex."""
    return hashlib.sha256(data).hexdigest()


def parse(data: bytes) -> Source:
    """Parse a submission.

    Raises:
        Unparsable: it is too large, not UTF-8, or not Python.
    """
    if len(data) > MAX_SOURCE_BYTES:
        raise Unparsable(
            f"the submission is {len(data):,} bytes; at most {MAX_SOURCE_BYTES:,} are read. Send the module's text alone."
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unparsable(
            f"the submission is not UTF-8 text (byte {error.start} is 0x{data[error.start]:02x})"
        ) from error
    if "\x00" in text:
        raise Unparsable("the submission holds NUL characters")
    text = re.sub(r"\r\n?", "\n", text)
    if text.count("\n") > MAX_LINES:
        raise Unparsable(f"the submission has more than {MAX_LINES:,} lines")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        raise Unparsable(f"line {error.lineno}: {error.msg}", error.lineno) from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise Unparsable(f"the parser gave up: {type(error).__name__}") from error
    rest = ast.Module([node for node in tree.body if not _is_main_block(node)], tree.type_ignores)
    return Source(text, rest, tree)


def defined_names(tree: ast.Module) -> frozenset[str]:
    """Names that the module binds at its top level, inside `if`, `try` and `with` too."""
    names: set[str] = set()
    stack: list[ast.stmt] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((a.asname or a.name).split(".")[0] for a in node.names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
        for block in ("body", "orelse", "finalbody"):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                stack.extend(getattr(node, block, []))
        for handler in getattr(node, "handlers", []):
            stack.extend(handler.body)
    return frozenset(names)


def line_of(tree: ast.Module, name: str) -> int | None:
    """The line on which the module first binds a name by `def` or assignment; None if it does not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node.lineno
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return node.lineno
    return None


def dotted(node: ast.AST) -> tuple[str, ...]:
    """`torch.cuda.Event` as ("torch", "cuda", "Event"); empty if the expression is not a dotted name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ()
    return (node.id, *reversed(parts))


def _is_main_block(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare) or node.orelse:
        return False
    parts = [node.test.left, *node.test.comparators]
    names = {p.id for p in parts if isinstance(p, ast.Name)}
    texts = {p.value for p in parts if isinstance(p, ast.Constant)}
    return names == {"__name__"} and texts == {"__main__"} and isinstance(node.test.ops[0], ast.Eq)
