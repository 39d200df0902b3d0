"""Received bytes, the syntax tree, and the kernels taken out of it."""

from __future__ import annotations

import ast

import pytest

from kgb_gym.operators import gold_source, names
from kgb_gym.verification.protocols import MAX_SOURCE_BYTES
from kgb_gym.verification.rebuild import BadKernel, rebuild
from kgb_gym.verification.source import MAX_LINES, Unparsable, defined_names, digest, parse

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
KERNEL = "@triton.jit\ndef k(x, n, BLOCK: tl.constexpr):\n    tl.store(x, n)\n"


@pytest.mark.parametrize(("data", "line"), [
    (b"x =", 1), (b"\n\nx = (", 3), (b"x = 1\n  y", 2), (b"\xff", None), (b"x = 1\x00", None), ("x = 'é'".encode("latin-1"), None),
    (b"#" * (MAX_SOURCE_BYTES + 1), None), (b"\n" * (MAX_LINES + 1), None), (b"x = " + b"(" * 100_000, None),
    (b"x = " + b"-" * 200_000 + b"1", None), (b"x = " + b"(" * 300_000 + b")" * 300_000, None), (b"x = 1" + b" + 1" * 200_000, None),
    (b"1" * 10_000, 1), (b"def f():\n\tx\n        y\n", None), ("x = \u202e1".encode(), 1),
])  # fmt: skip
def test_what_is_no_module(data, line):
    with pytest.raises(Unparsable) as caught:
        parse(data)
    assert str(caught.value)
    assert line is None or caught.value.line == line


@pytest.mark.parametrize(
    "data", [b"x = 1\ny = 2", b"x = 1\r\ny = 2", b"x = 1\ry = 2", b"\xef\xbb\xbfx = 1\ny = 2", b"x = 1\ny = 2\n"]
)
def test_line_ends_and_marks_do_not_matter(data):
    source = parse(data)
    assert source.text.rstrip("\n") == "x = 1\ny = 2"
    assert ast.unparse(source.tree) == "x = 1\ny = 2"


def test_empty_text_is_a_module_of_nothing():
    for data in (b"", b"\n\n", b"# only\n"):
        assert defined_names(parse(data).tree) == frozenset()


def test_main_blocks_are_dropped():
    tree = parse(b"def f(): pass\nif __name__ == '__main__':\n    g = 1\n").tree
    assert defined_names(tree) == {"f"}
    kept = parse(
        b"if __name__ != '__main__':\n    g = 1\nif __name__ == '__main__':\n    h = 1\nelse:\n    i = 1\n"
    ).tree
    assert defined_names(kept) == {"g", "h", "i"}


def test_defined_names():
    text = "import a.b, c as d\nfrom e import f as g\nx, (y, z) = 1, (2, 3)\nw: int = 1\nclass C:\n    no = 1\n"
    text += "try:\n    t = 1\nexcept E:\n    u = 1\nelse:\n    v = 1\nfinally:\n    q = 1\nwith a as b:\n    r = 1\n"
    text += "if 1:\n    s = 1\nelse:\n    o = 1\ndef fun(arg):\n    local = 1\n"
    assert defined_names(parse(text.encode()).tree) == {*"adgxyzwCtuvqrso", "fun"}


def test_the_digest_is_of_what_was_received():
    assert digest(b"x\r\n") != digest(b"x\n")


@pytest.mark.parametrize("name", names())
def test_every_gold_file_can_be_rebuilt(name):
    source = parse(gold_source(name).encode())
    kernels = rebuild(source)
    tree = ast.parse(kernels.text)
    assert {n.name for n in tree.body if isinstance(n, ast.FunctionDef)} == kernels.names
    assert len(kernels.text.split("\n")) == len(source.lines)
    for number, line in enumerate(kernels.text.split("\n")):
        assert line in ("", source.lines[number])


def rebuilt(text):
    return rebuild(parse(text.encode()))


