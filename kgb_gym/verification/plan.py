"""What a job will try: its cases in an order of its own, the hidden ones, and every seed."""

from __future__ import annotations

import fnmatch
import hashlib
import random
from collections.abc import Iterator
from typing import Any

from kgb_gym.operators import Case, Interface, Operator
from kgb_gym.operators.grids import plain_value
from kgb_gym.verification.protocols import Job
from kgb_gym.verification.source import digest


def derive(job: Job, *purpose: str) -> int:
    """A 62-bit seed from the job's seed, the submission's hash and the purpose: no two submissions share values."""
    text = "\0".join((str(job.seed), digest(job.source), job.operator, *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 2


def chosen_cases(job: Job, operator: Operator, interfaces: tuple[Interface, ...]) -> list[Case]:
    """The job's cases: those asked for, or for `test`, `run` (the first of them) and `profile` the suite `smoke`, for
    `verify` and `compile` the job's suite; with `verify` one hidden case an interface. In an order drawn for this
    submission.

    Raises:
        ValueError: it asks for cases that do not exist.
    """
    names = tuple(i.name for i in interfaces)
    if job.cases:
        known = list(operator.cases(job.suite, names)) + list(operator.cases("smoke", names))
        cases = [c for c in known if any(c.id == p or _matches(c.id, p) or c.interface == p for p in job.cases)]
        cases = list({c.id: c for c in cases}.values())
        if not cases:
            raise ValueError(f"no case matches {', '.join(job.cases)}")
    elif job.kind in ("test", "run", "profile"):
        cases = list(operator.cases("smoke", names))
    else:
        cases = list(operator.cases(job.suite, names))
    if job.kind == "verify" and "hidden" not in job.without:
        size = "quick" if job.suite == "paper" else job.suite
        cases += [i.hidden(derive(job, "hidden", i.name), size) for i in interfaces]
    if job.kind == "run":
        return cases[:1]
    random.Random(derive(job, "order")).shuffle(cases)
    return cases


def uses_dtype(case: Case, names: frozenset[str]) -> bool:
    """Whether one of a case's parameters is a dtype of these names (`float64`), or holds one."""

    def names_of(value: Any) -> Iterator[str]:
        if isinstance(value, (tuple, list)):
            for part in value:
                yield from names_of(part)
        else:
            yield str(plain_value(value))

    return bool(names) and any(name in names for value in case.params.values() for name in names_of(value))


def _matches(name: str, pattern: str) -> bool:
    """Glob match in which brackets, which every case id has, stand for themselves."""
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))
