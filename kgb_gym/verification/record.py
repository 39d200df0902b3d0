"""The record: what one call of a submission does, as data.

A record is four verbs over numbered storages: `fill`, `copy`, `draw` and `launch` (and `tune`, a choice of launches).
Storages are the call's inputs and the allocations made during the call; views are geometry, not steps. It comes from a
hostile process, so `parse` accepts nothing that it does not understand and checks every bound before anything is done
with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kgb_gym.operators.grids import DTYPES, plain_value

TRITON_TYPES = frozenset({
    "fp16", "bf16", "fp32", "fp64", "i1", "int1", "i8", "i16", "i32", "i64", "int8", "int16", "int32", "int64", "u8",
    "u16", "u32", "u64", "uint8", "uint16", "uint32", "uint64", "fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16",
    "void",
})  # fmt: skip
"""Names of `tl.dtype` objects that a kernel may be given."""
MAX_STEPS = 2048
MAX_STORAGES = 2048
MAX_RANK = 64
MAX_CHOICES = 256
MAX_CHOICE_STEPS = 64
MAX_DEPTH = 8
"""Tuples in tuples in a kernel's argument."""
MOVED = 16
"""All fills and copies of one record may write this many times what it may allocate."""
OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion"})


class BadRecord(Exception):
    """The record is malformed, out of bounds, or does what the operator's policy forbids."""

    def __init__(self, rule: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.rule = rule
        self.line = line


@dataclass(frozen=True)
class View:
    """A tensor: geometry over one storage. `size`, `stride` and `offset` count elements."""

    storage: int
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    conj: bool = False
    neg: bool = False

    @classmethod
    def of(cls, tensor: torch.Tensor, storage: int = 0) -> View:
        """A tensor's geometry, its memory by the number that it has."""
        return cls(
            storage, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset()),
            tensor.is_conj(), tensor.is_neg(),
        )  # fmt: skip

    @property
    def numel(self) -> int:
        return math.prod(self.size)

    @property
    def nbytes(self) -> int:
        """Bytes of its elements, each counted as often as it occurs."""
        return self.numel * self.dtype.itemsize

    @property
    def end(self) -> int:
        """Bytes of the storage that the view reaches over."""
        if not self.numel:
            return 0
        last = self.offset + sum((n - 1) * s for n, s in zip(self.size, self.stride, strict=True))
        return (last + 1) * self.dtype.itemsize

    def encode(self) -> list[Any]:
        flags = (1 if self.conj else 0) | (2 if self.neg else 0)
        return [self.storage, plain_value(self.dtype), list(self.size), list(self.stride), self.offset, flags]

    def on(self, storage: torch.UntypedStorage) -> torch.Tensor:
        """The tensor of this geometry over a real storage."""
        tensor = torch.empty(0, dtype=self.dtype, device=storage.device)
        tensor.set_(storage, self.offset, self.size, self.stride)
        tensor = torch._conj(tensor) if self.conj else tensor
        return torch._neg_view(tensor) if self.neg else tensor


@dataclass(frozen=True)
class Storage:
    """Memory that a record uses: input number `input` of the call, or an allocation of `nbytes`."""

    nbytes: int
    input: int | None = None
    dtype: torch.dtype = torch.uint8
    """Of the tensor it was allocated for; decides the poison."""


@dataclass(frozen=True)
class Fill:
    dst: View
    value: int | float | bool | complex


@dataclass(frozen=True)
class Copy:
    dst: View
    src: View


@dataclass(frozen=True)
class Draw:
    """One integer in [low, high) from the call's generator, or from the default one."""

    dst: View
    low: int
    high: int
    given: bool


@dataclass(frozen=True)
class Resize:
    """An input's storage grown to `nbytes` (what `out=` of the wrong size asks for)."""

    storage: int
    nbytes: int


@dataclass(frozen=True)
class Function:
    """A jitted function passed as a kernel's argument."""

    name: str


@dataclass(frozen=True)
class TritonType:
    """A `tl.dtype` passed as a constexpr."""

    name: str


