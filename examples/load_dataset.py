"""Load a recorded run as a Hugging Face dataset: `python examples/load_dataset.py out/demo`."""

import sys
from collections import Counter

from datasets import disable_progress_bars, load_dataset


def main(folder: str) -> None:
    disable_progress_bars()
    steps = load_dataset(folder, "steps", split="train")
    episodes = load_dataset(folder, "episodes", split="train")
    print(f"{folder}: {len(steps)} steps of {len(episodes)} episodes, {len(steps.column_names)} columns a step")
    print("statuses: " + ", ".join(f"{n} {status}" for status, n in Counter(steps["status"]).most_common()))
    clean = steps.filter(lambda step: step["clean"])
    if len(clean):
        step = clean[0]
        print(
            f"one clean pass: {step['operator']}, {len(step['code'].splitlines())} lines, reward {step['reward']:.2f}"
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/load_dataset.py DIR")
    main(sys.argv[1])
