"""What all tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgb_gym.sandbox import LocalEngine

# Nothing that is tested may need a network, and a developer's own settings must not reach the tests.
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
os.environ.pop("KGB_PLATFORM", None)
# A shell that starts the tests in the background has interrupts ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def local_engine() -> Iterator[LocalEngine]:
    """The real engine, with one judge; started at first use."""
    with LocalEngine(workers=1, platform="cpu") as engine:
        engine.start()
        yield engine
