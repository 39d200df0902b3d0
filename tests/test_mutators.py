"""The mutators of the mutation score: what they change, and what they leave out because nobody could see it."""

from __future__ import annotations

import pytest

from benchmarks.mutators import mutants

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef f(x_ptr, y_ptr, n, B: tl.constexpr):\n"
FOOT = "\n\ndef op(self):\n    f[(1,)](self, self, 3, B=4)\n"


def changes(body: str) -> set[tuple[str, str]]:
    text = HEAD + "".join(f"    {line}\n" for line in body.split("\n")) + FOOT
    return {(m.mutator, m.after) for m in mutants(text)}


def test_masks_operands_and_constants_are_changed() -> None:
    found = changes("o = tl.arange(0, B)\ntl.store(y_ptr + o, tl.load(x_ptr + o, mask=o < n) - 2, mask=o < n)")
    assert {("mask_off_by_one", "o <= n"), ("mask_off_by_one", "o < n - 1"), ("flipped_comparison", "o > n")} <= found
    assert ("constant_off_by_one", "3") in found
    assert ("dropped_mask", "tl.load(x_ptr + o)") in found
    assert any(name == "swapped_operands" and after.startswith("2 - tl.load") for name, after in found)


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("tl.store(y_ptr + 0, x.to(y_ptr.dtype.element_ty))", False),
        ("tl.store(y_ptr + 0, x.to(x_ptr.dtype.element_ty))", True),
        ("tl.store(y_ptr + x.to(tl.int64), 1)", False),
        ("tl.store(y_ptr + 0, x.to(tl.float32) * x)", True),
    ],
)
def test_casts_that_a_store_repeats_are_left_alone(body: str, seen: bool) -> None:
    assert any(name == "missing_cast" for name, _ in changes(f"x = tl.load(x_ptr)\n{body}")) is seen


@pytest.mark.parametrize(
    ("value", "store", "seen"),
    [("x", "mask=m", False), ("tl.sum(x)", "mask=m", True), ("x", "mask=m & (o > 1)", True), ("x", "", True)],
)
def test_fillers_count_where_another_lane_or_store_sees_them(value: str, store: str, seen: bool) -> None:
    body = f"o = tl.arange(0, B)\nm = o < n\nx = tl.load(x_ptr + o, mask=m, other=7)\ntl.store(y_ptr + o, {value}, {store})"
    assert (("constant_off_by_one", "8") in changes(body)) is seen


def test_a_module_without_kernels_gets_contract_mutants() -> None:
    found = {
        m.after.splitlines()[0]
        for m in mutants("import torch\n\n\ndef t(self):\n    return self.mT if self else self\n")
    }
    assert len(found) == 3
    assert any(".clone()" in text for text in found)
    assert any("storage_offset() + 1" in text for text in found)
    assert any("[::-1]" in text for text in found)
    assert {m.mutator for m in mutants("def f(self):\n    return self.view(self.dim() - 1)\n")} == {
        "wrong_view", "constant_off_by_one", "wrong_operator",
    }  # fmt: skip
