"""What an emulated backend refuses, in the words that such backends use (see `platforms.emulation`).

Kernels are judged on the intermediate code that Triton's own front end makes of them, with the real types of the
arguments; launches on their recorded arguments. So the checks are the same on the interpreter and on a GPU, and each
refusal has a line of the submission.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgb_gym.platforms import Platform
from kgb_gym.platforms.emulation import Emulation
from kgb_gym.verification.record import Launch, View

HINTS = {
    "tanh": "1 - 2 / (tl.exp(2 * x) + 1)", "acosh": "tl.log(x + tl.sqrt(x * x - 1))",
    "asinh": "tl.log(x + tl.sqrt(x * x + 1))", "atanh": "0.5 * tl.log((1 + x) / (1 - x))",
    "pow": "tl.exp2(y * tl.log2(x)) for positive x", "isinf": "(x == float('inf')) | (x == float('-inf'))",
    "isinfd": "(x == float('inf')) | (x == float('-inf'))", "isnan": "x != x", "erf": "a rational approximation",
    "rsqrt": "1 / tl.sqrt(x)", "div_rn": "x / y", "sqrt_rn": "tl.sqrt(x)", "asin": "a series with tl.sqrt",
}  # fmt: skip
"""What to write in place of a missing function."""

_FLOAT_MATH = re.compile(
    r"arith\.(addf|subf|mulf|divf|remf|negf|cmpf|maxnumf|minnumf|maximumf|minimumf)\b|math\.\w+|tt\.dot\b|tt\.precise_\w+"
)
_OPERATIONS = {"erf": "math.erf", "rsqrt": "math.rsqrt", "div_rn": "tt.precise_divf", "sqrt_rn": "tt.precise_sqrt"}
"""What Triton's functions become."""
_FAILING = {
    "maxnum of blocks": re.compile(r"arith\.(maxnumf|minnumf)\b.*: tensor<"), "scan": re.compile(r"\"tt\.scan\""),
    "atomic": re.compile(r"tt\.atomic_(rmw|cas)\b"), "reduce of several values": re.compile(r"%\S+:\d+ = \"tt\.reduce\""),
}  # fmt: skip
_OPERATION = re.compile(r"^\s*(?:(%[\w.#]+)(?::\d+)? = )?\"?([a-z_]+\.[\w.]+)\"?")
_FUNCTION = re.compile(r"^\s*tt\.func \w+ @([^\s(]+)\(")
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_PLACE = re.compile(r"\"([^\"]*)\":(\d+):\d+")
_AT = re.compile(r"loc\((#loc\d*)\)\s*(?:\{)?$")
_SHAPE = re.compile(r"tensor<((?:\d+x)+)")


@dataclass(frozen=True)
class Refusal:
    """What an emulated backend says."""

    text: str
    line: int | None = None
    """Line of the submission; None where the code is Triton's own."""
    late: bool = False
    """It says nothing: its compiler hangs, or takes longer than its limit."""


@dataclass(frozen=True)
class _Step:
    """One operation of the intermediate code."""

    result: str
    name: str
    text: str
    place: str
    """The alias of its location; empty where that stands at the end of a block."""
    function: str
    """The function that holds it."""


def refused_code(code: str, platform: Platform, filename: str) -> Refusal | None:
    """The first thing that an emulated backend refuses of one kernel.

    Args:
        code: Triton's intermediate code as the front end leaves it, with locations.
        platform: an emulated one.
        filename: the module whose lines are meant.
    """
    emulation = platform.emulation
    if emulation is None:
        return None
    steps = _steps(code)
    for text, step in _refusals(steps, platform, emulation):
        return Refusal(f"{text} ({platform.name}, emulated)", _line(step, steps, _lines(code, filename)))
    seconds = len(steps) * emulation.seconds_per_operation
    if seconds > emulation.compile_limit_s:
        return Refusal(
            f"the compiler did not end within {emulation.compile_limit_s:g} s: {len(steps)} operations at "
            f"{emulation.seconds_per_operation:g} s each; unroll less, or split the kernel ({platform.name}, emulated time)",
            late=True,
        )
    return None