def test_lines_keep_their_numbers_and_wrappers_go():
    text = HEAD + "\n\ndef wrapper(x):\n    return x\n\n\n" + KERNEL
    kernels = rebuilt(text)
    assert kernels.names == {"k"}
    assert "wrapper" not in kernels.text
    assert kernels.lines_of("k") == (11, 12)
    assert kernels.text.split("\n")[10] == "def k(x, n, BLOCK: tl.constexpr):"
    assert kernels.constexprs == {"k": frozenset({"BLOCK"})}


def test_tuning_decorators_go_and_jit_stays():
    text = (
        HEAD + "@triton.autotune(\n    [triton.Config({})],\n    key=[],\n)\n@triton.heuristics({'B': lambda a: 1})\n"
    )
    text += "@triton.jit(do_not_specialize=['n'])\ndef k(x, n):\n    tl.store(x, n)\n"
    kernels = rebuilt(text)
    assert "autotune" not in kernels.text and "heuristics" not in kernels.text
    assert "@triton.jit(do_not_specialize=['n'])" in kernels.text


@pytest.mark.parametrize("head", ["from triton import jit\n", "from triton import jit as j\n", "import triton as t\n"])
def test_jit_under_any_name(head):
    decorator = {
        "from triton import jit\n": "jit",
        "from triton import jit as j\n": "j",
        "import triton as t\n": "t.jit",
    }[head]
    assert rebuilt(head + f"@{decorator}\ndef k(x):\n    pass\n").names == {"k"}


def test_constants_that_kernels_use_stay_and_no_others():
    text = (
        HEAD
        + "import math\nA = 2\nB: tl.constexpr = A * 3\nC = tl.constexpr(math.sqrt(2.0))\nUNUSED = 7\nD = torch.empty(3)\n"
    )
    text += "LIST = [f(x) for x in y]\n@triton.jit\ndef k(x):\n    tl.store(x, B + C + D + LIST)\n"
    kernels = rebuilt(text)
    for kept in ("A = 2", "B: tl.constexpr", "C = tl.constexpr", "import math"):
        assert kept in kernels.text
    for gone in ("UNUSED", "D = torch", "LIST ="):
        assert gone not in kernels.text


def test_import_guards_stay():
    guard = "try:\n    from triton.language.extra import libdevice\nexcept ImportError:\n    libdevice = None\n"
    assert guard in rebuilt(HEAD + guard + KERNEL).text
    assert "evil" not in rebuilt(HEAD + "try:\n    import triton\nexcept ImportError:\n    evil()\n" + KERNEL).text


def test_constexprs_in_every_spelling():
    text = (
        HEAD
        + "@triton.jit\ndef k(x, A: tl.constexpr, B: 'tl.constexpr', C: triton.language.constexpr, D: int, *, E: tl.constexpr):\n    pass\n"
    )
    assert rebuilt(text).constexprs["k"] == {"A", "B", "C", "E"}


REFUSED = {
    "nested in a function": (HEAD + "def f():\n    @triton.jit\n    def k(x):\n        pass\n", 6),
    "nested in a class": (HEAD + "class C:\n    @triton.jit\n    def k(x):\n        pass\n", 6),
    "under an if": (HEAD + "if True:\n    @triton.jit\n    def k(x):\n        pass\n", 6),
    "defined twice": (HEAD + KERNEL + KERNEL, 8),
    "called form": (HEAD + "def k(x):\n    pass\nj = triton.jit(k)\n", 6),
    "shares its line": (
        HEAD + KERNEL.rstrip("\n") + "; y = 1\nA = 1; B = 2\n@triton.jit\ndef l(x):\n    tl.store(x, A + B)\n",
        7,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_kernels_in_a_form_that_cannot_be_judged(name):
    text, line = REFUSED[name]
    with pytest.raises(BadKernel) as caught:
        rebuilt(text)
    assert caught.value.line == line


def test_a_kernel_on_one_line():
    assert rebuilt(HEAD + "@triton.jit\ndef k(x): tl.store(x, 1)\n").names == {"k"}
