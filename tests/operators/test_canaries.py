"""Every grid catches every canary, unless the operator says why not; and no exemption is idle."""

from __future__ import annotations

import pytest

from kgb_gym import operators
from kgb_gym.operators.canaries import CANARIES, survivors


@pytest.mark.parametrize("name", operators.names())
def test_quick_catches_every_canary(name: str) -> None:
    operator = operators.get(name)
    living = survivors(operator, "quick")
    assert not [s for s in living if not s.exempt]
    for exemption in operator.exemptions:
        assert exemption.canary in CANARIES
        assert exemption.reason
        alive = [s for s in living if s.canary == exemption.canary and exemption.interface in ("", s.interface)]
        assert alive, f"nothing needs {exemption}"
