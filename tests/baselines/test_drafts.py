"""Every draft gets the status that it must get, from the real engine."""

import pytest

from kgb_gym.baselines.drafts import SLOW, drafts
from kgb_gym.operators import gold_source, names
from kgb_gym.verdict import Status
from kgb_gym.verification.protocols import Job, Limits


def golden() -> list[str]:
    found = []
    for name in names():
        try:
            gold_source(name)
        except FileNotFoundError:
            continue
        found.append(name)
    return found


GOLDEN = golden()
JUDGED = ("aten/softmax", "aten/add_", "vllm/rms_norm", SLOW)
"""An operator a source, an in-place one, and the one with a draft that never ends."""

CHOSEN = [(name, draft) for name in JUDGED if name in GOLDEN for draft in drafts(name)]


@pytest.mark.parametrize(("name", "draft"), CHOSEN, ids=[f"{n}-{d.name}" for n, d in CHOSEN])
def test_a_draft_gets_its_status(engine, name, draft):
    job = Job(name, draft.source.encode(), suite="smoke", seed=3, limits=Limits(call_s=6.0))
    verdict = engine.submit(job).result()
    assert verdict.status == draft.expect, verdict.message
    assert not verdict.clean


@pytest.mark.parametrize("name", GOLDEN)
def test_drafts_are_other_modules(name):
    made = drafts(name)
    sources = [d.source for d in made]
    assert len(set(sources)) == len(sources)
    assert gold_source(name) not in sources
    assert {"syntax_error", "missing_interface", "native"} <= {d.name for d in made}
    for draft in made:
        if draft.expect is Status.SYNTAX_ERROR:
            with pytest.raises(SyntaxError):
                compile(draft.source, "draft", "exec")
        else:
            compile(draft.source, "draft", "exec")


def test_one_operator_alone_has_a_draft_that_never_ends():
    assert [n for n in GOLDEN if any(d.expect is Status.TIMEOUT for d in drafts(n))] == [n for n in GOLDEN if n == SLOW]


def test_every_status_of_a_fault_is_covered():
    assert {d.expect for d in drafts("aten/softmax")} == {
        Status.SYNTAX_ERROR, Status.MISSING_INTERFACE, Status.COMPILE_ERROR, Status.RUNTIME_ERROR, Status.MISMATCH,
        Status.HACK,
    }  # fmt: skip