def _steps(code: str) -> list[_Step]:
    found, function = [], ""
    for text in code.splitlines():
        if opened := _FUNCTION.match(text):
            function = opened[1]
        elif (m := _OPERATION.match(text)) and not m[2].startswith("ub."):
            at = _AT.search(text)
            found.append(_Step(m[1] or "", m[2], text.strip(), at[1] if at else "", function))
    return found


def _refusals(steps: Sequence[_Step], platform: Platform, emulation: Emulation) -> Iterator[tuple[str, _Step]]:
    made = {(s.function, s.result): s for s in steps if s.result}
    lacking = {_OPERATIONS.get(name, f"math.{name}"): name for name in emulation.missing}
    for step in steps:
        if step.name in lacking:
            name = lacking[step.name]
            yield f"error: failed to legalize operation '{step.name}'{_hint(name)}", step
        if emulation.no_libdevice and step.name == "tt.extern_elementwise":
            symbol = found[1] if (found := re.search(r"symbol = \"(\w+)\"", step.text)) else "?"
            yield f"ld: error: undefined symbol: {symbol}{_hint(re.sub(r'^__nv_', '', symbol))}", step
        for name in emulation.failing:
            if _FAILING[name].search(step.text):
                yield f"RuntimeError: PassManager::run failed: cannot lower '{step.name}' ({name})", step
        if emulation.strict_store and step.name == "tt.store" and (text := _converted(step, made)):
            yield text, step
        if emulation.same_int_loops and step.name == "scf.for" and (bound := _mixed(step, made)) is not None:
            yield (
                (
                    "error: 'scf.for' op mixes int32 and int64 in its bounds and step; bring them to one type "
                    "(`n.to(tl.int32)` before `range`)"
                ),
                bound,
            )
        if emulation.no_bfloat16 and _FLOAT_MATH.match(step.name) and re.search(r"\bbf16\b|xbf16>", step.text):
            yield (
                (
                    f"LLVM ERROR: Cannot select: bf16 = {step.name}: no native bfloat16; convert to float32 first "
                    "(`x.to(tl.float32)`)"
                ),
                step,
            )
        if (most := platform.bounds.block) is not None:
            for shape in _SHAPE.findall(step.text):
                count = math.prod(int(n) for n in shape.rstrip("x").split("x"))
                if count > most:
                    yield f"error: '{step.name}' op block of {count} elements exceeds the limit of {most}", step


def _converted(store: _Step, made: Mapping[tuple[str, str], _Step]) -> str:
    """What `tl.store` itself did to its value: it has the location of the store, unlike what the submission wrote."""
    operands = re.match(r"tt\.store (%[\w.#]+), (%[\w.#]+)", store.text)
    if operands is None or not store.place:
        return ""
    pointer, step = (made.get((store.function, operand)) for operand in operands.groups())
    pointee = found[1] if (found := re.search(r"!tt\.ptr<(\w+)>", store.text)) else "?"
    if pointer is not None and pointer.name == "tt.bitcast" and pointer.place == store.place:
        # Triton keeps a boolean in a byte, and widens it here; what counts is whether it was one before.
        pointee = "i1"
        if step is not None and step.name == "arith.extui" and step.place == store.place:
            step = made.get((store.function, step.text.split(" arith.extui ")[1].split(" ")[0]))
    if step is None or step.place != store.place:
        return ""
    if step.name in ("tt.splat", "arith.constant"):
        return (
            "error: 'tt.store' op failed to verify that value type matches ptr type: a scalar is stored through a block of "
            f"pointers to {pointee}; make it a block (`tl.full`, `tl.zeros`)"
        )
    if step.name.startswith(("arith.", "tt.fp_to_fp")) and step.name.split(".")[-1] in _CASTS:
        source = step.text.split(" : ")[-1].split(" to ")[0].split(" loc(")[0]
        return (
            f"error: 'tt.store' op failed to verify that value type matches ptr type: value {source}, pointer to {pointee}; "
            "convert the value first (`value.to(pointer.dtype.element_ty)`)"
        )
    return ""


