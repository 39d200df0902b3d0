"""The audit, asked directly: what a GPU's read-back looks like from below Python."""

from __future__ import annotations

import pytest
import torch

from kgb_gym.operators.policy import Policy
from kgb_gym.verification.audit import MAX_READS, Audit
from kgb_gym.verification.recording import Recording, Stopped

HOME = (torch.ops.aten._to_copy.default, torch.ops.aten.to.dtype)
"""A copy to the host as it arrives above autograd, and below it. A CPU tensor stands in for what came home."""


def asked(recording, func, elements=1):
    return Audit(recording, {}).__torch_dispatch__(func, (), (torch.zeros(elements),), {"dtype": torch.float64})


@pytest.mark.parametrize("func", HOME, ids=str)
def test_one_value_may_come_home_a_few_times_and_is_no_step(func):
    recording = Recording(Policy(), "cuda", "submission.py", data_dependent=True)
    for _ in range(MAX_READS):
        assert asked(recording, func).dtype == torch.float64
    assert recording.steps == []
    with pytest.raises(Stopped, match=f"more than {MAX_READS} values"):
        asked(recording, func)
    assert recording.violations[0]["rule"] == "read-back"


@pytest.mark.parametrize("func", HOME, ids=str)
@pytest.mark.parametrize(("elements", "data_dependent"), [(2, True), (1, False)])
def test_more_than_a_value_or_where_values_are_nobodys_business_is_a_transfer(func, elements, data_dependent):
    recording = Recording(Policy(), "cuda", "submission.py", data_dependent=data_dependent)
    with pytest.raises(Stopped):
        asked(recording, func, elements)
    assert recording.violations[0]["layer"] in {"audit", "ghost"}
