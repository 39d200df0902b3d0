"""Compiling for chips nobody here has: names, facts of the code, errors on the submission's lines, one chip that hangs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgb_gym.operators import gold_source
from kgb_gym.sandbox.spawner import TemplateSpawner
from kgb_gym.verdict import Status, Verdict
from kgb_gym.verification import codegen, targets
from kgb_gym.verification.judge import verify
from kgb_gym.verification.protocols import Job, Limits
from kgb_gym.verification.targets import PORTABLE, UnknownTarget, listed, named

COS = gold_source("aten/cos")


def test_names_are_tritons_or_the_compilers():
    assert listed(["cuda:80,sm_90", "GFX942", " hip:gfx942 "]) == ("cuda:80", "cuda:90", "hip:gfx942")
    assert listed(["portable"]) == PORTABLE and listed([]) == ()
    assert {t.backend for t in targets.TARGETS.values()} == {"cuda", "hip"}


@pytest.mark.parametrize("name", ["cuda:81", "sm_13", "tpu:v5", "cuda", ""])
def test_an_unknown_target_lists_the_known_ones(name):
    with pytest.raises(UnknownTarget, match="known are cuda:80"):
        named(name)


def test_instructions_are_sorted_into_kinds():
    ptx = """
        @%p1 ld.global.b32 { %r1 }, [ %rd1 + 0 ];
        st.shared.b32 [ %r1 ], %r2;
        bar.sync 0;
    $L1:
        @!%p2 bra $L1;
        ex2.approx.f32 %f1, %f2;
        add.s32 %r3, %r1, %r2;
        st.global.b32 [ %rd2 ], %r3;
        atom.global.add.f32 %f3, [%rd3], %f1;
        mma.sync.aligned.m16n8k16 {%f1};
        ld.param.b64 %rd1, [p];
        .reg .b32 %r<4>;
        cvt.f32.f16 %f1, %h1;
        cp.async.cg.shared.global [%r1], [%rd1], 16;
    """
    assert codegen.count(ptx, amd=False) == {
        "load": 1, "store": 1, "shared": 1, "async copy": 1, "atomic": 1, "matrix": 1, "barrier": 1, "branch": 1,
        "special": 1, "convert": 1, "other": 2,
    }  # fmt: skip
    gcn = "\t.amdhsa_x 1\n\tglobal_load_dword v1, v2, s[0:1]\n\tds_read_b32 v1, v2\n\ts_waitcnt 0\n\tv_mfma_f32_32x32x8_f16 a[0:15]\n\ts_endpgm\n"
    assert codegen.count(gcn, amd=True) == {"load": 1, "shared": 1, "matrix": 1, "barrier": 1, "branch": 1}


def test_registers_and_spills_are_read_from_either_vendor():
    said = "ptxas info    : Used 168 registers, used 1 barriers\n    0 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads"
    assert codegen.facts("ret;", ptxas=said, shared=64) | {"instructions": {}} == {
        "registers": 168, "spill_bytes": 12, "shared_bytes": 64, "instructions": {},
    }  # fmt: skip
    amd = codegen.facts(".amdhsa_a\n .vgpr_count:     66\n .vgpr_spill_count: 3\n")
    assert (amd["registers"], amd["spill_bytes"]) == (66, 12)
    assert codegen.facts("ret;")["registers"] is None


def test_two_vendors_with_the_facts_of_their_code(judge):
    verdict = judge("aten/cos", COS, kind="compile", targets=("cuda:80", "hip:gfx942"))
    assert verdict.status is Status.PASSED and verdict.compiled_for == ("cuda:80", "hip:gfx942")
    for target in verdict.targets:
        (code,) = target.kernels
        assert target.variants > 1 and target.ok and target.failed == 0
        assert 0 < code.registers < 256 and code.spill_bytes == 0
        assert 0 <= code.shared_bytes <= target.shared_limit
        assert code.instructions["load"] and code.instructions["store"] and code.instructions["other"]


def broken(where: str) -> str:
    """The gold of cos with a line put into its kernel, right behind the signature."""
    head, kernel = COS.split("@triton.jit\n", 1)
    signature, body = kernel.split("):\n", 1)
    return f"{head}@triton.jit\n{signature}):\n    {where}\n{body}"


def test_inline_assembly_of_one_vendor_compiles_for_that_one(judge):
    source = broken(
        'lane = tl.inline_asm_elementwise("mov.u32 $0, %laneid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)'
    )
    verdict = judge("aten/cos", source, kind="compile", targets=("cuda:80", "hip:gfx942"))
    by_name = {t.target: t for t in verdict.targets}
    assert by_name["cuda:80"].ok, by_name["cuda:80"].message
    assert not by_name["hip:gfx942"].ok and by_name["hip:gfx942"].message
    assert verdict.status is not Status.PASSED and verdict.compiled_for == ("cuda:80",)


def test_a_call_that_should_raise_is_no_failure(judge):
    about = {"kind": "compile", "targets": ("cuda:80",), "suite": "wide"}
    verdict = judge("aten/cos", COS, **about)
    assert verdict.status is Status.PASSED
    assert [c.params["out_dtype"] for c in verdict.cases if c.passed] == ["int64"], "of the others nothing is known"
    refusing = COS.replace(
        "def cos_out(self, *, out):\n", "def cos_out(self, *, out):\n    raise RuntimeError('never')\n"
    )
    verdict = judge("aten/cos", refusing, **about)
    assert verdict.status is Status.RUNTIME_ERROR and "never" in verdict.message


def test_the_compilers_error_names_the_submissions_line(judge):
    source = broken("wide = tl.einsum(src, dst)")
    verdict = judge("aten/cos", source, kind="compile", targets=("hip:gfx1100",))
    (target,) = verdict.targets
    line = source.split("\n").index("    wide = tl.einsum(src, dst)") + 1
    assert (target.status, target.line) == (Status.COMPILE_ERROR, line)
    assert f"line {line}: wide = tl.einsum" in target.message and "einsum" in verdict.message


class Hanging:
    """Starts the engine's own processes; what its second compiler is given to load never ends."""

    def __init__(self, spawner: TemplateSpawner) -> None:
        self._spawner = spawner
        self.compilers: list[Any] = []

    def spawn(self, role: str, **about: Any) -> Any:
        process = self._spawner.spawn(role, **about)
        if role == "compiler":
            self.compilers.append(process)
            if len(self.compilers) == 2:
                ask = process.ask
                process.ask = lambda head, *args, **more: ask(
                    {**head, "text": head["text"] + "\nwhile True:\n    pass\n"} if "text" in head else head,
                    *args,
                    **more,
                )
        return process

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spawner, name)


