"""Publishes a run's two tables, with their card, to a local folder or to the Hugging Face Hub."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kgb_gym.datasets import card, runfile, shards, store
from kgb_gym.metrics import compute

METRICS = "metrics.json"
"""The run's metrics, beside its tables; synthetic episodes are left out of them."""

HUB = "hf://"
"""Begins the name of a dataset on the Hugging Face Hub."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class PublishError(RuntimeError):
    """The run could not be published; the message says what to do."""


@dataclass(frozen=True)
class Published:
    """Where a run was published, and how much of it."""

    to: str
    steps: int
    episodes: int


def publish(folder: str | os.PathLike[str], to: str, *, token: str | None = None, private: bool = False) -> Published:
    """Finalise a run and copy its shards, card and `run.json`, with its metrics beside them; what is published has been loaded once as a check.

    Args:
        folder: the run folder.
        to: a local folder, or `hf://user/name` for the hub: nothing leaves the machine without that prefix.
        token: for the hub; by default the one that `hf auth login` stored.
        private: whether a new hub dataset is private.

    Raises:
        PublishError: nothing to publish, the target holds other things, or the hub refused or can't be reached.
        FileNotFoundError: the folder holds no run.
    """
    source = Path(folder)
    recovered = store.recover(source)
    if recovered.live:
        raise PublishError(f"{source} is still being recorded: wait for the run to end, or stop it, and publish then")
    if not shards.paths(source, "steps"):
        raise PublishError(f"{source} has no recorded step: there is nothing to publish")
    if not to.startswith(HUB):
        return _to_folder(source, Path(to).expanduser())
    name = to.removeprefix(HUB).removeprefix("datasets/")
    if not _HUB_ID.fullmatch(name):
        raise PublishError(f"{to} is no dataset of the hub: write {HUB}user/name")
    with tempfile.TemporaryDirectory(prefix="kgb-publish-") as scratch:
        staged = _to_folder(source, Path(scratch) / "dataset")
        _upload(Path(scratch) / "dataset", name, token=token, private=private)
    return Published(to, staged.steps, staged.episodes)


def validate(folder: Path) -> tuple[int, int]:
    """Load both tables the way a user would; gives their lengths.

    Raises:
        PublishError: they can't be loaded.
    """
    from datasets import load_dataset

    with tempfile.TemporaryDirectory(prefix="kgb-validate-") as cache:
        try:
            lengths = [
                len(load_dataset(str(folder), name, split="train", cache_dir=cache)) for name in ("steps", "episodes")
            ]
        except Exception as error:
            raise PublishError(f"{folder} can't be loaded as a dataset: {error}") from error
    return lengths[0], lengths[1]


def _to_folder(source: Path, target: Path) -> Published:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PublishError(f"{target} exists and is not an empty folder: choose another")
    (target / "data").mkdir(parents=True)
    for table in ("steps", "episodes"):
        for path in shards.paths(source, table):
            shutil.copyfile(path, target / "data" / path.name)
    for name in (card.NAME, runfile.NAME):
        shutil.copyfile(source / name, target / name)
    tables = store.load(source)
    computed = compute(tables.steps, tables.episodes).to_dict()
    text = json.dumps(computed, indent=2, ensure_ascii=False, allow_nan=False)
    (target / METRICS).write_text(text + "\n", encoding="utf-8")
    steps, episodes = validate(target)
    return Published(str(target), steps, episodes)


def _upload(folder: Path, hub_id: str, *, token: str | None, private: bool) -> None:
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    token = token or get_token()
    if token is None:
        raise PublishError(f"publishing to {hub_id} needs a token: run `hf auth login`, or set HF_TOKEN")
    api = HfApi(token=token)
    try:
        api.create_repo(hub_id, repo_type="dataset", private=private, exist_ok=True)
        api.upload_folder(
            repo_id=hub_id,
            repo_type="dataset",
            folder_path=str(folder),
            commit_message="Publish a KernelGenBench run recorded by kgb_gym",
            delete_patterns=["data/*.parquet"],
        )
    except OfflineModeIsEnabled as error:
        raise PublishError(f"publishing to {hub_id} needs the network: unset HF_HUB_OFFLINE") from error
    except HfHubHTTPError as error:
        raise PublishError(f"the hub refused {hub_id}: {error}") from error
    except OSError as error:
        raise PublishError(f"the hub can't be reached to publish {hub_id}: {error}") from error
