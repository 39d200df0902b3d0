"""The page is whole, self-contained, and nothing recorded can run in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from tables import Builder, failed, timed
from verdicts import case, verdict

from kgb_gym.datasets.recorder import Recorder
from kgb_gym.report import render_page, write_page
from kgb_gym.verdict import Hack, Stage, Status

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">{{ 7*7 }}\u202e\x1b[31m\'"`&<b>'
VOID = {"meta", "input", "br", "img", "link"}


class Page(HTMLParser):
    """Collects what a browser would see, and checks that tags nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closes at {self.getpos()}"

    def handle_data(self, data):
        self.text += data

    def count(self, tag: str) -> int:
        return sum(t == tag for t, _ in self.tags)


def page(builder: Builder, **options) -> Page:
    return Page(render_page(*builder.tables(), **{"with_plots": False} | options))


def test_a_run_is_shown_turn_by_turn():
    b = Builder()
    b.episode("aten/add", failed("aten/add"), timed("aten/add", 2.0), codes=("a\nold line\n", "a\nnew line\n"))
    b.episode("vllm/rms_norm", failed("vllm/rms_norm", Status.TIMEOUT))
    run = {"run_id": "abc", "config_hash": "def", "versions": {"torch": "2.11"}, "hardware": {"gpus": ["H200"]}}
    whole = page(b, runs=[run])
    for text in ("Turn 1", "Turn 2", "-old line", "+new line", "torch 2.11", "H200", "aten/add", "timeout"):
        assert text in whole.text
    assert sum("episode" in (a.get("class") or "").split() for _, a in whole.tags) == 2
    assert sum((a.get("class") or "") == "episode default" for _, a in whole.tags) == 1


def test_platforms_are_never_pooled_and_emulations_are_named():
    b = Builder()
    for platform, works in (("cpu", True), ("emu-a", True), ("emu-e", False)):
        value = timed("aten/add", None) if works else failed("aten/add")
        b.episode("aten/add", value, method="gold", model=None, platform=platform, suite="smoke")
    runs = [{"run_id": n, "config_hash": "def", "versions": {"torch": "2.11"}, "hardware": {"cpu": "x"}} for n in "ab"]
    whole = page(b, runs=runs)
    bars = [a["aria-label"] for tag, a in whole.tags if tag == "svg" and a.get("class") == "bar"]
    assert bars == [
        "gold · smoke · cpu: 1 passed",
        "gold · smoke · emu-a: 1 passed",
        "gold · smoke · emu-e: 1 mismatch",
    ]
    assert "emu-a, emu-e are emulations" in whole.text and "speed is not reproduced" in whole.text
    assert "Run b" in whole.text and "config def · torch 2.11 · x" in whole.text


def test_no_request_leaves_the_page_and_only_its_script_runs():
    b = Builder()
    b.episode("aten/add", timed("aten/add", 2.0))
    text = render_page(*b.tables())
    assert not re.search(r"""(src|href|action)=["'](?!#|data:image/svg\+xml;base64,)|url\(|@import|https?:""", text)
    assert "default-src 'none'" in text
    assert "img-src data:;" in text
    whole = Page(text)
    assert whole.count("script") == 1
    assert whole.count("img") == 2, "Figures 2 and 3: no ablation and no similarity was recorded"
    assert all(a["alt"] for tag, a in whole.tags if tag == "img")


def test_hostile_text_is_text():
    b = Builder()
    value = verdict(
        "aten/add",
        status=Status.HACK,
        message=HOSTILE,
        cases=(case(HOSTILE, passed=False, error=HOSTILE, params={HOSTILE: HOSTILE}),),
        hacks=(Hack(HOSTILE, HOSTILE, HOSTILE, 1),),
    )
    b.episode("aten/add", value, value, codes=(HOSTILE, HOSTILE + "\n" + HOSTILE), method=HOSTILE, model=HOSTILE)
    text = render_page(*b.tables())
    whole = Page(text)
    assert (whole.count("script"), whole.count("img")) == (1, 2)
    assert all(a["src"].startswith("data:image/svg+xml;base64,") for tag, a in whole.tags if tag == "img")
    assert not any(name.startswith("on") for _, attributes in whole.tags for name in attributes)
    assert "alert(1)" in whole.text
    assert "{{ 7*7 }}" in whole.text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "\\u202e" in whole.text


@pytest.mark.parametrize(
    "value",
    [
        verdict(status=Status.HARNESS_ERROR, cases=(), clean=False, stage=Stage.RECEIVED),
        verdict(status=Status.SYNTAX_ERROR, cases=(), stage=Stage.RECEIVED, message=""),
        verdict(cases=()),
        *(verdict(status=s) for s in Status if s is not Status.PASSED),
    ],
)
def test_every_kind_of_verdict_renders(value):
    b = Builder()
    b.episode("aten/softmax", value)
    assert "aten/softmax" in page(b).text


def test_an_empty_run_and_an_empty_episode_render():
    assert "Nothing recorded yet" in page(Builder()).text
    b = Builder()
    b.episode("aten/add")
    assert "no submission" in page(b).text


def test_a_scripted_run_says_so_and_still_has_figures():
    b = Builder()
    b.episode("aten/add", timed("aten/add", 2.0), synthetic=True)
    text = page(b).text
    assert "scripted policy" in text
    assert "1 of 1 operators" in text


def test_episodes_beyond_the_cap_are_listed_as_left_out():
    b = Builder()
    b.episode("aten/add", failed("aten/add"), codes=("x = 1\n" * 100,))
    b.episode("aten/mm", failed("aten/mm"), codes=("x = 1\n" * 10_000,))
    text = page(b, max_bytes=100_000).text
    assert "1 episode is left out" in text
    assert "Turn 1" in text


def test_unscored_operators_do_not_lower_the_charts_rate():
    b = Builder()
    b.episode("aten/add", timed("aten/add", 2.0))
    b.episode("aten/mm", failed("aten/mm", Status.HARNESS_ERROR, cases=()))
    assert "100 %" in page(b).text


def test_the_page_of_run_folders_is_written(tmp_path):
    b = Builder()
    b.episode("aten/add", timed("aten/add", 2.0))
    for name in ("one", "two"):
        with Recorder.open(tmp_path / name, config={"name": name}) as recorder:
            for step in b.steps:
                recorder.step({**step.to_pylist()[0], "run_id": None})
            for episode in b.episodes:
                recorder.episode({**episode.to_pylist()[0], "run_id": None})
    target = write_page(tmp_path / "page.html", [tmp_path / "one", tmp_path / "two"])
    text = target.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert Page(text).count("article") == 2
