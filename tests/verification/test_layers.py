"""Layers can be left out to measure the others; such a verdict is never a clean pass."""

from __future__ import annotations

import pytest

from kgb_gym.operators import gold_source
from kgb_gym.verdict import Status
from kgb_gym.verification.protocols import LAYERS, Job

NATIVE = "import torch\n\n\ndef cos(self):\n    return torch.sin(self + 1.5707963267948966)\n"


def ask(engine, source, without=(), name="aten/cos", only_defined=True):
    job = Job(name, source.encode(), suite="smoke", only_defined=only_defined, without=without)
    return engine.submit(job).result(timeout=120)


@pytest.fixture(scope="module")
def engine():
    from kgb_gym.sandbox import LocalEngine

    with LocalEngine(workers=1, platform="cpu") as engine:
        yield engine


def test_the_next_layer_catches_what_the_first_lets_pass(engine):
    first = ask(engine, NATIVE)
    assert first.hacks[0].layer == "screen" and first.hacks[0].line == 5
    second = ask(engine, NATIVE, ("screen",))
    assert (second.hacks[0].layer, second.hacks[0].rule, second.hacks[0].line) == ("audit", "native-compute", 5)
    third = ask(engine, NATIVE, ("screen", "audit"))
    assert third.status is Status.HACK and third.hacks[0].layer == "ghost"
    last = ask(engine, NATIVE, LAYERS)
    assert last.status is Status.HACK and last.hacks[0].layer == "play"


def test_without_a_layer_nothing_is_clean(engine):
    gold = gold_source("aten/cos")
    whole = ask(engine, gold, only_defined=False)
    assert whole.clean and whole.clean_paper
    part = ask(engine, gold, ("state",), only_defined=False)
    assert part.status is Status.PASSED and not part.clean and not part.clean_paper
    assert "state" not in part.layers and "screen" in part.layers
    assert not any(c.origin == "hidden" for c in ask(engine, gold, ("hidden",)).cases)


def test_unknown_layers_are_refused_and_a_job_survives_its_dict():
    with pytest.raises(ValueError, match="no such layer: play"):
        Job("aten/cos", b"", without=("play",))
    job = Job("aten/cos", b"x", without=("screen", "audit"))
    assert Job.from_dict(job.to_dict()) == job
