"""The paper's tables, filled from records, with the published rows as printed."""

from __future__ import annotations

import io

import pytest
import rich.console
from tables import Builder, failed, timed

from kgb_gym.metrics import compute
from kgb_gym.report import paper_tables, published, summary_tables
from kgb_gym.verdict import Status


@pytest.fixture
def metrics():
    b = Builder()
    b.episode("aten/add", timed("aten/add", 1.0, 4.0), method="Pass@1", model="M")
    b.episode("aten/mm", failed("aten/mm", Status.HACK), method="Pass@1", model="M")
    b.episode("cublas/Sgemm_v2", failed("cublas/Sgemm_v2", Status.HARNESS_ERROR), method="Pass@1", model="M")
    return compute(*b.tables())


def test_table_2_has_the_papers_layout(metrics):
    table = paper_tables(metrics)[0]
    assert table.columns[0] == "Method & setup"
    assert len(table.columns) == 9
    assert table.rows[0].label == "Pass@1 (M) · paper/nvidia · n=2"
    assert table.rows[0].cells == ("50", "2.00", "50", "2.00", "—", "—", "—", "—")
    printed = [r for r in table.rows if r.published]
    assert [r.label for r in printed][:1] == ["paper: Pass@1 (Opus-4.6)"]
    assert printed[0].cells == ("41", "0.70", "39", "0.90", "20", "0.76", "68", "0.49")


def test_published_rows_are_whole():
    sizes = {2: (21, 8), 3: (15, 12), 4: (9, 3), 13: (21, 12), 16: (7, 4)}
    for number, (rows, cells) in sizes.items():
        table = getattr(published, f"TABLE_{number}")
        assert len(table) == rows
        assert {len(r.cells) for r in table} == {cells}
    assert next(r for r in published.TABLE_4 if r.label == "AKO4all (Opus-4.6)").cells == ("904", "5.19", "83")
    assert next(r for r in published.TABLE_13 if r.label == "AutoKernel (GLM-5.0)").cells[:3] == ("60", "38", "4")
    assert published.TABLE_16[-1].cells == ("13", "10 ATen + 3 vLLM", "30", "29 ATen + 1 vLLM")


def test_all_tables_print_plain_and_rich(metrics):
    console = rich.console.Console(file=io.StringIO(), width=240)
    for table in (*paper_tables(metrics), *summary_tables(metrics)):
        assert table.title in table.text()
        assert all(len(row.cells) == len(table.columns) - 1 for row in table.rows)
        console.print(table.rich())
    assert "AKO4all" in console.file.getvalue()
    assert "harness_error" in summary_tables(metrics)[-1].text()


def test_hacks_are_counted_by_source(metrics):
    table = next(t for t in summary_tables(metrics) if "16" in t.title)
    assert table.rows[0].cells == ("1", "1 ATen")


def test_nothing_recorded():
    for table in summary_tables(compute(*Builder().tables())):
        assert "(nothing recorded)" in table.text()
