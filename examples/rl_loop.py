"""An episode as an RL loop sees it, with two submissions: one that is wrong and one that is right.

`python examples/rl_loop.py [DIR]` records into DIR.
"""

import sys
from pathlib import Path

import gymnasium

import kgb_gym

HERE = Path(__file__).parent


def policy(observation: dict, turn: int) -> str:
    """Stands in for your model: it gets `observation["message"]` and answers with the source of one module."""
    right = (HERE / "my_softmax.py").read_text()
    return right.replace("tl.exp(x - peak) / whole", "tl.exp(x - peak)") if turn == 0 else right


def main(record: str | None = None) -> float:
    env = gymnasium.make("kgb/aten-softmax-v0", suite="smoke", record=record, budgets={"max_submissions": 2})
    observation, info = env.reset(seed=0)
    total, turn, over = 0.0, 0, False
    while not over:
        action = kgb_gym.submit(policy(observation, turn), finish=turn == 1)
        observation, reward, terminated, truncated, info = env.step(action)
        print(f"turn {turn}: {info['verdict'].status}, reward {reward:+.3f}, terms {info['reward_terms']}")
        total, turn, over = total + reward, turn + 1, terminated or truncated
    env.close()
    print(f"score {total:.3f}, clean pass: {info['clean']}")
    return total


if __name__ == "__main__":
    main(*sys.argv[1:2])
