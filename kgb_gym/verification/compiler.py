"""The compile worker: ahead-of-time compilation of what a record launches, with no GPU.

It runs in a confined process without the interpreter (interpreted functions that call jitted helpers cannot be compiled
in one process), on the rebuilt module that the player runs.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgb_gym.operators.grids import plain_value
from kgb_gym.platforms import get as get_platform
from kgb_gym.verification import codegen, wire
from kgb_gym.verification.emulate import Refusal, refused_code
from kgb_gym.verification.errors import describe_error
from kgb_gym.verification.player import MODULE, TL_NAMES, load_kernels
from kgb_gym.verification.record import Function, Launch, TritonType, View, decode_value, encode_value
from kgb_gym.verification.targets import named

POINTERS = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "u8", "bool": "i1", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """One specialisation of a kernel: what decides the compiled code."""

    function: str
    types: tuple[tuple[str, str], ...]
    """Parameter name and Triton type (`*fp32`, `i32`, `constexpr`), in order of appearance."""
    constants: tuple[tuple[str, Any], ...]
    """Parameter name and value of each constexpr."""
    options: tuple[tuple[str, Any], ...]


def variant(launch: Launch, constexprs: Iterable[str]) -> Variant:
    """The specialisation that a launch asks for. Alignment and `== 1` specialisation are left out: they change speed,
    not whether it compiles.

    Args:
        launch: from a record.
        constexprs: names of the kernel's parameters annotated `tl.constexpr`.
    """
    fixed = set(constexprs)
    types, constants = [], []
    for name, value in launch.arguments.items():
        if name in fixed or value is None or isinstance(value, (str, Function, TritonType, tuple)):
            types.append((name, "constexpr"))
            constants.append((name, value))
        elif isinstance(value, View):
            types.append((name, "*" + POINTERS.get(str(plain_value(value.dtype)), "i8")))
        elif isinstance(value, bool):
            types.append((name, "i1"))
        elif isinstance(value, int):
            types.append((name, "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"))
        else:
            types.append((name, "fp32"))
    options = tuple(sorted(launch.options.items()))
    return Variant(launch.function, tuple(types), tuple(constants), options)


def serve(sock: socket.socket, config: Mapping[str, Any]) -> None:
    """The compiler's life: load the kernels, then compile one variant for one target a message.

    Args:
        sock: connected to the judge.
        config: `scratch`, a folder that may be written.
    """
    warnings.simplefilter("ignore")
    os.environ["TRITON_CACHE_DIR"] = str(Path(config["scratch"]) / "triton")
    os.environ["TRITON_DUMP_PTXAS_LOG"] = "1"
    head = wire.greet(sock)
    filename = str(Path(config["scratch"]) / f"{MODULE}.py")
    try:
        kernels = load_kernels(head["text"], config["scratch"], head["names"])
    except BaseException as error:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        wire.send(sock, {"error": describe_error(error, filename)})
        return
    wire.send(sock, {"loaded": True})
    while True:
        try:
            question, _ = wire.receive(sock)
        except wire.Closed:
            return
        began = time.perf_counter()
        try:
            answer: dict[str, Any] = {"ok": True, **_compile(question, kernels, filename)}
        except BaseException as error:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
            answer = {"ok": False, **explain(error, kernels.get(question["function"]), filename)}
        wire.send(sock, {**answer, "seconds": time.perf_counter() - began})


class Refused(Exception):
    """An emulated backend refuses a kernel."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self.refusal = refusal


class OutOfResources(Exception):
    """A kernel needs more than the chip has."""


class _Enough(Exception):
    """Ends a compilation after Triton's own passes."""


def depth_plan(variants: Iterable[Variant], *, largest: bool = False) -> dict[Variant, bool]:
    """Which variants are compiled to machine code: of each function and argument types the one with the smallest
    constants; the others, which differ in constants alone, go through Triton's front end and its GPU passes.

    Args:
        variants: all that are wanted.
        largest: also the one with the largest constants of each, which needs most registers and shared memory.
    """
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[Variant]] = {}
    listed = list(variants)
    for item in listed:
        groups.setdefault((item.function, item.types), []).append(item)
    whole = {min(group, key=_cost) for group in groups.values()}
    if largest:
        whole |= {max(group, key=_cost) for group in groups.values()}
    return {item: item in whole for item in listed}


def _cost(item: Variant) -> float:
    return sum(abs(float(v)) for _, v in item.constants if isinstance(v, (int, float)) and v == v)  # noqa: PLR0124 (NaN is the one value unequal to itself)


def encode_variant(item: Variant, target: str, whole: bool = True, platform: str = "") -> dict[str, Any]:
    """The question that asks for one compilation: to machine code, or through Triton's own passes only. On an emulated
    platform its restrictions are enforced too."""
    return {
        "whole": whole, "platform": platform, "function": item.function, "types": [list(t) for t in item.types], "target": target,
        "constants": [[n, encode_value(v)] for n, v in item.constants],
        "options": [[n, v] for n, v in item.options],
    }  # fmt: skip


