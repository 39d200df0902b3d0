"""Prompts render for every operator; one a source is compared with a snapshot.

After an intended change: `KGB_WRITE_SNAPSHOTS=1 pytest tests/prompts`, and read the difference.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kgb_gym import platforms, prompts
from kgb_gym.operators import get, gold_source, names
from kgb_gym.prompts import compose, facts, signatures

HERE = Path(__file__).parent
TOOLS = ({"name": "test", "description": "Check it.", "parameters": {
    "properties": {"code": {"description": "The module."}, "cases": {"description": "Globs."}}, "required": ["code"],
}},)  # fmt: skip


def stable(text: str) -> str:
    """Without torch's docstring, which changes with its version."""
    return re.sub(r"~~~text\n.*?\n~~~", "~~~text\n(docstring)\n~~~", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("name", "platform", "agentic", "tools"),
    [
        ("aten/add", "cpu", False, ()), ("aten/add", "cpu", True, ()), ("aten/softmax", "nvidia", True, ()),
        ("vllm/rms_norm", "cpu", False, ()), ("vllm/rms_norm", "cpu", True, TOOLS),
        ("cublas/Sgemm_v2", "nvidia", False, ()), ("cublas/Sgemm_v2", "nvidia", True, ()),
    ],
)  # fmt: skip
def test_snapshots(name, platform, agentic, tools):
    text = stable(prompts.render(get(name), platform, "auto", agentic, tools))
    path = HERE / "snapshots" / f"{name.replace('/', '-')}-{platform}{'-agentic' if agentic else ''}.md"
    if os.environ.get("KGB_WRITE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("agentic", [False, True])
def test_every_operator_renders(name, agentic):
    operator = get(name)
    text = prompts.render(operator, "cpu", "quick", agentic)
    assert len(text) < 1 << 17
    assert "\n\n\n" not in re.sub(r"^(```|~~~).*?^\1$", "(block)", text, flags=re.DOTALL | re.MULTILINE)
    for line in signatures.functions(operator):
        assert line in text
        compile(f"{line} pass", "prompt", "exec")
    for rule in operator.policy.rules():
        assert rule in text
    for note in operator.notes:
        assert note in text


@pytest.mark.parametrize("name", names())
def test_nothing_of_the_gold_kernel_or_a_hidden_case_is_shown(name):
    operator = get(name)
    text = prompts.render(operator, "cpu", "paper", True)
    try:
        gold = gold_source(name)
    except FileNotFoundError:
        pytest.skip("no gold kernel yet")
    example = (HERE.parents[1] / "kgb_gym/prompts/templates" / f"example_{operator.source}.py.j2").read_text()
    signature = " ".join(signatures.functions(operator))
    for line in gold.splitlines():
        if len(line.strip()) > 25 and line not in example and line.strip() not in signature:
            assert line not in text, line
    assert "#hidden" not in text


def test_modules_follow_table_5():
    sampling, agentic = prompts.MODULES["sampling"], prompts.MODULES["agentic"]
    assert set(agentic) - set(sampling) == {"assignment", "verify", "workflow", "performance"}
    shared = [m for m in agentic if m in sampling]
    assert shared == ["role", "task", "example", "spec_{source}", "signature", "rules", "testing", "device"]


def test_the_types_that_are_asked_for_are_told():
    quick, wide = (prompts.render(get("aten/cos"), "cpu", suite) for suite in ("quick", "wide"))
    assert (
        "Types of values: float16, bfloat16, float32; no other type, and no argument that the operator refuses" in quick
    )
    assert "Types of values: float16, bfloat16, float32, float64, bool, int32, int64.\n" in wide
    assert "Types of values" not in prompts.render(get("vllm/rms_norm"), "cpu", "quick")


def test_numbers_that_may_be_read_are_told():
    text = prompts.render(get("aten/masked_fill_"), "cpu", "quick")
    assert "In `masked_fill__Tensor` the number in `value` may be read on the host" in text


def test_the_paradigms_differ_where_they_should():
    operator = get("aten/add")
    sampling = prompts.render(operator, "nvidia", "paper")
    agentic = prompts.render(operator, "nvidia", "paper", agentic=True)
    assert "kgb verify aten/add kernel.py --suite paper --platform nvidia" in agentic
    assert "kgb verify" not in sampling
    assert "# Performance" in agentic
    assert "# Performance" not in prompts.render(operator, "cpu", "quick", agentic=True)
    assert "expert NVIDIA GPU programmer" in sampling
    with_tools = prompts.render(operator, "cpu", "quick", agentic=True, tools=TOOLS)
    assert "- `test`: Check it. `code`: The module. `cases` (optional): Globs." in with_tools
    assert "kgb verify" not in with_tools


def test_aten_schemas_and_docstrings_come_from_torch():
    operator = get("aten/add")
    assert facts.schemas(operator)[0] == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert facts.documentation(operator).startswith("add(input, other, *, alpha=1, out=None)")
    assert "def add_out(self, other, *, alpha=1, out):" in signatures.functions(operator)


def test_c_declarations():
    (line,) = signatures.c_signatures(get("cublas/Sgemm_v2"))
    assert line == (
        "cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, "
        "int n, int k, const float *alpha, const float *A, int lda, const float *B, int ldb, const float *beta, "
        "float *C, int ldc);"
    )


def test_auto_is_the_machine_s_platform():
    operator = get("aten/add")
    place = platforms.detect()
    assert prompts.render(operator) == prompts.render(operator, place, place.default_suite)
    assert prompts.spec(operator) in prompts.render(operator) or "# Specification" in prompts.spec(operator)
    with pytest.raises(ValueError, match="unknown platform"):
        prompts.render(operator, "abacus")
    with pytest.raises(ValueError, match="unknown suite 'big'"):
        prompts.render(operator, "cpu", "big")


def test_a_second_rendering_is_free():
    operator = get("aten/add")
    prompts.render(operator, "cpu", "quick")
    before = compose._cached.cache_info().hits
    assert prompts.render(operator, "cpu", "quick") is prompts.render(operator, "cpu", "quick")
    assert compose._cached.cache_info().hits >= before + 2


RUN_EXAMPLE = """
import sys, types, torch
path, source = sys.argv[1:]
module = types.ModuleType("example")
sys.modules["example"] = module
exec(compile(open(path).read(), path, "exec"), module.__dict__)
x = torch.arange(1500.0).reshape(3, 500)
if source == "aten":
    assert torch.equal(module.scaled_copy(x, 2.0), x * 2)
elif source == "vllm":
    out = torch.empty(3, 400)
    module.scaled_copy(out, x[:, :400], 2.0)
    assert torch.equal(out, x[:, :400] * 2)
else:
    wanted = x.clone()
    wanted[:, :300] *= 2
    module.exampleSgescal(300, 3, 2.0, x.view(-1), 500)
    assert torch.equal(x, wanted)
"""


@pytest.mark.parametrize("source", ["aten", "vllm", "cublas"])
def test_the_examples_are_right(source):
    path = HERE.parents[1] / "kgb_gym/prompts/templates" / f"example_{source}.py.j2"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", RUN_EXAMPLE, str(path), source], check=True, env=environment)


def test_the_examples_are_no_operators_of_ours():
    assert not {"aten/scaled_copy", "vllm/scaled_copy", "cublas/exampleSgescal"} & set(names())