@dataclass(frozen=True)
class Launch:
    """One launch of the submission's own jitted function."""

    function: str
    grid: tuple[int, int, int]
    arguments: Mapping[str, Any]
    """By parameter name: `View`, number, bool, None, str, `Function`, `TritonType` or a tuple of these."""
    options: Mapping[str, Any]
    line: int | None = None

    def views(self) -> Iterator[View]:
        yield from _views(tuple(self.arguments.values()))


@dataclass(frozen=True)
class Tune:
    """What `@triton.autotune` may choose from: each choice ends in one launch."""

    function: str
    key: str
    choices: tuple[tuple[Fill | Copy | Launch, ...], ...]


Step = Fill | Copy | Draw | Resize | Launch | Tune


@dataclass(frozen=True)
class Record:
    """One call as data."""

    storages: tuple[Storage, ...]
    steps: tuple[Step, ...]
    returns: tuple[Any, ...]
    """Returned leaves in order: `View`s or plain values."""
    arguments: tuple[View, ...]
    """The call's tensors after the call, in the order of `Call.tensors()`."""

    def chosen(self, pick: Mapping[tuple[str, str], int]) -> tuple[Step, ...]:
        """The steps with every `Tune` replaced by its choice; `pick` maps (function, key) to an index."""
        out: list[Step] = []
        for step in self.steps:
            if isinstance(step, Tune):
                out.extend(step.choices[pick.get((step.function, step.key), 0) % len(step.choices)])
            else:
                out.append(step)
        return tuple(out)

    def launches(self) -> Iterator[Launch]:
        """Every launch, those of all tuning choices included."""
        for step in self.steps:
            if isinstance(step, Launch):
                yield step
            elif isinstance(step, Tune):
                for choice in step.choices:
                    yield from (s for s in choice if isinstance(s, Launch))


