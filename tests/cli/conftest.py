"""The command as its users call it, in this process."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from kgb_gym.cli import main


@dataclass(frozen=True)
class Called:
    """What one call of `kgb` gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON; fails where anything else stands there."""
        return json.loads(self.out)


@pytest.fixture
def kgb(capfd, monkeypatch):
    """Calls `kgb` with arguments."""

    def call(*arguments: object) -> Called:
        monkeypatch.setattr("sys.argv", ["kgb", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as done:
            code = done.code or 0
        return Called(code, *capfd.readouterr())

    return call
