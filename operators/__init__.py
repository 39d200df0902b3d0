"""The problems: what is asked of a submission, what is right, and what it is timed against."""

from kgb_gym.operators import grids
from kgb_gym.operators.catalog import SOURCES, UnknownOperator, get, gold_source, match, names, normalise
from kgb_gym.operators.compare import Check, Close, Comparison, Exact, Target
from kgb_gym.operators.declaration import SUITES, Call, Case, Exemption, Interface, Operator
from kgb_gym.operators.distribution import Distribution, Test
from kgb_gym.operators.maker import LAYOUTS, Maker, Seeded
from kgb_gym.operators.oracle import Expected, expected
from kgb_gym.operators.policy import Policy

__all__ = [
    "LAYOUTS", "SOURCES", "SUITES", "Call", "Case", "Check", "Close", "Comparison", "Distribution", "Exact",
    "Exemption", "Expected", "Interface", "Maker", "Operator", "Policy", "Seeded", "Target", "Test",
    "UnknownOperator", "expected", "get", "gold_source", "grids", "match", "names", "normalise",
]  # fmt: skip
