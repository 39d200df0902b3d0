"""The audit, asked directly: what a GPU's read-back looks like from below Python."""

from __future__ import annotations

import pytest
import torch

from kgb_gym.operators.policy import Policy
from kgb_gym.verification.audit import MAX_READS, Audit
from kgb_gym.verification.memory import DeviceMemory
from kgb_gym.verification.record import Copy
from kgb_gym.verification.recording import Recording, Stopped

HOME = (torch.ops.aten._to_copy.default, torch.ops.aten.to.dtype)
"""A copy to the host as it arrives above autograd, and below it. A CPU tensor stands in for what came home."""


def asked(recording, func, elements=1):
    return Audit(recording, {}).__torch_dispatch__(func, (), (torch.zeros(elements),), {"dtype": torch.float64})


@pytest.mark.parametrize("func", HOME, ids=str)
def test_one_value_may_come_home_a_few_times_and_is_no_step(func):
    recording = Recording(Policy(), DeviceMemory("cuda"), "submission.py", data_dependent=True)
    for _ in range(MAX_READS):
        assert asked(recording, func).dtype == torch.float64
    assert recording.steps == []
    with pytest.raises(Stopped, match=f"more than {MAX_READS} values"):
        asked(recording, func)
    assert recording.violations[0]["rule"] == "read-back"


@pytest.mark.parametrize("func", HOME, ids=str)
@pytest.mark.parametrize(("elements", "data_dependent"), [(2, True), (1, False)])
def test_more_than_a_value_or_where_values_are_nobodys_business_is_a_transfer(func, elements, data_dependent):
    recording = Recording(Policy(), DeviceMemory("cuda"), "submission.py", data_dependent=data_dependent)
    with pytest.raises(Stopped):
        asked(recording, func, elements)
    assert recording.violations[0]["layer"] in {"audit", "ghost"}


def with_a_number():
    """A recording of two tensors of one element: a number that may be read, and a secret that may not."""
    recording = Recording(Policy(), DeviceMemory("cpu"), "submission.py")
    number, secret = torch.tensor(2.5), torch.tensor(7.5)
    for tensor in (number, secret):
        recording.register(tensor, len(recording.storages))
    recording.let_read(number)
    return recording, number, secret


def test_a_number_that_stands_in_a_tensor_may_be_read_and_so_may_its_copy():
    recording, number, secret = with_a_number()
    with Audit(recording, {}):
        assert number.item() == 2.5 and number.to(torch.float64).item() == 2.5
    with pytest.raises(Stopped), Audit(recording, {}):
        secret.item()
    assert recording.violations[0]["rule"] == "read-back"


def test_a_number_that_was_written_over_may_not_be_read():
    recording, number, secret = with_a_number()
    with pytest.raises(Stopped), Audit(recording, {}):
        number.copy_(secret).item()


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_a_reshape_that_has_to_copy_is_a_copy_of_the_whole(shape):
    recording = Recording(Policy(allow=frozenset({"view", "reshape"})), DeviceMemory("cpu"), "submission.py")
    turned = torch.arange(6.0).view(2, 3).t()
    recording.register(turned, 0)
    with Audit(recording, {}):
        flat = turned.reshape(shape)
    (step,) = recording.steps
    assert isinstance(step, Copy) and step.src == recording.view(turned, "") and step.dst.numel == flat.numel()
    assert step.dst.storage == recording.view(flat, "").storage
    with pytest.raises(Stopped), Audit(recording, {}):
        turned.to(torch.float64)
    assert recording.violations[0]["rule"] == "not-allowed-copy"
