"""The state layer, in child processes: each test changes something that an honest submission leaves alone."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

HARNESS = """
import json, os, sys, threading, time
import torch
from kgb_gym.verification.state import Keeper

path = sys.argv[1]
keeper = Keeper(path)
keeper.watch.awake = True
exec(compile(open(path).read(), path, "exec"), {"__name__": "submission"})
keeper.watch.awake = False
print(json.dumps(keeper.take(full=True)))
"""


def found(tmp_path_factory: pytest.TempPathFactory, source: str) -> list[dict[str, object]]:
    import json

    folder = tmp_path_factory.mktemp("state")
    path = folder / "submission.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-P", "-c", HARNESS, str(path)], capture_output=True, text=True, timeout=120, check=True
    )
    answer: list[dict[str, object]] = json.loads(run.stdout.strip().splitlines()[-1])
    return answer


CASES = {
    "namespace": ("import torch\ntorch.allclose = lambda *a, **k: True", "torch.allclose", None),
    "mode": (
        "from torch.overrides import TorchFunctionMode\nclass M(TorchFunctionMode): pass\nM().__enter__()",
        "function modes", None,
    ),
    "environment": ("import os\nos.environ['TRITON_CACHE_DIR'] = '/nowhere'", "TRITON_CACHE_DIR", None),
    "switch": ("import torch\ntorch.set_default_dtype(torch.float64)", "default dtype", None),
    "dynamic": ("x = 1\nexec('y = 2')", "code made at run time", 2),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_a_change_is_reported_with_its_rule(tmp_path_factory: pytest.TempPathFactory, rule: str) -> None:
    source, words, line = CASES[rule]
    answer = found(tmp_path_factory, source)
    hits = [v for v in answer if v["rule"] == rule]
    assert hits, answer
    assert words in str(hits[0]["message"])
    assert hits[0]["layer"] == "state"
    assert hits[0]["line"] == line


def test_a_thread_left_running_is_a_switch(tmp_path_factory: pytest.TempPathFactory) -> None:
    source = "import threading, time\nthreading.Thread(target=time.sleep, args=(2,), daemon=True).start()"
    assert any("threads" in str(v["message"]) for v in found(tmp_path_factory, source))


def test_imports_classes_and_dataclasses_are_nobodys_business(tmp_path_factory: pytest.TempPathFactory) -> None:
    source = """
        import dataclasses
        import functools
        import torch
        import triton
        import triton.language as tl
        from typing import NamedTuple

        @dataclasses.dataclass(frozen=True)
        class Config:
            block: int = 64

        class Pair(NamedTuple):
            a: int
            b: int

        @functools.lru_cache
        def block(n):
            return triton.next_power_of_2(n)

        @triton.jit
        def kernel(x, n, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), 0.0)

        with torch.no_grad():
            torch.empty(4).contiguous()
        block(5)
    """
    assert found(tmp_path_factory, source) == []
