"""Whether the oracles and libcublas agree. `python -m benchmarks.cublas_agreement [ROUTINE…] [--suite paper] [--json FILE]`.

On a machine with a GPU and a libcublas, every case of every routine is given to the library, and what it leaves is
judged as a submission's output would be: by the routine's own error model, with everything that must not be written.
A disagreement is a wrong oracle, a wrong parameter table, or an error model that the real library does not meet.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks import results
from kgb_gym.operators import Call, Case, Interface, Maker, Operator, get, match, names
from kgb_gym.operators.cublas import library
from kgb_gym.operators.oracle import argument, bind, expected
from kgb_gym.sandbox import heap

LARGE = 1 << 17
"""Elements up to which the margin of an output is found out, which takes several comparisons."""
SHOWN = 3
"""Disagreeing cases that are printed of one routine."""


@dataclass(frozen=True)
class Agreement:
    """What became of the cases of one routine."""

    routine: str
    cases: int
    agree: int
    """At the strict gate."""
    paper: int
    """At the paper's gate."""
    worst: float
    """The largest error of any case as a multiple of the strict gate's; above 1 the case disagrees. Where values are
    compared bit for bit: 0, or infinity."""
    seconds: float
    problems: tuple[str, ...] = ()
    """Of the first disagreeing cases: id, and what is wrong."""

    @property
    def line(self) -> str:
        mark = "agree" if self.agree == self.cases else "DISAGREE"
        return (
            f"{self.routine:<32} {self.agree:>5}/{self.cases:<5} {mark:<8} worst {self.worst:8.3g} "
            f"paper {self.paper}/{self.cases} {self.seconds:6.1f} s"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for every routine; exit code 1 where anything disagrees, 2 where nothing can be compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("routines", nargs="*", help="names or globs such as Sgemm_v2 or '*trsm*'; none: all")
    parser.add_argument("--suite", default="paper", choices=("paper", "quick", "smoke"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="a cumulative file of results (see `results`)")
    given = parser.parse_args(arguments)
    chosen = (
        match([f"cublas/{r.removeprefix('cublas/')}" for r in given.routines]) if given.routines else names("cublas")
    )
    heap.keep()
    found = library.load()
    if found is None:
        why = "no libcublas was found" if torch.cuda.is_available() else "there is no CUDA device"
        print(f"nothing can be compared: {why}", file=sys.stderr)
        return 2
    device = torch.cuda.get_device_name()
    print(f"{found.label} on {device}, suite {given.suite}, seed {given.seed}")
    every = []
    for name in chosen:
        result = compare(get(name), found.routine, given.suite, given.seed, "cuda")
        every.append(result)
        print(result.line, flush=True)
        for problem in result.problems:
            print(f"    {problem}")
        if given.json:
            row = {**asdict(result), "worst": result.worst if result.worst < float("inf") else None}
            results.write(given.json, name, {**row, "library": found.label, "suite": given.suite, "seed": given.seed})
    whole = sum(r.agree == r.cases for r in every)
    print(f"{whole} of {len(every)} routines agree on all of {sum(r.cases for r in every)} cases")
    return int(whole < len(every))


def compare(
    operator: Operator, routine: Callable[[str], Callable[..., None] | None], suite: str, seed: int, device: str
) -> Agreement:  # fmt: skip
    """Give every case of a suite to a library.

    Args:
        operator: of the source `cublas`.
        routine: the library's functions by name, such as `Library.routine`.
        suite: whose cases.
        seed: of the values.
        device: where the library wants its tensors.
    """
    began = time.monotonic()
    interface = operator.interfaces[0]
    function = routine(interface.name)
    agree, paper, worst, problems = 0, 0, 0.0, list[str]()
    cases = list(interface.cases(suite))
    for case in cases:
        right, loosely, error, text = _one(operator, interface, case, function, seed, device)
        agree, paper, worst = agree + right, paper + loosely, max(worst, error)
        if text and len(problems) < SHOWN:
            problems.append(f"{case.id}: {text}")
    return Agreement(
        interface.name, len(cases), agree, paper, worst, round(time.monotonic() - began, 2), tuple(problems)
    )  # fmt: skip


def _one(
    operator: Operator, interface: Interface, case: Case, function: Callable[..., None] | None, seed: int, device: str
) -> tuple[bool, bool, float, str]:  # fmt: skip
    """Whether one case agrees at either gate, its error as a multiple of what is allowed, and what is wrong."""
    if function is None:
        return False, False, float("inf"), "the library's table has no such routine"
    call = interface.call(Maker(seed), case.params)
    arguments = bind(operator, interface, call)
    want = expected(operator, interface, call)
    there, back = _moved(call, device)
    try:
        function(*there.args, **there.kwargs)
        if device == "cuda":
            torch.cuda.synchronize()
    except library.CublasError as error:
        return False, False, float("inf"), str(error)
    judge = interface.compare or operator.compare
    after = bind(operator, interface, back())
    right, loosely, worst, text = True, True, 0.0, ""
    for name, target in want.written.items():
        got = argument(after, name)
        check = judge.check(target, got, arguments)
        right, loosely = right and check.strict, loosely and check.paper
        worst = max(worst, used(judge, target, got, arguments, check.strict))
        if not (check.strict and check.paper) and not text:
            text = str(check.difference)
    if kept := _changed(interface, arguments, after):
        return False, False, float("inf"), f"{', '.join(kept)} changed, which may only be read"
    return right, loosely, worst, text


def used(judge: Any, target: Any, got: torch.Tensor, arguments: Any, strict: bool) -> float:
    """The smallest factor on the tolerances (a power of four from 1/1024 to 1024) under which the output passes; 0 and
    infinity beyond, and for comparisons without a tolerance. Of large outputs only 1 and infinity are told apart."""
    if got.numel() > LARGE:
        return 1.0 if strict else float("inf")
    if judge.exact or target.precise is None:
        return 0.0 if strict else float("inf")
    step = 0.25 if strict else 4.0
    factor, last = 1.0, 1.0 if strict else float("inf")
    for _ in range(5):
        factor *= step
        passes = judge.check(target, got, arguments, widen=factor).strict
        if strict and not passes:
            break
        if passes:
            last = factor
            if not strict:
                break
    return last if last > 2.0**-10 else 0.0


def _moved(call: Call, device: str) -> tuple[Call, Callable[[], Call]]:
    """The call on the device, tensors that share memory sharing it there too, and a function that brings it back."""
    storages: dict[int, torch.UntypedStorage] = {}

    def there(tensor: torch.Tensor) -> torch.Tensor:
        key = tensor.untyped_storage()._cdata
        if key not in storages:
            flat = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
            storages[key] = flat.to(device, copy=True).untyped_storage()
        twin = torch.empty(0, dtype=tensor.dtype, device=device)
        return twin.set_(storages[key], tensor.storage_offset(), tensor.size(), tensor.stride())

    moved = call.map(there)
    return moved, lambda: moved.map(lambda tensor: tensor.cpu())


def _changed(interface: Interface, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Names of the arguments that may only be read and are not what they were, bit for bit."""
    written = [t for name in interface.writes for t in _flat(before[name])]
    names = []
    for name, value in before.items():
        pairs = zip(_flat(value), _flat(after[name]), strict=True)
        if name not in interface.writes and any(
            not any(old is w for w in written) and not torch.equal(_bits(old), _bits(new)) for old, new in pairs
        ):
            names.append(name)
    return names


def _flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return list(value) if isinstance(value, list) else []


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(torch.uint8)


if __name__ == "__main__":
    sys.exit(main())
