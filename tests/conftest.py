"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Nothing that is tested may need a network, and a developer's own settings must not reach the tests.
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
os.environ.pop("KGB_PLATFORM", None)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def _own_caches(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Caches of `kgb` and of Hugging Face's library that no earlier run has filled."""
    folder = tmp_path_factory.mktemp("caches")
    os.environ["XDG_CACHE_HOME"] = str(folder / "kgb")
    os.environ["HF_HOME"] = str(folder / "hf")
