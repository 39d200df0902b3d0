"""KernelGenBench's metrics as pure functions over recorded steps and episodes (DESIGN section 11).

>>> from kgb_gym.datasets.store import load
>>> from kgb_gym.metrics import compute
>>> tables = load("runs/mine")                           # doctest: +SKIP
>>> compute(tables.steps, tables.episodes).to_dict()     # doctest: +SKIP
"""

from kgb_gym.metrics.compare import Confidence, Matched, bootstrap, confidence, matched
from kgb_gym.metrics.compute import compute, operator_speedup, pass_rate, summarise
from kgb_gym.metrics.failures import classify
from kgb_gym.metrics.result import GroupKey, GroupMetrics, Metrics, OperatorResult, Summary, Unscored
from kgb_gym.metrics.similarity import code_similarity, round_similarity
from kgb_gym.metrics.statistics import any_of_first, fast, geomean, iqm, median, pass_at_k

__all__ = [
    "Confidence",
    "GroupKey",
    "GroupMetrics",
    "Matched",
    "Metrics",
    "OperatorResult",
    "Summary",
    "Unscored",
    "any_of_first",
    "bootstrap",
    "classify",
    "code_similarity",
    "compute",
    "confidence",
    "fast",
    "geomean",
    "iqm",
    "matched",
    "median",
    "operator_speedup",
    "pass_at_k",
    "pass_rate",
    "round_similarity",
    "summarise",
]
