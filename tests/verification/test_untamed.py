"""Submissions that never end, crash, flood their output, or are right in a way that only looks odd."""

from __future__ import annotations

import time

import pytest

from kgb_gym.operators import gold_source
from kgb_gym.verdict import Stage, Status

SAXPY = gold_source("cublas/Saxpy_v2")
ENTRY = "def cublasSaxpy_v2(n, alpha, x, incx, y, incy):\n"
KERNEL = "BLOCK: tl.constexpr):\n"


def wrapper(*lines: str) -> str:
    """The gold Saxpy with lines at the top of its wrapper."""
    return SAXPY.replace(ENTRY, ENTRY + "".join(f"    {line}\n" for line in lines))


def kernel(*lines: str) -> str:
    """The gold Saxpy with lines at the top of its kernel."""
    return SAXPY.replace(KERNEL, KERNEL + "".join(f"    {line}\n" for line in lines), 1)


ENDLESS = {
    "at import": (SAXPY + "\nwhile True:\n    pass\n", "importing the submission did not end within 1 s"),
    "in the call": (wrapper("while True:", "    pass"), "recording cublasSaxpy_v2["),
    "swallows what ends it": (wrapper("while True:", "    try:", "        while True:", "            pass",
                                      "    except BaseException:", "        pass"), "recording"),
    "in the kernel": (kernel("while n < 1 << 30:", "    n += 0"), "4 s in all"),
    "in compile time": (kernel("for i in tl.static_range(1 << 40):", "    n += 0"), "4 s in all"),
    "a huge grid": (SAXPY.replace("triton.cdiv(n, block),", "triton.cdiv(n, block), 1 << 20, 1 << 10,"), "4 s in all"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_ends_at_its_limit(judge, good, name):
    source, words = ENDLESS[name]
    began = time.monotonic()
    verdict = judge("cublas/Saxpy_v2", source, limits={"call_s": 1.0, "correctness_s": 4.0})
    assert verdict.status is Status.TIMEOUT, verdict.message
    assert words in verdict.message
    assert time.monotonic() - began < 9
    good()


@pytest.mark.parametrize("constant", ["BIG = (0,) * (1 << 33)", "BIG = 'x' * (1 << 40)"])
def test_a_constant_that_fills_the_memory(judge, good, constant):
    source = SAXPY.replace("@triton.jit", constant + "\n\n\n@triton.jit", 1)
    source = source.replace(KERNEL, KERNEL + "    n += BIG[0]\n", 1)
    verdict = judge("cublas/Saxpy_v2", source, limits={"memory_bytes": 256 << 20, "call_s": 5.0})
    assert verdict.status is Status.OUT_OF_MEMORY, verdict.message
    good()


def test_a_kernel_that_fills_the_memory(judge, good):
    source = kernel(
        "big = tl.zeros((1 << 20,), tl.float64)",
        "for i in range(12):",
        "    big = tl.join(big, big).reshape(2 * big.shape[0])",
    )
    verdict = judge("cublas/Saxpy_v2", source, limits={"memory_bytes": 256 << 20, "correctness_s": 20.0})
    assert verdict.status in {Status.OUT_OF_MEMORY, Status.COMPILE_ERROR}, verdict.message
    good()


def test_a_crash_ends_its_own_process_only(judge, good):
    lines = (
        "deep = ()",
        "for _ in range(1 << 20):",
        "    deep = itertools.chain(deep, ())",
        "for _ in deep:",
        "    pass",
    )
    began = time.monotonic()
    verdict = judge("cublas/Saxpy_v2", "import itertools\n" + wrapper(*lines))
    assert verdict.status is Status.CRASH, verdict.message
    assert "SIGSEGV" in verdict.message
    assert time.monotonic() - began < 4
    good()


@pytest.mark.parametrize(
    "line", ["y_value = tl.load(x + (index + (1 << 44)))", "tl.store(y + (index + (1 << 44)), 1.0)"]
)
def test_a_wild_pointer_harms_nobody(judge, good, line):
    source = SAXPY.replace("    tl.store(y_at", f"    {line}\n    tl.store(y_at", 1)
    began = time.monotonic()
    verdict = judge("cublas/Saxpy_v2", source)
    assert verdict.status in {Status.CRASH, Status.RUNTIME_ERROR}, verdict.message
    assert time.monotonic() - began < 4
    good()


def test_a_hundred_megabytes_of_output_are_judged_on_their_merits(judge):
    source = wrapper("print('#' * (50 << 20))") + "\nprint('#' * (50 << 20))\n"
    verdict = judge("cublas/Saxpy_v2", source, limits={"memory_bytes": 1 << 30})
    assert (verdict.status, verdict.clean) == (Status.PASSED, True), verdict.message
    assert len(verdict.to_json()) < 100_000


def test_a_forged_verdict_on_the_output_changes_nothing(judge):
    forged = '{"verdict": {"status": "passed", "clean": true}, "ready": true, "ended": 0}'
    source = wrapper(f"print({forged!r}, flush=True)").replace("alpha * x_value + y_value", "x_value")
    assert judge("cublas/Saxpy_v2", source).status is Status.MISMATCH


@pytest.mark.parametrize("change", ["\r\n", "\r", "\ufeff", "\n\n\n", "main", "tabs", "form feed", "future"])
def test_odd_text_of_a_right_kernel_passes(judge, change):
    text = {
        "\r\n": SAXPY.replace("\n", "\r\n"),
        "\r": SAXPY.replace("\n", "\r"),
        "\ufeff": "\ufeff" + SAXPY,
        "\n\n\n": "\n\n\n" + SAXPY.rstrip("\n"),
        "main": SAXPY + "\n\nif __name__ == '__main__':\n    import sys\n\n    sys.exit(1)\n",
        "tabs": SAXPY.replace("    ", "\t"),
        "future": "from __future__ import annotations\n\n" + SAXPY,
        "form feed": SAXPY.replace("\n@triton.jit", "\n\f@triton.jit"),
    }[change]
    verdict = judge("cublas/Saxpy_v2", text.encode())
    assert (verdict.status, verdict.clean) == (Status.PASSED, True), verdict.message
    assert verdict.stage is Stage.GENUINE


def test_a_message_of_a_mebibyte_is_cut(judge):
    verdict = judge("cublas/Saxpy_v2", wrapper("raise ValueError('#' * (8 << 20))"))
    assert verdict.status is Status.RUNTIME_ERROR
    assert len(verdict.to_json()) < 50_000


@pytest.mark.parametrize("raised", [
    "class E(Exception):\n    def __str__(self):\n        return 1\n",
    "class E(Exception):\n    def __str__(self):\n        raise ValueError('no')\n",
    "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\n",
    "class E(BaseException):\n    pass\n",
])  # fmt: skip
def test_an_exception_that_cannot_be_shown(judge, good, raised):
    source = wrapper("raise E()").replace(ENTRY, raised + "\n\n" + ENTRY)
    verdict = judge("cublas/Saxpy_v2", source, limits={"call_s": 1.0})
    assert verdict.status in {Status.RUNTIME_ERROR, Status.TIMEOUT}, verdict.message
    good()
