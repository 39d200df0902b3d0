"""What follows an answer, the single-step agent's prompt, and how the thing to be replaced is called."""

import ast
import ctypes
import sys

import pytest

from kgb_gym import prompts
from kgb_gym.operators import get
from kgb_gym.prompts import chain


def test_the_scenarios_tell_what_came_and_what_to_do():
    repair = prompts.scenario("repair", "Submission 1: mismatch.\n")
    assert repair.startswith("# What came of it\n\nSubmission 1: mismatch.\n\n# Correct it\n")
    optimise = prompts.scenario("optimise", "Speedup 0.8x")
    assert "Speedup 0.8x" in optimise and "# Make it faster" in optimise and "# Correct it" not in optimise
    with pytest.raises(ValueError, match="unknown scenario 'praise': use repair, optimise"):
        prompts.scenario("praise", "")


def test_what_a_submission_says_is_no_template():
    assert "{{ 1 + 1 }}" in prompts.scenario("repair", "KeyError: {{ 1 + 1 }}")


def test_the_single_step_agent_is_told_of_its_one_tool():
    operator = get("aten/cos")
    text = prompts.single_step(operator, "cpu", "smoke")
    assert "one tool, and may call it once" in text
    assert "# Answer" not in text
    head = text.partition("# Acting")[0]
    assert prompts.render(operator, "cpu", "smoke").startswith(head)


def test_an_agent_is_told_the_command_of_its_work_folder():
    text = prompts.render(get("aten/cos"), "cpu", "smoke", agentic=True, command="verify kernel.py")
    assert "```\nverify kernel.py\n```" in text
    assert "kgb verify" not in text


@pytest.mark.parametrize("name", ["cublas/Saxpy_v2", "cublas/Sgemm_v2", "cublas/CgemmStridedBatched"])
def test_a_chain_of_c_calls_is_python_and_makes_the_call(name):
    operator = get(name)
    text = chain.call_chain(operator)
    tree = ast.parse(text)
    calls = [ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)]
    for interface in operator.interfaces:
        assert f"cublas.{interface.name}" in calls
        call = next(n for n in ast.walk(tree) if isinstance(n, ast.Call) and interface.name in ast.unparse(n.func))
        assert len(call.args) == 1 + len(chain._parameters(interface)), "the handle, and every parameter"
    for needed in ("cublasCreate_v2", "cublasSetStream_v2", "cublasSetPointerMode_v2", "cublasDestroy_v2"):
        assert f"cublas.{needed}" in calls
    assert max(map(len, text.splitlines())) <= 112
    assert text in prompts.spec(operator, "nvidia", "paper")


@pytest.mark.parametrize(("letter", "bytes_"), [("S", 4), ("D", 8), ("C", 8), ("Z", 16)])
def test_scalars_lie_in_memory_as_c_wants_them(letter, bytes_):
    scalar = eval(chain._SCALARS[letter].format("alpha"), {"ctypes": ctypes, "alpha": 2.0})
    assert ctypes.sizeof(scalar) == bytes_


@pytest.fixture
def vllm(tmp_path, monkeypatch):
    """A package named vllm whose import would fail: it is only read."""
    package = tmp_path / "vllm"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('no GPU here')\n")
    (package / "_custom_ops.py").write_text(
        "import torch\n\n\ndef rms_norm(out, input, weight, epsilon):\n    torch.ops._C.rms_norm(out, input)\n\n\n"
        "def unrelated():\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    for cached in (chain._custom_ops, chain._functions):
        cached.cache_clear()
    yield package
    for cached in (chain._custom_ops, chain._functions):
        cached.cache_clear()


def test_a_wrapper_is_read_from_the_installed_vllm(vllm):
    text = chain.wrapper_source(get("vllm/rms_norm"))
    assert text == "def rms_norm(out, input, weight, epsilon):\n    torch.ops._C.rms_norm(out, input)"


def test_a_long_wrapper_is_cut(vllm, monkeypatch):
    monkeypatch.setattr(chain, "MAX_WRAPPER", 50)
    assert chain.wrapper_source(get("vllm/rms_norm")).endswith("epsilon):\n# [...]")


def test_a_vllm_that_cannot_be_read_changes_nothing(vllm):
    (vllm / "_custom_ops.py").write_text("def rms_norm(:\n")
    assert chain.wrapper_source(get("vllm/rms_norm")) == ""
    (vllm / "_custom_ops.py").unlink()
    chain._custom_ops.cache_clear()
    assert chain.wrapper_source(get("vllm/rms_norm")) == ""
