"""From a run to prompts, and from answers back to rewards: `python examples/grpo_rows.py out/pass5`.

A trainer for GRPO and its like draws prompts, has its model answer, and asks for rewards. Here the run's own answers
stand in for the model's, so the rewards that come out can be compared with the recorded ones.
"""

import sys

import gymnasium

import kgb_gym  # noqa: F401  # registers the environments
from kgb_gym.datasets.export import Choice, export
from kgb_gym.datasets.store import load
from kgb_gym.envs import Budgets, ChatWrapper


def reward(row: dict, answer: str) -> float:
    """The reward of one answer to a prompt's row: an episode of one turn."""
    env = ChatWrapper(
        gymnasium.make(
            row["env_id"], suite=row["suite"], platform=row["platform"], prompt="sampling",
            budgets=Budgets(max_submissions=1, max_turns=1),
        )
    )  # fmt: skip
    env.reset(seed=0)
    _, gained, _, _, info = env.step(answer)
    env.close()
    # A failure of ours is no reward of zero: leave the sample out.
    return float(gained) if info["reward_valid"] else float("nan")


def main(folder: str) -> None:
    steps = load(folder).steps.to_pylist()
    choice = Choice(synthetic=True)
    print("operator, prompt characters, recorded reward, reward again")
    for row in export(steps, "prompts", choice):
        answers = [s for s in steps if s["operator"] == row["operator"] and s["completion"] and s["action"] == "submit"]
        for step in answers[:2]:
            again = reward(row, step["completion"])
            print(f"{row['operator']}, {len(row['prompt'][0]['content'])}, {step['reward']:.3f}, {again:.3f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/grpo_rows.py DIR")
    main(sys.argv[1])
