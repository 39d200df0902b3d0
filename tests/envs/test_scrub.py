"""What must not be published."""

import time

import pytest

from kgb_gym.datasets.store import load
from kgb_gym.envs.scrub import Scrubber

SECRET = "sk-0123456789abcdef"
SCRUBBER = Scrubber.of(
    {"MY_API_KEY": SECRET, "LONGER_TOKEN": SECRET + "-more", "PATH": "/usr/bin:/usr/local/bin"}, "/home/ada"
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"key={SECRET};", "key=(secret);"),
        (f"{SECRET}-more {SECRET}", "(secret) (secret)"),
        ("/home/ada/kernels/x.py", "~/kernels/x.py"),
        ("in /home/ada.", "in ~."),
        ("/home/ada.bak", "/home/ada.bak"),
        ("cd /home/ada", "cd ~"),
        ("/home/adam/x /usr/bin:/usr/local/bin", "/home/adam/x /usr/bin:/usr/local/bin"),
        ("", ""),
    ],
)
def test_secrets_and_the_home_folder(text, clean):
    assert SCRUBBER.text(text) == clean


def test_code_keeps_what_its_hash_stands_for():
    assert SCRUBBER.text("open('/home/ada/x')", home=False) == "open('/home/ada/x')"


def test_short_values_folders_and_the_root_folder_are_left_alone():
    plain = Scrubber.of({"KEY": "short", "AUTH_SOCK": "/run/user/1000/agent", "TOKEN": " " * 40}, "/")
    assert plain.secrets == ()
    assert plain.text("/short /run/user/1000/agent") == "/short /run/user/1000/agent"


def test_records_are_scrubbed(make, submit, tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    env = make(record=tmp_path / "run")
    env.reset(seed=0)
    transcript = {"messages": [{"role": "user", "content": f"my key is {SECRET}"}]}
    env.step(submit(f"mismatch 1/4 # {SECRET}", completion=f"```\n{SECRET}\n```", transcript=transcript))
    env.close()
    (row,) = load(tmp_path / "run").steps.to_pylist()
    assert SECRET not in str(row)
    assert row["completion"] == "```\n(secret)\n```"
    assert row["messages"][0]["content"] == "my key is (secret)"
    assert row["code"].endswith("# (secret)")


def test_it_costs_next_to_nothing():
    began = time.perf_counter()
    for _ in range(100):
        Scrubber.of().text("x" * 100_000)
    assert time.perf_counter() - began < 2.0, "a fiftieth of a second a row"
