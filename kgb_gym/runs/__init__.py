"""A run: one method over a set of operators, in one folder, resumable.

`RunConfig` says what is run, `plan` lists its episodes, `Run` carries them out with workers that share one engine.
"""

from kgb_gym.runs.config import RunConfig
from kgb_gym.runs.plan import Episode, plan
from kgb_gym.runs.progress import LiveProgress, PlainProgress, Progress
from kgb_gym.runs.run import Outcome, Run, Summary

__all__ = ["Episode", "LiveProgress", "Outcome", "PlainProgress", "Progress", "Run", "RunConfig", "Summary", "plan"]