def _compile(question: Mapping[str, Any], kernels: Mapping[str, Any], filename: str) -> dict[str, Any]:
    """Compile one variant; `code` of the answer is what it is made of, where it went the whole way (see `codegen`)."""
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    def real(value: Any) -> Any:
        if isinstance(value, Function):
            return kernels[value.name]
        if isinstance(value, TritonType):
            return getattr(tl, TL_NAMES.get(value.name, value.name))
        return tuple(real(v) for v in value) if isinstance(value, tuple) else value

    kernel = kernels[question["function"]]
    order = {name: index for index, name in enumerate(kernel.arg_names)}
    signature = {n: t for n, t in sorted(question["types"], key=lambda item: order[item[0]])}
    constants = {(order[n],): real(decode_value(v)) for n, v in question["constants"]}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs={})
    options = {n: v for n, v in question["options"] if v is not None}
    chip = named(question["target"])
    target = GPUTarget(chip.backend, chip.arch, chip.warp)
    place = get_platform(question["platform"]) if question["platform"] else None
    most = min(chip.shared_bytes, place.bounds.shared_bytes or chip.shared_bytes if place else chip.shared_bytes)

    def check(code: Any) -> None:
        if place is not None and (refusal := refused_code(str(code), place, filename)) is not None:
            raise Refused(refusal)

    said = io.StringIO()
    with (
        contextlib.suppress(_Enough), _stages(target, check, bool(question["whole"])), contextlib.redirect_stdout(said)
    ):  # fmt: skip
        made = triton.compile(source, target=target, options=options)
        shared = int(made.metadata.shared)
        if shared > most:
            where = f"{place.name}, emulated," if place is not None and most < chip.shared_bytes else chip.name
            raise OutOfResources(
                f"out of resource: shared memory, required {shared} bytes, {where} has {most}: smaller blocks or fewer "
                "num_stages may help"
            )
        assembly = made.asm.get("ptx") or made.asm.get("amdgcn") or ""
        return {"code": codegen.facts(assembly, ptxas=said.getvalue(), shared=shared)}
    return {}


@contextlib.contextmanager
def _stages(target: Any, check: Callable[[Any], None], whole: bool) -> Iterator[None]:
    """Has the front end's code checked before the first stage, and cuts the backend's stages after `ttgir`, unless the
    whole way is wanted."""
    from triton.compiler.compiler import make_backend

    backend = type(make_backend(target))
    original = backend.add_stages

    def add_stages(self: Any, stages: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        original(self, stages, *args, **kwargs)

        def enough(*_: Any) -> None:
            raise _Enough

        names = list(stages)
        for name in names[names.index("ttgir") + 1 :] if not whole else ():
            stages[name] = enough
        first = stages["ttir"]

        def checked(code: Any, metadata: Any) -> Any:
            check(code)
            return first(code, metadata)

        stages["ttir"] = checked

    backend.add_stages = add_stages
    try:
        yield
    finally:
        backend.add_stages = original


def explain(error: BaseException, kernel: Any, filename: str) -> dict[str, Any]:
    """A compiler's error trimmed to the submission's own lines."""
    if isinstance(error, Refused):
        line = error.refusal.line
        return {"line": line, "text": _shown(line, filename) + error.refusal.text, "late": error.refusal.late}
    inner: BaseException = error
    while inner.__cause__ is not None and type(inner.__cause__).__name__.endswith("Error"):
        if type(inner).__name__ in {"CompilationError", "UnsupportedLanguageConstruct"} and type(
            inner.__cause__
        ).__name__ not in {"CompilationError", "UnsupportedLanguageConstruct"}:
            break
        inner = inner.__cause__
    node = getattr(inner, "node", None)
    line = None
    if node is not None and hasattr(node, "lineno"):
        line = _absolute(inner, node.lineno, kernel, filename)
    text = getattr(inner, "error_message", None) or (str(inner.__cause__) if inner.__cause__ else "") or str(inner)
    text = re.sub(r"\s*\n\s*\n+", "\n", str(text)).strip()[:1500]
    return {"line": line, "text": f"{_shown(line, filename)}{type(inner).__name__}: {text}"}


def _shown(line: int | None, filename: str) -> str:
    """A line of the module with its number, to stand before what is said of it."""
    if line is None:
        return ""
    try:
        text = Path(filename).read_text(encoding="utf-8").split("\n")[line - 1].strip()
    except (OSError, IndexError):
        text = ""
    return f"line {line}: {text}\n"


def _absolute(error: BaseException, line: int, kernel: Any, filename: str) -> int | None:
    """The module's line number of a line counted from the start of a kernel's source."""
    source = getattr(error, "src", None)
    try:
        content = Path(filename).read_text(encoding="utf-8")
    except OSError:
        return None
    if isinstance(source, str) and (at := content.find(source.rstrip())) >= 0:
        return content.count("\n", 0, at) + line
    start = getattr(kernel, "starting_line_number", None)
    return start + line - 1 if isinstance(start, int) else None
