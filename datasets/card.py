"""The dataset card of a run folder: what makes `datasets.load_dataset(folder, "steps")` work on the folder as is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgb_gym.datasets import schema

NAME = "README.md"


def render(run: Mapping[str, Any]) -> str:
    """The card of a run, from the content of its `run.json`."""
    config = json.dumps(run["config"], indent=2, sort_keys=True, ensure_ascii=False)
    versions = ", ".join(f"{name} {version}" for name, version in sorted(run["versions"].items()))
    fence = "`" * max(3, _longest_run(config) + 1)
    return f"""---
pretty_name: KernelGenBench trajectories
tags:
- kernelgenbench
- triton
- gymnasium
- trajectories
task_categories:
- text-generation
configs:
- config_name: steps
  data_files:
  - split: train
    path: data/steps-*.parquet
- config_name: episodes
  data_files:
  - split: train
    path: data/episodes-*.parquet
---

# KernelGenBench trajectories

Recorded by `kgb_gym` (schema version {run["schema_version"]}): language models, or scripted policies, writing Triton
kernels for the operators of KernelGenBench, each submission verified in a sandbox.

```python
from datasets import load_dataset

steps = load_dataset("PATH-OR-ID", "steps", split="train")
episodes = load_dataset("PATH-OR-ID", "episodes", split="train")
```

`steps` has one row for each action with all that came of it, `episodes` one for each trajectory; `episode_id` joins
them. Null means "not known" or "does not apply", never zero. Leave rows with `reward_valid` false out of training and
scoring: there the harness failed, not the submission. Rows with `synthetic` true come from scripted policies. Results
of different suites, platforms or baselines are not comparable.

The submissions are programs written by models, some of them trying to cheat. Do not run them outside a sandbox.

## Run

- id: `{run["run_id"]}`, created {run["created_at"]}
- configuration hash: `{run["config_hash"]}`
- versions: {versions}

{fence}json
{config}
{fence}

## `steps`

{schema.markdown("steps")}

## `episodes`

{schema.markdown("episodes")}
"""


def write(folder: Path, run: Mapping[str, Any]) -> None:
    """Write the card into the folder."""
    temporary = folder / f".{NAME}.tmp"
    temporary.write_text(render(run), encoding="utf-8")
    temporary.replace(folder / NAME)


def _longest_run(text: str) -> int:
    longest = current = 0
    for character in text:
        current = current + 1 if character == "`" else 0
        longest = max(longest, current)
    return longest
