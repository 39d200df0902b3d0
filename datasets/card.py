"""The dataset card of a run folder: what makes `datasets.load_dataset(folder, "steps")` work on the folder as is.

Hugging Face's library caches a local dataset by its card alone. So each table's entry carries a digest of its shards,
renewed when they change; else a user would go on seeing the rows of the first time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgb_gym.datasets import schema

NAME = "README.md"
_HEADER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)


def render(run: Mapping[str, Any]) -> str:
    """The card of a run, from the content of its `run.json`."""
    config = json.dumps(run["config"], indent=2, sort_keys=True, ensure_ascii=False)
    versions = ", ".join(f"{name} {version}" for name, version in sorted(run["versions"].items()))
    fence = "`" * max(3, _longest_run(config) + 1)
    return f"""{_header({})}
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

## How it was made

`kgb run` with the configuration below. Each episode is one operator given to one method; each step is one answer of its
model, or one call of its agent, with the messages that led to it, the verdict, and the reward. `metrics.json`, where it
is there, holds the benchmark's metrics, computed from the two tables alone (`kgb report --json`).

Prompts, verdicts and rewards are under Apache 2.0, like `kgb_gym`. For what a model wrote, the terms of its provider hold
as well; some restrict training other models on it.

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


def refresh(folder: Path, run: Mapping[str, Any], shards: Mapping[str, Sequence[Path]]) -> None:
    """Write the card, or bring its header up to the present shards; what people wrote below the header stays.

    Args:
        folder: the run folder.
        run: the content of its `run.json`.
        shards: the shards of each table.
    """
    path = folder / NAME
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    body = _HEADER.sub("", old or render(run), count=1)
    new = _header({table: _digest(files) for table, files in shards.items()}) + body
    if new == old:
        return
    temporary = folder / f".{NAME}.tmp"
    temporary.write_text(new, encoding="utf-8")
    temporary.replace(path)


def _header(digests: Mapping[str, str]) -> str:
    lines = [
        "---",
        "pretty_name: KernelGenBench trajectories",
        "license: apache-2.0",
        "task_categories:",
        "- text-generation",
        "tags:",
    ]
    lines += [f"- {tag}" for tag in ("kernelgenbench", "triton", "gymnasium", "trajectories")]
    lines += ["configs:"]
    for table in schema.TABLES:
        lines += [f"- config_name: {table}"]
        lines += [f"  description: shards {digests[table]}"] if table in digests else []
        lines += ["  data_files:", "  - split: train", f"    path: data/{table}-*.parquet"]
    return "\n".join([*lines, "---", ""])


def _digest(files: Sequence[Path]) -> str:
    facts = [(f.name, (stat := f.stat()).st_size, stat.st_mtime_ns) for f in files]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _longest_run(text: str) -> int:
    longest = current = 0
    for character in text:
        current = current + 1 if character == "`" else 0
        longest = max(longest, current)
    return longest