_CASTS = frozenset({
    "truncf", "extf", "trunci", "extsi", "extui", "sitofp", "uitofp", "fptosi", "fptoui", "fp_to_fp", "bitcast", "cmpf", "cmpi",
})  # fmt: skip


def _mixed(loop: _Step, made: Mapping[tuple[str, str], _Step]) -> _Step | None:
    """The bound or step of a loop that had to be widened; None if none had."""
    bounds = re.search(r"= (%[\w.#]+) to (%[\w.#]+) step (%[\w.#]+)", loop.text)
    steps = (made.get((loop.function, b)) for b in (bounds.groups() if bounds else ()))
    return next((s for s in steps if s is not None and s.name in ("arith.extsi", "arith.extui")), None)


def _hint(name: str) -> str:
    for stem in (name, name.removesuffix("f")):
        if stem in HINTS:
            return f"; write {HINTS[stem]} instead"
    return "; write it from primitive operations"


def _lines(code: str, filename: str) -> dict[str, int]:
    """The submission's line of each alias of a location in it."""
    told = dict(_ALIAS.findall(code))
    found = {}
    for alias, where in told.items():
        text, seen = where, {alias}
        while not text.startswith('"/') and (inner := re.search(r"\((#loc\d*)", text)) and inner[1] not in seen:
            seen.add(inner[1])
            text = told.get(inner[1], "")
        if (place := _PLACE.search(text)) and place[1] == filename:
            found[alias] = int(place[2])
    return found


def _line(step: _Step, steps: Sequence[_Step], lines: dict[str, int]) -> int | None:
    """The submission's line of an operation, or of the call that led to it where Triton's own library made it."""
    seen: set[str] = set()
    while (line := lines.get(step.place)) is None and step.function not in seen:
        seen.add(step.function)
        calls = (s for s in steps if s.name == "tt.call" and f"@{step.function}(" in s.text)
        step = next(calls, step)
    return line


def refused_launch(launch: Launch, platform: Platform) -> str:
    """Why an emulated runtime refuses a launch; empty if it doesn't."""
    emulation = platform.emulation
    if emulation is None:
        return ""
    count = math.prod(launch.grid)
    if platform.bounds.programs is not None and count > platform.bounds.programs:
        return (
            f"RuntimeError: {launch.function}: a grid of {count} programs exceeds the limit of {platform.bounds.programs}; "
            f"let each do more ({platform.name}, emulated)"
        )
    for name, view in _named(launch):
        if not view.numel:
            continue
        first, last = _ends(view)
        span = (last - first + 1) * view.dtype.itemsize
        if emulation.address_bytes is not None and span > emulation.address_bytes:
            return (
                f"RuntimeError: {launch.function}: memory size of {name} too large to fit in a short pointer: {span} bytes, "
                f"at most {emulation.address_bytes}; launch it slice by slice ({platform.name}, emulated)"
            )
        if emulation.dense_only and last - first + 1 != view.numel:
            return (
                f"RuntimeError: {launch.function}: unsupported stride layout of {name}: size {view.size}, strides "
                f"{view.stride}; pass a dense tensor (`.contiguous()`) ({platform.name}, emulated)"
            )
    return ""


def _named(launch: Launch) -> Iterator[tuple[str, View]]:
    for name, value in launch.arguments.items():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, View):
                yield name, part


def _ends(view: View) -> tuple[int, int]:
    """The least and the greatest offset of an element, relative to the view's own."""
    steps = [(n - 1) * s for n, s in zip(view.size, view.stride, strict=True)]
    return sum(min(0, s) for s in steps), sum(max(0, s) for s in steps)


def hangs(share: float, draw: int) -> bool:
    """Whether the emulated compiler hangs, by a 62-bit draw."""
    return draw < share * (1 << 62)
