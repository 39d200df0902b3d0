"""Whatever is submitted gets its own clear status within its limit, and the next submission is judged as ever."""

from __future__ import annotations

import pytest

from kgb_gym.operators import gold_source
from kgb_gym.verdict import Status

SAXPY = gold_source("cublas/Saxpy_v2")
ENTRY = "def cublasSaxpy_v2(n, alpha, x, incx, y, incy):\n"


def wrapper(*lines: str) -> str:
    """The gold Saxpy with lines at the top of its wrapper."""
    return SAXPY.replace(ENTRY, ENTRY + "".join(f"    {line}\n" for line in lines))


def kernel(*lines: str) -> str:
    """The gold Saxpy with lines at the top of its kernel."""
    mark = "BLOCK: tl.constexpr):\n"
    assert mark in SAXPY
    return SAXPY.replace(mark, mark + "".join(f"    {line}\n" for line in lines), 1)


def module(*lines: str) -> str:
    """The gold Saxpy with lines at the end of the module."""
    return SAXPY + "\n\n" + "\n".join(lines) + "\n"


BAD = {
    "empty": ("", Status.MISSING_INTERFACE, "cublasSaxpy_v2"),
    "blank": ("\n\n   \n", Status.MISSING_INTERFACE, "cublasSaxpy_v2"),
    "syntax error": ("def cublasSaxpy_v2(:\n", Status.SYNTAX_ERROR, "line 1"),
    "indentation": ("x = 1\n  y = 2\n", Status.SYNTAX_ERROR, "line 2"),
    "prose": ("Sure! Here is the kernel you asked for.", Status.SYNTAX_ERROR, "line 1"),
    "not UTF-8": (b"# caf\xe9\n" + SAXPY.encode(), Status.SYNTAX_ERROR, "not UTF-8 text (byte 5 is 0xe9)"),
    "UTF-16": (SAXPY.encode("utf-16"), Status.SYNTAX_ERROR, "not UTF-8"),
    "NUL": (SAXPY + "\x00", Status.SYNTAX_ERROR, "NUL"),
    "5 MiB": (SAXPY + "#" * (5 << 20), Status.SYNTAX_ERROR, "at most 1,048,576"),
    "100k parentheses": ("x = " + "(" * 100_000, Status.SYNTAX_ERROR, ""),
    "no entry point": (SAXPY.replace("cublasSaxpy_v2", "saxpy"), Status.MISSING_INTERFACE, "cublasSaxpy_v2"),
    "entry point is no function": (SAXPY.replace(ENTRY, "def f(n, alpha, x, incx, y, incy):\n") + "\ncublasSaxpy_v2 = 3\n",
                                   Status.MISSING_INTERFACE, "a callable"),
    "wrong signature": (SAXPY.replace(ENTRY, "def cublasSaxpy_v2(n, alpha, x):\n    return x\n\n\ndef f(n, alpha, x, incx, y, incy):\n"),
                        Status.RUNTIME_ERROR, "TypeError"),
    "raises at import": (module("1 / 0"), Status.RUNTIME_ERROR, "ZeroDivisionError"),
    "raises in the call": (wrapper("1 / 0"), Status.RUNTIME_ERROR, f"line {SAXPY.split(chr(10)).index(ENTRY.strip()) + 2}, in cublasSaxpy_v2: 1 / 0"),
    "SystemExit at import": (module("raise SystemExit(0)"), Status.RUNTIME_ERROR, "SystemExit"),
    "SystemExit in the call": (wrapper("raise SystemExit(0)"), Status.RUNTIME_ERROR, "SystemExit"),
    "KeyboardInterrupt": (wrapper("raise KeyboardInterrupt"), Status.RUNTIME_ERROR, "KeyboardInterrupt"),
    "sys.exit": ("import sys\n" + wrapper("sys.exit(0)"), Status.HACK, "imports sys"),
    "exit": (wrapper("exit(0)"), Status.RUNTIME_ERROR, ""),
    "fork": ("import os\n" + wrapper("os.fork()"), Status.HACK, "imports os"),
    "os by another way": (wrapper("triton.runtime.cache.os._exit(0)"), Status.HACK, "triton.runtime"),
    "thread": ("import threading\n" + SAXPY, Status.HACK, "imports threading"),
    "endless recursion": (wrapper("return cublasSaxpy_v2(n, alpha, x, incx, y, incy)"), Status.RUNTIME_ERROR, "RecursionError"),
    "huge allocation": (wrapper("torch.empty(1 << 40)").replace("import triton\n", "import torch\nimport triton\n", 1), Status.OUT_OF_MEMORY, "memory"),
    "endless list": (wrapper("kept = []", "while True:", "    kept.append([0] * 100000)"), Status.OUT_OF_MEMORY, "memory"),
    "endless tensors": (wrapper("kept = []", "while True:", "    kept.append(torch.empty(1 << 20))")
                        .replace("import triton\n", "import torch\nimport triton\n", 1), Status.OUT_OF_MEMORY, "memory"),
    "endless integer": (module("N = 7 ** 10 ** 9"), Status.TIMEOUT, "importing"),
    "mismatch": (SAXPY.replace("alpha * x_value + y_value", "alpha * x_value - y_value"), Status.MISMATCH, "cases are wrong"),
    "static assertion": (kernel("tl.static_assert(BLOCK == 3)"), Status.COMPILE_ERROR, "line 7: tl.static_assert(BLOCK == 3)"),
    "unknown launch option": (SAXPY.replace("num_warps=4", "num_wraps=4"), Status.RUNTIME_ERROR, "num_wraps"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_status(judge, good, name):
    source, status, words = BAD[name]
    verdict = judge("cublas/Saxpy_v2", source, limits={"call_s": 3.0, "memory_bytes": 256 << 20})
    assert verdict.status is status, verdict.message
    assert words in verdict.message, verdict.message
    assert not verdict.clean and verdict.reward_valid
    good()
