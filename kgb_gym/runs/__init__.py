"""A run: one method over a set of operators, in one folder, resumable.

`RunConfig` says what is run, `plan` lists its episodes, `Run` carries them out with workers that share one engine.
"""

from kgb_gym.runs.config import RunConfig
from kgb_gym.runs.outcome import Outcome, Summary
from kgb_gym.runs.plan import Episode, plan
from kgb_gym.runs.progress import LiveProgress, PlainProgress, Progress
from kgb_gym.runs.progress_json import JsonProgress
from kgb_gym.runs.run import Run
from kgb_gym.runs.spending import Account, Caps, Prices, read_prices

__all__ = [
    "Account",
    "Caps",
    "Episode",
    "JsonProgress",
    "LiveProgress",
    "Outcome",
    "PlainProgress",
    "Prices",
    "Progress",
    "Run",
    "RunConfig",
    "Summary",
    "plan",
    "read_prices",
]
