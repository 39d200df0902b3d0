"""`kgb run` with models and agents, on a server of this machine."""

import json
import re
import sys

import pytest

from kgb_gym.baselines.models.loopback import Answer, LoopbackServer
from kgb_gym.datasets.store import load
from kgb_gym.operators import gold_source

KEY = "sk-a-very-secret-key"
RUN = ("run", "--operators", "aten/t", "--suite", "smoke", "--platform", "cpu", "--model", "stand-in")


@pytest.fixture
def server(monkeypatch):
    """A server whose model is wrong at first, and right from then on."""
    monkeypatch.setenv("KGB_TEST_KEY", KEY)

    def script(request):
        code = gold_source("aten/t") if request.index else "def t(:\n"
        return Answer(f"Here:\n```python\n{code}\n```\n")

    with LoopbackServer(script, key=KEY) as running:
        yield running


def at(server):
    return ("--base-url", server.url, "--api-key-env", "KGB_TEST_KEY")


def test_a_run_from_start_to_report_and_on(kgb, server, tmp_path):
    out = tmp_path / "run"
    done = kgb(*RUN, *at(server), "--method", "reflection", "--out", out, "--json", "--progress", "json")
    assert done.code == 0, done.err
    assert (done.json["clean"], done.json["episodes"]) == (1, 1)
    events = [json.loads(line)["event"] for line in done.err.splitlines() if line.startswith("{")]
    assert events == ["start", "begin", "step", "step", "end", "close"]
    steps = load(out).steps.to_pylist()
    assert [s["status"] for s in steps] == ["syntax_error", "passed"]
    assert [len(s["messages"]) for s in steps] == [1, 3]
    for path in out.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), "no file of a run may hold a key"
    assert server.url not in (out / "run.json").read_text(), "nor where the model was reached"
    report = kgb("report", out, "--paper-tables")
    assert "reflection (stand-in) · smoke/cpu · n=1" in report.out
    for number in (2, 3, 4, 11, 12, 13, 14, 15, 16, 17, 18):
        assert f"Table {number}:" in report.out
    assert "paper: Pass@5 Reflection" in report.out

    rows = kgb("export", out, "--kind", "sft-episodes", "--to", tmp_path / "sft.jsonl", "--json")
    assert (rows.code, rows.json["rows"]) == (0, 1)
    (line,) = (tmp_path / "sft.jsonl").read_text().splitlines()
    assert [m["role"] for m in json.loads(line)["messages"]] == ["user", "assistant", "user", "assistant"]
    assert "choose another file" in kgb("export", out, "--to", tmp_path / "sft.jsonl").err
    assert "no step is left" in kgb("export", out, "--kind", "preferences", "--to", tmp_path / "new").err

    with LoopbackServer(lambda request: Answer("unused")) as elsewhere:
        again = kgb(*RUN, "--base-url", elsewhere.url, "--method", "reflection", "--out", out, "--json")
    assert (again.code, again.json["resumed"]) == (0, 1), "another address may serve the same model"
    other = kgb(*RUN, *at(server), "--method", "reflection", "--temperature", "0.1", "--out", out)
    assert other.code == 2
    assert "temperature: recorded 0.8, given 0.1" in other.err


def test_a_wrong_key_and_an_unknown_model(kgb, server, tmp_path, monkeypatch):
    monkeypatch.setenv("KGB_TEST_KEY", "wrong")
    done = kgb(*RUN, *at(server), "--method", "pass@1", "--out", tmp_path / "run")
    assert done.code == 2
    assert "the key was refused (401)" in done.err
    assert "Traceback" not in done.err
    monkeypatch.setenv("KGB_TEST_KEY", KEY)
    done = kgb(*RUN[:-1], "gpt-99", *at(server), "--method", "pass@1", "--out", tmp_path / "other")
    assert done.code == 2
    assert "no model 'gpt-99' there" in done.err


def test_a_plan_without_a_run(kgb, tmp_path):
    prices = tmp_path / "prices.json"
    prices.write_text('{"stand-in": {"prompt": 3, "completion": 15}}')
    plan = (
        *RUN,
        "--method",
        "pass@5",
        "--max-tokens",
        "1000",
        "--prices",
        prices,
        "--dry-run",
        "--out",
        tmp_path / "run",
    )
    done = kgb(*plan, "--json")
    assert done.code == 0
    assert [e["sample"] for e in done.json["plan"]] == [0, 1, 2, 3, 4]
    bounds = done.json["estimate"]
    assert (bounds["requests"], bounds["completion_tokens"]) == (5, 5000)
    assert bounds["usd"] == pytest.approx((bounds["prompt_tokens"] * 3 + 5000 * 15) / 1e6)
    assert done.json["config"]["early_stop"] is True
    text = kgb(*plan).out
    assert "1 operators × 5 samples = 5 episodes" in text
    assert "US dollars" in text
    assert not (tmp_path / "run").exists()


def test_a_rehearsal_needs_neither_key_nor_model(kgb, tmp_path):
    out = tmp_path / "run"
    done = kgb(
        "run", "--operators", "aten/cos", "--suite", "smoke", "--platform", "cpu",
        *("--method", "reflection", "--provider", "loopback", "--out", out, "--json"),
    )  # fmt: skip
    assert done.code == 0, done.err
    rows = load(out).episodes.to_pylist()
    assert [(r["synthetic"], r["clean_pass"], r["model"]) for r in rows] == [(True, True, "stand-in")]


def test_an_agent_from_the_command_line(kgb, server, tmp_path):
    program = tmp_path / "programs" / "opencode"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, subprocess\n"
        f"pathlib.Path('kernel.py').write_text({gold_source('aten/t')!r})\n"
        "subprocess.run(['verify'], check=True)\n"
    )
    program.chmod(0o755)
    out = tmp_path / "run"
    done = kgb(*RUN, *at(server), "--method", "opencode", "--program", program, "--out", out, "--json")
    assert done.code == 0, done.err
    steps = load(out).steps.to_pylist()
    assert [(s["action"], s["tool"], s["clean"]) for s in steps] == [("submit", None, True), ("tool", "finish", None)]
    assert load(out).episodes.to_pylist()[0]["method"] == "opencode"


def test_what_help_says_of_methods_is_there(kgb):
    text = re.sub(r"\s+", " ", kgb("run", "-h").out)
    for option in ("--model", "--base-url", "--no-early-stop", "--rounds", "--dry-run", "--run-usd", "--instructions"):
        assert option in text