def test_a_compiler_that_hangs_on_one_chip_costs_the_others_nothing(local_engine):
    chips = ("cuda:80", "hip:gfx942", "cuda:90")
    job = Job("aten/cos", COS.encode(), suite="smoke", kind="compile", targets=chips, limits=Limits(compile_s=10.0))
    with local_engine.spawner() as spawner:
        hanging = Hanging(spawner)
        verdict = verify(job, hanging)
    assert [t.status for t in verdict.targets] == [Status.PASSED, Status.TIMEOUT, Status.PASSED], verdict.message
    assert verdict.status is Status.TIMEOUT and "did not end in time" in verdict.message
    assert not any(Path(f"/proc/{process.pid}/exe").exists() for process in hanging.compilers)


def test_further_chips_are_recorded_with_a_clean_pass_and_change_nothing(judge):
    verdict = judge("aten/cos", COS, targets=("hip:gfx942",))
    assert verdict.clean and [t.target for t in verdict.targets] == ["cuda:90", "hip:gfx942"]
    assert verdict.compiled_for == ("cuda:90", "hip:gfx942")
    alone = judge("aten/cos", COS)
    assert replace(verdict, targets=(), compiled_for=()) == replace(alone, targets=(), compiled_for=())
    assert Verdict.from_json(verdict.to_json()) == verdict
