"""Each rule of the screen fires on its line; what honest wrappers write passes."""

from __future__ import annotations

import pytest

from kgb_gym.operators import get, gold_source, names
from kgb_gym.operators.policy import Policy
from kgb_gym.verification.judge import _reads
from kgb_gym.verification.screen import MAX_EVIDENCE, screen
from kgb_gym.verification.source import parse

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"


def rules(text, **more):
    policy = more.pop("policy", Policy())
    return [(h.rule, h.line) for h in screen(parse(text.encode()), policy, **more)]


@pytest.mark.parametrize("line", [
    "import os", "import sys as triton", "import torch.utils", "import numpy", "from os import path", "from . import x",
    "from torch.nn import functional", "import ctypes, math", "from importlib import import_module", "import threading",
])  # fmt: skip
def test_imports(line):
    assert ("import", 4) in rules(HEAD + line + "\n")


BROKEN = {
    "from torch import *": "star-import", "from torch import softmax": "torch-function", "x = eval('1')": "dynamic-code",
    "exec('1')": "dynamic-code", "x = open('f')": "dynamic-code", "x = globals()": "dynamic-code", "f = __import__": "dynamic-code",
    "setattr(torch, 'x', 1)": "dynamic-code", "x = getattr(torch, 'so' + 'ftmax')": "getattr", "f = getattr": "getattr",
    "x = getattr(torch, 'softmax')": "torch-function", "x = ().__class__": "dunder", "x = torch.__dict__": "dunder",
    "torch.cos = 1": "patch", "def f(x):\n    x.data = 1": "patch", "torch.ops.aten = 3": "patch", "y = torch.softmax(x, 0)": "torch-function",
    "y = torch.nn.functional.relu(x)": "torch-function", "y = torch.ops.aten.cos(x)": "torch-function",
    "y = torch._C": "torch-function", "def f(x):\n    return x.softmax(0)": "tensor-method", "def f(x):\n    return x.item()": "read-back",
    "def f(x):\n    return x.tolist()": "read-back", "x = triton.runtime.driver": "triton-internal", "x = triton.compile": "triton-internal",
    "x = tl.core._builder": "triton-internal", "T = type('T', (), {})": "dynamic-class", "class C(metaclass=M):\n    pass": "dynamic-class",
    "class T(torch.Tensor):\n    pass": "subclass", "async def f():\n    pass": "async", "def __getattr__(n):\n    return 1": "dunder",
    "@triton.jit\ndef k(x):\n    torch.cos(x)": "host-code-in-kernel", "@triton.jit\ndef k(x):\n    eval('1')": "dynamic-code",
    "@triton.jit\ndef k(x):\n    x.__class__": "dunder", "import typing\nx = typing.sys": "library", "import functools\nx = functools.__dict__": "dunder",
}  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_rules(text):
    found = rules(HEAD + text + "\n")
    assert BROKEN[text] in [r for r, _ in found], found
    assert all(4 <= line <= 4 + text.count("\n") for _, line in found)


@pytest.mark.parametrize(("text", "verb"), [
    ("torch.zeros(3)", "fill"), ("x = torch.empty(3)", "alloc"), ("def f(x):\n    return x.contiguous()", "copy"),
    ("x = torch.randint(0, 1, (1,))", "draw"), ("def f(x):\n    return x.view(3)", "view"),
    ("def f(x):\n    return x.copy_(x)", "place"),
])  # fmt: skip
def test_the_operator_s_policy_decides_verbs(text, verb):
    everything = frozenset({"alloc", "view", "metadata", "fill", "copy", "place", "draw"})
    assert rules(HEAD + text + "\n", policy=Policy(allow=everything)) == []
    assert f"not-allowed-{verb}" in [r for r, _ in rules(HEAD + text + "\n", policy=Policy(allow=everything - {verb}))]


def test_an_operator_s_own_family():
    policy = Policy(deny_ops=frozenset({"transpose"}))
    assert [r for r, _ in rules(HEAD + "def f(x):\n    return x.transpose(0, 1)\n", policy=policy)] == ["own-family"]
    assert [r for r, _ in rules(HEAD + "def f(x):\n    return torch.transpose(x, 0, 1)\n", policy=policy)] == [
        "own-family"
    ]


def test_recursion_is_left_to_the_mount():
    text = HEAD + "def cos(x):\n    return torch.cos(x)\n"
    assert rules(text, own="cos") == []
    assert [r for r, _ in rules(text, own="sin")] == ["torch-function"]


def test_the_limits_of_a_type_are_metadata():
    text = HEAD + "def f(x):\n    return {}\n"
    assert rules(text.format("torch.finfo(x.dtype).max + torch.iinfo(torch.int8).min")) == []
    assert [r for r, _ in rules(text.format("torch.finfo(x.dtype).__class__"))] == ["dunder"]
    assert [r for r, _ in rules(text.format("torch.empty(3).max"))] == ["tensor-method"]


def test_reading_back_is_for_operators_that_depend_on_values():
    text = HEAD + "def f(x):\n    return x.item()\n"
    assert rules(text, reads=frozenset({"item"})) == []
    assert [r for r, _ in rules(text)] == ["read-back"]
    text = text.replace("item", "numpy")
    assert [r for r, _ in rules(text, reads=frozenset({"item"}))] == ["read-back"]


def test_class_patterns_read_attributes_by_name():
    text = HEAD + "def f(x):\n    match f:\n        case object(__globals__=g):\n            return g\n"
    assert rules(text) == [("match-class", text.split("\n").index("        case object(__globals__=g):") + 1)]


def test_a_deep_program_is_refused_or_read():
    depth = 90
    nested = HEAD + "x = " + "(" * depth + "1" + ",)" * depth + "\n"
    assert rules(nested) in ([], [("too-deep", None)])


def test_evidence_is_bounded_and_in_order():
    found = rules(HEAD + "import os\n" * 100)
    assert len(found) == MAX_EVIDENCE
    assert found == sorted(found, key=lambda f: f[1])


@pytest.mark.parametrize("name", names())
def test_gold_passes_the_screen(name):
    operator = get(name)
    found = screen(parse(gold_source(name).encode()), operator.policy, own=operator.name, reads=_reads(operator))
    assert found == ()


HONEST = """
from __future__ import annotations
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Optional

try:
    from triton.language.extra import libdevice
except ImportError:
    libdevice = None

SIZES: dict = {"small": 64, "large": 1024}


@dataclass(frozen=True)
class Plan:
    block: int
    warps: int = 4


@lru_cache(maxsize=None)
def plan(n: int) -> Plan:
    return Plan(min(SIZES["large"], max(SIZES["small"], triton.next_power_of_2(n))))


@triton.jit
def k(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, tl.exp(x - tl.max(x, axis=0)).to(out_ptr.dtype.element_ty), mask=at < n)


def f(input: torch.Tensor, dim: Optional[int] = None, *, dtype=None):
    if not isinstance(input, torch.Tensor):
        raise TypeError(f"not a tensor: {type(input)}")
    x = input.contiguous() if not input.is_contiguous() else input
    out = torch.empty_like(x, dtype=dtype or x.dtype)
    p = plan(x.shape[-1])
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    k[grid](x, out, x.numel(), BLOCK=p.block, num_warps=p.warps)
    return out.view(input.shape).to(torch.promote_types(x.dtype, torch.float32))
"""


def test_honest_constructs_pass():
    text = HONEST.replace(
        "import math\n", "import math\nimport torch\nimport triton\nimport triton.language as tl\n", 1
    )
    assert rules(text) == []
