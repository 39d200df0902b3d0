"""The declarations of platforms hold together."""

from __future__ import annotations

import re

import pytest

from kgb_gym import operators, prompts
from kgb_gym.operators import SUITES
from kgb_gym.platforms import PLATFORMS
from kgb_gym.platforms.declaration import LAYERS
from kgb_gym.verification.plan import uses_dtype
from kgb_gym.verification.screen import screen
from kgb_gym.verification.source import parse


@pytest.mark.parametrize("platform", PLATFORMS.values(), ids=lambda p: p.name)
def test_a_declaration_is_whole(platform):
    assert platform.default_suite in SUITES
    assert platform.timed == bool(platform.timer)
    assert set(LAYERS) <= set(platform.layers)
    assert "profile" not in platform.layers or platform.name.startswith("nvidia")
    assert platform.interpreted or (platform.visible and platform.signs.nodes and re.compile(platform.signs.names))
    assert platform.notes and all(note.endswith(".") for note in platform.notes)
    assert "aten" in platform.sources


def test_the_first_two_offer_everything_and_others_say_why_not():
    assert all(PLATFORMS[n].refuses(s) == "" for n in ("cpu", "nvidia") for s in ("aten", "vllm", "cublas"))
    assert "CUDA extension" in PLATFORMS["ascend"].refuses("vllm")
    assert "libhipblas.so" in PLATFORMS["amd"].refuses("cublas")
    assert "kgb/mc-v0" in PLATFORMS["intel"].refuses("cublas")


def test_names_of_blas_routines_are_mapped():
    names = {n: PLATFORMS[n].blas.routine("cublasSgemm_v2") for n in PLATFORMS if PLATFORMS[n].blas is not None}
    assert names["nvidia"] == "cublasSgemm_v2"
    assert (names["amd"], names["musa"], names["metax"]) == ("hipblasSgemm", "mublasSgemm", "mcblasSgemm")
    with pytest.raises(ValueError, match="no name of a cuBLAS routine"):
        PLATFORMS["amd"].blas.routine("sgemm")


def test_the_prompt_speaks_of_the_hardware():
    text = prompts.render(operators.get("aten/softmax"), "ascend", "paper", agentic=True)
    assert "expert Ascend NPU programmer" in text
    assert "import torch_npu" in text
    assert "at most 65535 programs" in text
    assert "complex128, float64" in text
    assert "`npu:0`" in text


def test_a_plug_in_may_be_imported_where_the_platform_needs_it_and_not_be_used():
    policy = operators.get("aten/cos").policy
    source = parse(b"import torch\nimport torch_npu\n")
    assert [h.rule for h in screen(source, policy)] == ["import"]
    assert screen(source, policy, plugins=frozenset({"torch_npu"})) == ()
    used = parse(b"import torch_npu\n\n\ndef cos(x):\n    return torch_npu.npu_cos(x)\n")
    assert screen(used, policy, plugins=frozenset({"torch_npu"}))


def test_cases_of_a_dtype_are_found():
    cases = list(operators.get("aten/_to_copy").cases("quick"))
    wide = [c for c in cases if uses_dtype(c, frozenset({"float64"}))]
    assert wide and len(wide) < len(cases)
    assert not any(uses_dtype(c, frozenset()) for c in cases)
