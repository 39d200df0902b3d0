"""The paper's figures: the published values as printed, yours beside them, and pictures that are pictures."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest
from tables import Builder, failed, timed

from kgb_gym.cli import main
from kgb_gym.datasets.recorder import Recorder
from kgb_gym.metrics import compute
from kgb_gym.report import figures, plots

ROUNDS = ("a\nb\nc\nd", "a\nb\nc\nd", "a\nb\nc\nx")


@pytest.fixture
def builder():
    b = Builder()
    b.episode("aten/add", timed("aten/add", 1.0, 4.0), method="pass@1")
    b.episode("vllm/rms_norm", timed("vllm/rms_norm", 0.5), method="reflection")
    b.episode("aten/mm", *[failed("aten/mm")] * 3, codes=ROUNDS, method="reflection")
    b.episode("aten/mm", *[failed("aten/mm")] * 3, codes=("a\nb", "c\nd", "a\nd"), method="no-reflection")
    b.episode("aten/cos", failed("aten/cos"), method="pass@1", platform="cpu", suite="quick")
    return b


def test_figure_2_has_the_papers_platforms_and_yours_where_it_stands(builder):
    shown = figures.platforms(compute(*builder.tables()))
    paper = shown.accuracy[0]
    assert paper.values == (0.92, 0.89, 0.93, 0.88, 0.96, 0.83)
    assert shown.speedup[0].values[1] == 0.18, "what the figure is about"
    assert shown.tokens[0].values[:2] == (1.0, pytest.approx(173 / 84))
    own = next(s for s in shown.accuracy if s.label.startswith("pass@1"))
    assert own.values == (1.0, None, None, None, None, None)
    assert not any("quick" in s.label for s in shown.accuracy), "an interpreter is no platform of the paper"
    assert [s.label for s in shown.time] == [paper.label], "one platform alone has no overhead"


def test_figure_3_keeps_what_was_not_timed(builder):
    points = figures.divergence(compute(*builder.tables()))
    assert sum(p.published for p in points) == 21
    own = {p.label: p for p in points if not p.published}
    assert own["pass@1 (M) · paper/nvidia"].speedup == pytest.approx(2.0)
    assert own["pass@1 (M) · quick/cpu"].speedup is None
    assert next(p for p in points if p.label == "Pass@1 (MiniMax M-2.5)").speedup == 0.88


def test_figures_4_and_6_stand_in_the_papers_order(builder):
    metrics = compute(*builder.tables())
    paper, own, other = figures.ablation(metrics, "overall")
    assert paper.accuracy == (0.41, 0.44, 0.57, 0.60, 0.87, 0.83)
    assert own.accuracy == (1.0, None, 0.0, 0.5, None, None)
    assert own.speedup[3] == pytest.approx(0.5)
    assert other.label == "M · quick/cpu"
    assert other.accuracy[0] == 0.0
    assert figures.ablation(metrics, "vllm")[1].accuracy == (None, None, None, 1.0, None, None)
    assert len(figures.ablation(metrics, "cublas")) == 1


def test_figure_7_compares_what_both_failed(builder):
    series = figures.similarity(compute(*builder.tables()))
    assert [len(s.values) for s in series] == [21, 21, 1, 1]
    assert series[0].values[0] == pytest.approx(0.864)
    assert (series[2].values, series[3].values) == ((0.875,), (0.25,))


def test_pictures_are_the_same_every_time_and_hold_hostile_names_as_text(builder):
    builder.episode("aten/add", timed("aten/add", 1.0), method="pass@1", model="<script>$x_{$\x1b\u202e" + "y" * 500)
    drawn = {p.name: p for p in plots.plots(compute(*builder.tables()))}
    assert len(drawn) == 5
    assert {n: p.mine for n, p in drawn.items()} == {
        "figure-2-platforms": 4, "figure-3-accuracy-speedup": 5, "figure-4-ablation": 3,
        "figure-6-ablation-by-source": 3, "figure-7-similarity": 2,
    }  # fmt: skip
    scatter = drawn["figure-3-accuracy-speedup"]
    svg = scatter.render()
    assert svg == scatter.render()
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}
    assert not tags & {"script", "foreignObject", "image", "a"}


def test_the_command_writes_pictures(builder, tmp_path, monkeypatch, capsys):
    with Recorder.open(tmp_path / "run", config={}) as recorder:
        for step in builder.steps:
            recorder.step({**step.to_pylist()[0], "run_id": None})
        for episode in builder.episodes:
            recorder.episode({**episode.to_pylist()[0], "run_id": None})

    def kgb(*words):
        monkeypatch.setattr(sys, "argv", ["kgb", *map(str, words)])
        with pytest.raises(SystemExit) as done:
            main()
        return done.value.code, capsys.readouterr()

    code, said = kgb("report", tmp_path / "run", "--plots", tmp_path / "deep" / "plots", "--paper-tables")
    assert code == 0
    assert "wrote 10 pictures" in said.err
    assert "Failure patterns (Appendix K)" in said.out
    assert "Needs a cross-block algorithm" in said.out
    files = sorted((tmp_path / "deep" / "plots").iterdir())
    assert [f.suffix for f in files] == [".png", ".svg"] * 5
    assert all(f.read_bytes().startswith(b"\x89PNG" if f.suffix == ".png" else b"<?xml") for f in files)
    (tmp_path / "file").touch()
    assert kgb("report", tmp_path / "run", "--plots", tmp_path / "file")[0] == 2
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    code, said = kgb("report", tmp_path / "run", "--plots", tmp_path / "none")
    assert code == 2
    assert "kgb-gym[plots]" in said.err
    assert not (tmp_path / "none").exists()
    assert plots.pictures(compute(*builder.tables())) == ()
