"""What the page about platforms says of golds that an emulation refuses."""

from __future__ import annotations

from benchmarks import results
from benchmarks.obstacles import OBSTACLES, sorted_out


def row(**messages: str) -> dict[str, object]:
    return {"platforms": {p.replace("_", "-"): {"clean": not m, "message": m} for p, m in messages.items()}}


def test_refusals_are_told_by_their_kind_and_others_by_themselves():
    found = sorted_out(
        {
            "aten/one": row(emu_a="", emu_e="one_kernel: unsupported stride layout of x_ptr"),
            "aten/two": row(emu_c="failed to legalize operation 'tt.precise_divf'", emu_e="never heard of"),
        }
    )
    told = {k if isinstance(k, str) else k.what.partition(" ")[0]: v for k, v in found.items()}
    assert told == {
        "reads": {"emu-e": ["aten/one"]}, "divides": {"emu-c": ["aten/two"]}, "never heard of": {"emu-e": ["aten/two"]},
    }  # fmt: skip


def test_the_recorded_refusals_have_their_reason():
    found = sorted_out(results.read(results.DATA / "emulation.json"))
    assert found and set(found) <= set(OBSTACLES)