def encode_value(value: Any) -> Any:
    """A plain value, view, function or type as JSON."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"f": str(value)}
    if isinstance(value, complex):
        return {"c": [encode_value(value.real), encode_value(value.imag)]}
    if isinstance(value, torch.dtype):
        return {"d": plain_value(value)}
    if isinstance(value, View):
        return {"t": value.encode()}
    if isinstance(value, Function):
        return {"fn": value.name}
    if isinstance(value, TritonType):
        return {"tl": value.name}
    if isinstance(value, (tuple, list, torch.Size)):
        return {"u": [encode_value(v) for v in value]}
    raise TypeError(f"a value of type {type(value).__name__} cannot be recorded")


def decode_value(data: Any, depth: int = 0) -> Any:
    """Inverse of `encode_value`; a `View` in it is not bounds-checked here.

    Raises:
        BadRecord: it is not such a value, an integer no kernel can take, or nested too deeply.
    """
    if type(data) is int and not -(2**63) <= data < 2**64:
        raise BadRecord("malformed", "an integer of more than 64 bits")
    if data is None or isinstance(data, (bool, int, str, float)):
        return data
    if isinstance(data, dict) and len(data) == 1:
        ((kind, body),) = data.items()
        if kind == "f" and body in ("nan", "inf", "-inf"):
            return float(body)
        if kind == "c" and isinstance(body, list) and len(body) == 2:
            return complex(float(decode_value(body[0])), float(decode_value(body[1])))
        if kind == "d" and body in DTYPES:
            return DTYPES[body]
        if kind == "t":
            return _view(body)
        if kind == "fn" and isinstance(body, str):
            return Function(body)
        if kind == "tl" and body in TRITON_TYPES:
            return TritonType(body)
        if kind == "u" and isinstance(body, list):
            if depth >= MAX_DEPTH:
                raise BadRecord("malformed", f"tuples nested more than {MAX_DEPTH} deep")
            return tuple(decode_value(v, depth + 1) for v in body)
    raise BadRecord("malformed", f"not a value: {str(data)[:80]}")


def encode(record: Record) -> dict[str, Any]:
    """The record as JSON."""
    return {
        "storages": [[s.nbytes, s.input, plain_value(s.dtype)] for s in record.storages],
        "steps": [_encode_step(s) for s in record.steps],
        "returns": [encode_value(v) for v in record.returns],
        "arguments": [v.encode() for v in record.arguments],
    }


def parse(data: Any, *, input_bytes: Sequence[int], kernels: frozenset[str], max_bytes: int) -> Record:
    """A record from what a recorder handed over.

    Args:
        data: the JSON value.
        input_bytes: sizes of the call's input storages in bytes.
        kernels: names of the submission's jitted functions.
        max_bytes: how much the record may allocate in all.

    Raises:
        BadRecord: anything is malformed, unknown or out of bounds.
    """
    try:
        return _parse(data, input_bytes, kernels, max_bytes)
    except BadRecord:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise BadRecord("malformed", f"malformed record: {type(error).__name__}: {error}") from error


def _parse(data: Any, input_bytes: Sequence[int], kernels: frozenset[str], max_bytes: int) -> Record:
    storages: list[Storage] = []
    if len(data["storages"]) > MAX_STORAGES or len(data["steps"]) > MAX_STEPS:
        raise BadRecord("too-large", f"more than {MAX_STEPS} steps or {MAX_STORAGES} allocations in one call")
    total = 0
    for nbytes, source, dtype in data["storages"]:
        _int(nbytes)
        if source is None:
            total += nbytes
        elif not (_int(source) < len(input_bytes)):
            raise BadRecord("malformed", "a storage names an input that does not exist")
        else:
            nbytes = input_bytes[source]
        storages.append(Storage(nbytes, source, DTYPES[dtype]))
    limits = [s.nbytes for s in storages]
    steps = tuple(_step(s, limits, kernels, max_bytes) for s in data["steps"])
    returns = tuple(decode_value(v) for v in data["returns"])
    arguments = tuple(_view(v) for v in data["arguments"])
    for view in (*_views(returns), *arguments):
        _bounds(view, limits)
    if sum(v.nbytes for v in _views(returns)) > max_bytes:
        raise BadRecord("too-large", f"the returned tensors hold more than {max_bytes} bytes")
    grown = sum(s.nbytes for s in steps if isinstance(s, Resize))
    if total + grown > max_bytes:
        raise BadRecord("too-large", f"the call allocates {total + grown} bytes; {max_bytes} are allowed")
    moved = sum(s.dst.nbytes for s in flat(steps) if isinstance(s, (Fill, Copy)))
    if moved > MOVED * max_bytes:
        raise BadRecord("too-large", f"fills and copies write {moved} bytes in one call")
    return Record(tuple(storages), steps, returns, arguments)


def _step(data: Any, limits: list[int], kernels: frozenset[str], max_bytes: int) -> Step:
    kind = data["op"]
    if kind == "fill":
        value = decode_value(data["value"])
        if not isinstance(value, (bool, int, float, complex)):
            raise BadRecord("malformed", "a fill needs a number")
        return Fill(_written(data["dst"], limits), value)
    if kind == "copy":
        dst, src = _written(data["dst"], limits), _bounds(_view(data["src"]), limits)
        if dst.size != src.size:
            raise BadRecord("malformed", "a copy between tensors of different shapes")
        return Copy(dst, src)
    if kind == "draw":
        low, high = data["low"], data["high"]
        if type(low) is not int or type(high) is not int or not -(2**63) <= low < high <= 2**63 - 1:
            raise BadRecord("malformed", "a draw needs integers low < high")
        dst = _bounds(_view(data["dst"]), limits)
        if dst.numel != 1 or dst.dtype.is_floating_point or dst.dtype.is_complex:
            raise BadRecord("draw", "only one-element integer tensors may be drawn")
        return Draw(dst, low, high, bool(data["given"]))
    if kind == "resize":
        storage, nbytes = _int(data["storage"]), _int(data["nbytes"])
        if storage >= len(limits) or nbytes > max_bytes:
            raise BadRecord("too-large", "a storage is resized beyond the limit")
        limits[storage] = max(limits[storage], nbytes)
        return Resize(storage, nbytes)
    if kind == "launch":
        return _launch(data, limits, kernels)
    if kind == "tune":
        choices = data["choices"]
        if not choices or len(choices) > MAX_CHOICES or any(len(c) > MAX_CHOICE_STEPS for c in choices):
            raise BadRecord("malformed", f"an autotuned launch needs 1 to {MAX_CHOICES} configurations")
        parsed = []
        for choice in choices:
            if any(s["op"] not in {"fill", "copy", "launch"} for s in choice):
                raise BadRecord("malformed", "a tuning choice holds another kind of step")
            steps = tuple(_step(s, limits, kernels, max_bytes) for s in choice)
            if not steps or not isinstance(steps[-1], Launch):
                raise BadRecord("malformed", "a tuning choice must end in a launch")
            parsed.append(steps)
        return Tune(str(data["function"]), str(data["key"]), tuple(parsed))  # type: ignore[arg-type]
    raise BadRecord("malformed", f"unknown step {kind!r}")


def _launch(data: Any, limits: list[int], kernels: frozenset[str]) -> Launch:
    name = data["function"]
    if name not in kernels:
        raise BadRecord("foreign-kernel", f"the launched function {name!r} is not a jitted function of the submission")
    grid = tuple(_int(g) for g in data["grid"])
    if not 1 <= len(grid) <= 3 or any(g > 2**31 - 1 for g in grid):
        raise BadRecord("malformed", "a grid has one to three sizes below 2^31")
    grid = (*grid, 1, 1)[:3]
    arguments = {str(k): decode_value(v) for k, v in data["arguments"].items()}
    for view in _views(tuple(arguments.values())):
        _bounds(view, limits)
    for value in arguments.values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Function) and part.name not in kernels:
                raise BadRecord("foreign-kernel", f"{part.name!r} is not a jitted function of the submission")
    options = {str(k): decode_value(v) for k, v in data["options"].items()}
    if unknown := set(options) - OPTIONS:
        raise BadRecord("option", f"unknown launch options: {', '.join(sorted(unknown))}")
    if not all(v is None or isinstance(v, (bool, int)) for v in options.values()):
        raise BadRecord("option", "launch options are integers")
    line = data.get("line")
    return Launch(name, grid, arguments, options, line if type(line) is int else None)  # type: ignore[arg-type]


def flat(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, with those of every tuning choice in the place of the choice."""
    for step in steps:
        if isinstance(step, Tune):
            for choice in step.choices:
                yield from choice
        else:
            yield step


