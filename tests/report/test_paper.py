"""Tables 3, 11, 12, 14, 15, 17 and 18: your numbers in the paper's layout, and the published rows."""

from __future__ import annotations

import re

import pytest
from tables import Builder, failed, timed

from kgb_gym.metrics import compute
from kgb_gym.report import comparison_tables, paper_tables, published, published_appendix, summary_tables

NUMBERED = (2, 3, 4, 11, 12, 13, 14, 15, 16, 17, 18)


@pytest.fixture
def tables():
    b = Builder()
    b.episode("aten/add", timed("aten/add", 1.0, 4.0), method="pass@1")
    b.episode("aten/add", timed("aten/add", 0.5), method="reflection")
    rounds = (failed("aten/mm"), failed("aten/mm"), failed("aten/mm"))
    b.episode("aten/mm", *rounds, codes=("a\nb\nc\nd", "a\nb\nc\nd", "a\nb\nc\nx"), method="reflection")
    b.episode("aten/mm", *rounds, codes=("a\nb", "c\nd", "a\nd"), method="no-reflection")
    b.episode("aten/sum", failed("aten/sum"), method="no-reflection")
    b.episode("aten/sum", *rounds[:2], method="reflection", model="Other")
    b.episode("aten/cos", failed("aten/cos"), method="pass@1", platform="cpu", suite="quick")
    return {int(re.findall(r"\d+", t.title)[0]): t for t in paper_tables(compute(*b.tables()))}


def test_every_table_is_there_with_its_published_rows(tables):
    assert tuple(tables) == NUMBERED
    for number in NUMBERED:
        where = published if hasattr(published, f"TABLE_{number}") else published_appendix
        theirs = getattr(where, f"TABLE_{number}")
        printed = [r for r in tables[number].rows if r.published]
        count = 14 if number == 16 else len(theirs)
        assert len(printed) == count
        assert all(len(r.cells) == len(tables[number].columns) - 1 for r in tables[number].rows)


def test_published_rows_of_the_appendix_are_whole():
    sizes = {11: (8, 8), 12: (8, 12), 14: (15, 18), 15: (9, 18), 17: (6, 10), 18: (22, 2)}
    for number, (rows, cells) in sizes.items():
        table = getattr(published_appendix, f"TABLE_{number}")
        assert len(table) == rows
        assert {len(r.cells) for r in table} == {cells}
    assert published_appendix.TABLE_18[-1].cells == ("88.4%", "36.3%")
    assert published_appendix.TABLE_15[2].cells[-3:] == ("-", "-", "-"), "as printed"


def test_platforms_have_columns_of_their_own(tables):
    ours = [r for r in tables[3].rows if not r.published]
    assert sorted(r.label.partition(" ")[0] for r in ours) == ["no-reflection", "pass@1", "reflection", "reflection"]
    assert tables[3].columns[13:] == ("cpu (quick) acc %", "cpu (quick) spd ×")
    row = next(r for r in ours if r.label.startswith("pass@1"))
    assert row.label == "pass@1 (M) · paper/nvidia n=1, quick/cpu n=1"
    assert (row.cells[:2], row.cells[12:]) == (("100", "2.00"), ("0", "—"))
    assert set(row.cells[2:12]) == {"—"}, "no platform of ours is one of the paper's anonymous ones"
    printed = next(r for r in tables[3].rows if r.published)
    assert printed.cells[:2] == ("39", "0.90") and set(printed.cells[12:]) == {"—"}


def test_runs_of_several_platforms_stand_side_by_side():
    b = Builder()
    for platform, suite in (("nvidia", "paper"), ("cpu", "quick"), ("emu-a", "smoke"), ("emu-e", "smoke")):
        b.episode("aten/add", timed("aten/add", 2.0), method="gold", model=None, platform=platform, suite=suite)
        for name in ("aten/mm", "aten/cos")[: 2 if platform == "emu-e" else 0]:
            b.episode(name, failed(name), method="gold", model=None, platform=platform, suite=suite)
    merged = compute(*b.tables())
    for table in (paper_tables(merged)[1], next(t for t in summary_tables(merged) if t.title.startswith("Table 3:"))):
        (row,) = [r for r in table.rows if not r.published]
        cell = dict(zip(table.columns[1:], row.cells, strict=True))
        assert [cell[f"{p} acc %"] for p in ("NVIDIA", "cpu (quick)", "emu-a (smoke)", "emu-e (smoke)")] == [
            "100", "100", "100", "33",
        ]  # fmt: skip
        assert "emu-a, emu-e are emulations" in table.note and "emu-e n=3" in row.label
    assert any(t.title.startswith("Table 15:") for t in summary_tables(merged))


def test_equal_numbers_at_many_places_are_said_once():
    b = Builder()
    for platform in ("cpu", "emu-a", "emu-b"):
        b.episode("aten/add", timed("aten/add", None), method="gold", model=None, platform=platform, suite="smoke")
    table = next(t for t in summary_tables(compute(*b.tables())) if t.title.startswith("Table 3:"))
    assert [r.label for r in table.rows] == ["gold · n=1 at each of 3 places"]


def test_the_ablation_is_in_its_order_with_what_each_mode_is(tables):
    rows = tables[17].rows
    ours = [r for r in rows if not r.published]
    assert [r.label.partition(" ")[0] for r in ours] == [
        "pass@1", "pass@1", "no-reflection", "reflection", "reflection",
    ]  # fmt: skip
    assert next(r for r in ours if r.label.startswith("no-")).cells[:2] == (
        "Text feedback", "Independent sampling, 5 rounds",
    )  # fmt: skip
    reflection = next(r for r in ours if r.label.startswith("reflection (M)"))
    assert reflection.cells[2:6] == ("50", "0.50", "50", "0.50")


def test_similarity_of_what_both_failed(tables):
    ours = [r for r in tables[18].rows if not r.published]
    assert [r.label for r in ours] == ["aten/mm (M · paper/nvidia)", "Overall avg. of 1 (M · paper/nvidia)"]
    assert ours[0].cells == ("87.5%", "25.0%")
    assert ours[1].cells == ours[0].cells


def test_summaries_have_no_empty_ablation(tables):
    b = Builder()
    b.episode("aten/add", timed("aten/add", 1.0), method="gold", model=None)
    titles = [t.title for t in summary_tables(compute(*b.tables()))]
    assert [int(re.findall(r"\d+", t)[0]) for t in titles] == [2, 4, 13, 16]


def test_comparisons_are_made_on_what_both_solved():
    b = Builder()
    for i, (one, two) in enumerate([(1.0, 2.0), (1.0, 4.0), (1.0, None), (None, 9.0)]):
        for method, speed in (("pass@1", one), ("pass@5", two)):
            name = f"aten/op{i}"
            b.episode(name, timed(name, speed) if speed else failed(name), method=method)
    b.episode("aten/op0", timed("aten/op0", 8.0), method="pass@1", suite="quick")
    sure, pairs = comparison_tables(compute(*b.tables()))
    assert [r.cells[0] for r in sure.rows if "paper/" in r.label] == ["75", "75"]
    (pair,) = pairs.rows
    assert pair.label == "pass@1 (M) / pass@5 (M) · paper/nvidia"
    assert pair.cells[:4] == ("2", "1.00", "2.83", "0.35"), "not 4.16 of pass@5's three against 1.00"
    assert pair.cells[4] == "0.25…0.50"
    assert comparison_tables(compute(*Builder().tables())) == ()
