"""Cases that the oracle refuses in a suite that holds none: `python -m benchmarks.refused [--suite S] [OPERATOR…]`.

Arguments that an operator refuses are `beyond` what a clean pass asks, and stand in `wide` only. Whoever writes a grid
finds with this which of its points are such: each is printed with the exception that the oracle raises.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings

from kgb_gym.operators import SUITES, Case, Maker, Operator, expected, get, match

MOST = 10**8
"""Elements of the largest tensor of a case that is tried."""


def cases(operator: Operator, suite: str, most: int = MOST) -> list[Case]:
    """The suite's cases that a clean pass asks and that have at most `most` elements, as far as their sizes tell."""
    return [c for c in operator.cases(suite) if c.origin != "beyond" and _elements(c) <= most]


def raises(operator: Operator, case: Case) -> str:
    """The exception that the oracle raises; empty: none."""
    interface = operator.interface(case.interface)
    return expected(operator, interface, interface.call(Maker(1), case.params)).raises


def _elements(case: Case) -> int:
    largest = 1
    for value in case.params.values():
        if type(value) is int:
            largest = max(largest, abs(value))
        elif isinstance(value, list) and value and all(type(n) is int for n in value):
            largest = max(largest, math.prod(abs(n) for n in value))
    return largest


def main() -> int:
    """Print the cases; exit code 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", default=["*"])
    parser.add_argument("--suite", choices=[s for s in SUITES if s != "wide"], action="append")
    parser.add_argument("--most", type=int, default=MOST, help="elements of the largest tensor of a case")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    tried, found = 0, 0
    for name in match(given.operators):
        operator = get(name)
        for suite in given.suite or ("smoke", "quick", "paper"):
            for case in cases(operator, suite, given.most):
                tried += 1
                if why := raises(operator, case):
                    found += 1
                    print(f"{name} {suite}: {case.id}: {why}", flush=True)
    print(f"{found} of {tried} cases are refused")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