def _encode_step(step: Step) -> dict[str, Any]:
    if isinstance(step, Fill):
        return {"op": "fill", "dst": step.dst.encode(), "value": encode_value(step.value)}
    if isinstance(step, Copy):
        return {"op": "copy", "dst": step.dst.encode(), "src": step.src.encode()}
    if isinstance(step, Draw):
        return {"op": "draw", "dst": step.dst.encode(), "low": step.low, "high": step.high, "given": step.given}
    if isinstance(step, Resize):
        return {"op": "resize", "storage": step.storage, "nbytes": step.nbytes}
    if isinstance(step, Launch):
        return {
            "op": "launch", "function": step.function, "grid": list(step.grid), "line": step.line,
            "arguments": {k: encode_value(v) for k, v in step.arguments.items()},
            "options": {k: encode_value(v) for k, v in step.options.items()},
        }  # fmt: skip
    choices = [[_encode_step(s) for s in choice] for choice in step.choices]
    return {"op": "tune", "function": step.function, "key": step.key, "choices": choices}


def _view(data: Any) -> View:
    storage, dtype, size, stride, offset, flags = data
    if len(size) != len(stride) or len(size) > MAX_RANK or type(flags) is not int or not 0 <= flags <= 3:
        raise BadRecord("malformed", "not a tensor's geometry")
    return View(
        _int(storage), DTYPES[dtype], tuple(_int(n) for n in size), tuple(_int(s) for s in stride), _int(offset),
        bool(flags & 1), bool(flags & 2),
    )  # fmt: skip


def _views(values: Any) -> Iterator[View]:
    for value in values:
        if isinstance(value, View):
            yield value
        elif isinstance(value, tuple):
            yield from _views(value)


def _bounds(view: View, limits: Sequence[int]) -> View:
    if view.storage >= len(limits) or view.end > limits[view.storage]:
        raise BadRecord("out-of-bounds", "a tensor reaches beyond its storage")
    return view


def _written(data: Any, limits: Sequence[int]) -> View:
    """A view that data is written to: within its storage, and not many elements over the same memory."""
    view = _bounds(_view(data), limits)
    if view.nbytes > limits[view.storage]:
        raise BadRecord("out-of-bounds", "the target of a fill or copy overlaps with itself")
    return view


def _int(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**62:
        raise BadRecord("malformed", f"not a size: {str(value)[:40]}")
    return value
