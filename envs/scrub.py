"""Keeps secrets and the name of the home folder out of records: they are published.

A secret is the value of an environment variable whose name says so, where it is long enough not to be a common word.
Not covered: secrets that are in no variable of this process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SHORTEST = 12
"""Characters below which a value is no secret worth the risk of blotting out ordinary text."""
SECRET, HOME = "(secret)", "~"

_NAMED = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


@dataclass(frozen=True)
class Scrubber:
    """What is replaced in a text."""

    secrets: tuple[str, ...]
    """Longest first, so that none leaves a part of another."""
    home: re.Pattern[str] | None

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None, home: str | None = None) -> Scrubber:
        """Of an environment and a home folder; by default this process's own."""
        values = (os.environ if environment is None else environment).items()
        found = {v.strip() for n, v in values if _NAMED.search(n) and len(v.strip()) >= SHORTEST and "/" not in v[:1]}
        folder = str(Path.home()) if home is None else home
        # The root folder is nobody's home.
        pattern = re.compile(re.escape(folder) + r"(?![\w-]|\.\w)") if len(folder) > 1 else None
        return cls(tuple(sorted(found, key=lambda v: (-len(v), v))), pattern)

    def text(self, text: str, *, home: bool = True) -> str:
        """The text without them.

        Args:
            text: any text.
            home: whether the home folder's name is replaced, too; not in code, whose hash stands beside it.
        """
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, SECRET)
        return self.home.sub(HOME, text) if home and self.home is not None else text
