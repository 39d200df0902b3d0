"""The performance table: ratios, targets, percentiles, and a page that is renewed from the file."""

import json

import pytest

from benchmarks import performance, throughput
from benchmarks.comparison import Row, percentile
from kgb_gym.operators import names


def test_targets_are_of_the_value_or_of_the_ratio():
    assert Row("x", 40.0, "ms", target=50.0).met is True
    assert Row("x", 60.0, "ms", "y", 120.0, 50.0).met is False
    assert Row("x", 60.0, "ms", "y", 120.0).met is None
    two = Row("x", 19.0, "a minute", "one", 10.0, 1.8, at_most=False, of_ratio=True)
    assert (two.ratio, two.met) == (1.9, True)
    assert Row("x", 17.0, "a minute", "one", 10.0, 1.8, at_most=False, of_ratio=True).met is False


def test_percentiles():
    values = [float(i) for i in range(101)]
    assert [round(percentile(values, s)) for s in (0.5, 0.95, 0.99)] == [50, 95, 99]
    assert percentile([3.0], 0.99) == 3.0


def test_the_page_is_renewed_and_nothing_else_of_it_changes(tmp_path):
    path = tmp_path / "performance.json"
    performance._keep(path, "cpu", "ready", [Row("worker ready", 12.0, "ms", "fresh", 48.0, 50.0, detail="n = 40")])
    performance._keep(path, "cpu", "haul", [Row("left behind", 0.0, "things", target=0.0)])
    data = json.loads(path.read_text())
    assert set(data["cpu"]) == {"ready", "haul"}
    before = f"# Title\n\ntext\n\n{performance.BEGIN}\nold\n{performance.END}\n\nmore\n"
    page = performance.renewed(before, data)
    assert "| worker ready | 12 ms | fresh | 48 ms | 0.25 | ≤ 50 | met |" in page
    assert page.startswith("# Title\n\ntext\n") and page.endswith("\n\nmore\n") and "old" not in page
    assert performance.renewed(page, data) == page
    with pytest.raises(ValueError, match="lacks"):
        performance.renewed("# Title\n", data)


def test_the_operators_that_are_measured_exist():
    assert {*throughput.SAMPLE, *throughput.SHORT, *throughput.WARM} <= set(names())
    for name, (count, seconds, patterns) in throughput.WARM.items():
        cases = throughput._published(name, count, patterns)
        assert len(set(cases)) == count and seconds > 0


def test_unknown_parts_are_named(capsys):
    assert performance.main(["sped", "--platform", "cpu"]) == 2
    assert "no such part here: sped" in capsys.readouterr().err
