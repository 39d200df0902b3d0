"""Seeded makers: what far integers are."""

import pytest
import torch

from kgb_gym.operators import Maker


@pytest.mark.parametrize(
    ("dtype", "narrow"), [(torch.int16, torch.float16), (torch.int32, torch.float32), (torch.int64, torch.int32)]
)
def test_far_integers_are_held_by_no_narrower_type(dtype, narrow):
    made = Maker(3).integers((500,), dtype, far=True)
    lost = made.to(narrow).to(torch.float64) != made.to(torch.float64)
    assert 0.03 < float(lost.float().mean()) < 0.25
    assert float((made.abs() <= 100).float().mean()) > 0.7
    assert torch.equal(Maker(3).integers((500,), torch.int8, far=True), Maker(3).integers((500,), torch.int8))
