"""The player: executes records, never wrappers, on values that the submission never saw.

It runs in a confined process of its own and holds no oracle. On the CPU kernels run in Triton's interpreter; on NVIDIA
they are compiled, and timed against the baseline.
"""

from __future__ import annotations

import hashlib
import linecache
import random
import socket
import sys
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from kgb_gym.platforms.fence import Fence
from kgb_gym.platforms.guard import Guard, memory
from kgb_gym.verification import wire
from kgb_gym.verification.compile_ahead import Compiler
from kgb_gym.verification.errors import describe_error
from kgb_gym.verification.record import (
    Copy,
    Draw,
    Fill,
    Function,
    Launch,
    Record,
    Resize,
    Step,
    TritonType,
    Tune,
    View,
    encode_value,
    parse,
)
from kgb_gym.verification.tensors import dense_bytes, poison, storage_bytes, storage_of

MODULE = "kernels"


class Playback:
    """One record over real storages on one device.

    Args:
        record: a parsed record.
        inputs: the storages of the call's inputs, in order.
        kernels: the submission's jitted functions by name.
        device: `cpu` or `cuda`.
        seed: for draws.
        guard: watches the interpreter's memory; None on a GPU, and where nothing is launched.
        fence: where memory comes from that shows stray writes; None: plain memory.
    """

    def __init__(
        self,
        record: Record,
        inputs: Sequence[torch.UntypedStorage],
        kernels: Mapping[str, Any],
        device: str,
        seed: int,
        guard: Guard | None = None,
        fence: Fence | None = None,
    ) -> None:
        self.guard = guard
        self.fence = fence
        self.record = record
        self.kernels = kernels
        self.device = device
        self.storages = [inputs[s.input] if s.input is not None else self._fresh(s.nbytes) for s in record.storages]
        self._tensors: dict[View, torch.Tensor] = {}
        self.programs = 0
        self.reseed(seed)

    def _fresh(self, nbytes: int) -> torch.UntypedStorage:
        if self.fence is not None:
            return self.fence.storage(nbytes)
        return torch.UntypedStorage(nbytes, device=self.device)

    def input(self, number: int) -> torch.UntypedStorage | None:
        """The memory of input `number` as it is now: a resized one has moved. None: the record does not touch it."""
        for storage, made in zip(self.record.storages, self.storages, strict=True):
            if storage.input == number:
                return made
        return None

    def reseed(self, seed: int) -> None:
        """Fresh generators: the one that the call was given, and the default one."""
        self._given = torch.Generator(device=self.device).manual_seed(seed)
        self._default = torch.Generator(device=self.device).manual_seed(seed ^ 0x5DEECE66D)

    def poison(self) -> None:
        """Fill every allocation with values that no right answer holds by luck."""
        for storage, made in zip(self.record.storages, self.storages, strict=True):
            if storage.input is None:
                poison(made, storage.dtype, player=True)

    def tensor(self, view: View) -> torch.Tensor:
        if view not in self._tensors:
            self._tensors[view] = view.on(self.storages[view.storage])
        return self._tensors[view]

    def run(self, steps: Sequence[Step], *, launches: bool = True) -> None:
        """Execute the steps in order; `launches=False` leaves the kernels out (the ghost run)."""
        for step in steps:
            if isinstance(step, Launch):
                if launches:
                    self.launch(step)
            elif isinstance(step, Fill):
                self.tensor(step.dst).fill_(step.value)
            elif isinstance(step, Copy):
                self.tensor(step.dst).copy_(self.tensor(step.src))
            elif isinstance(step, Draw):
                self.tensor(step.dst).random_(
                    step.low, step.high, generator=self._given if step.given else self._default
                )
            elif isinstance(step, Resize):
                self._resize(step)
            else:
                raise TypeError("a tuning step must be chosen before it is played")

    def _resize(self, step: Resize) -> None:
        """Grow a storage: fresh memory, its content copied, the rest poisoned. A smaller size changes nothing."""
        storage = self.storages[step.storage]
        held = storage.nbytes()
        if step.nbytes <= held:
            return
        if self.fence is None:
            storage.resize_(step.nbytes)
        else:
            grown = self.fence.storage(step.nbytes)
            if held:
                grown[:held].copy_(storage)
            self.storages[step.storage] = storage = grown
            self._tensors = {v: t for v, t in self._tensors.items() if v.storage != step.storage}
        poison(storage, self.record.storages[step.storage].dtype, player=True, start=held)

    def launch(self, step: Launch) -> None:
        count = step.grid[0] * step.grid[1] * step.grid[2]
        self.programs += count
        if not count:
            return
        arguments = {k: self.value(v) for k, v in step.arguments.items()}
        options = {} if self.device == "cpu" else dict(step.options)
        if self.guard is not None:
            self.guard.allow(memory(self._given_to(step)))
        self.kernels[step.function].run(grid=step.grid, warmup=False, **arguments, **options)

    def _given_to(self, step: Launch) -> Iterator[tuple[str, torch.UntypedStorage]]:
        """A launch's arguments that are tensors, each with its memory."""
        for name, value in step.arguments.items():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, View):
                    yield name, self.storages[part.storage]

    def value(self, value: Any) -> Any:
        if isinstance(value, View):
            return self.tensor(value)
        if isinstance(value, Function):
            return self.kernels[value.name]
        if isinstance(value, TritonType):
            import triton.language as tl

            return getattr(tl, TL_NAMES.get(value.name, value.name))
        if isinstance(value, tuple):
            return tuple(self.value(v) for v in value)
        return value


TL_NAMES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "int1", "int1": "int1",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64", "fp8e4nv": "float8e4nv", "fp8e5": "float8e5", "fp8e4b15": "float8e4b15",
}  # fmt: skip
"""Names of `tl.dtype` objects as attributes of `triton.language`."""


def load_kernels(text: str, folder: str, names: Sequence[str]) -> dict[str, Any]:
    """Run the rebuilt module (imports, constants, jitted functions) and return its kernels."""
    filename = str(Path(folder) / f"{MODULE}.py")
    Path(filename).write_text(text, encoding="utf-8")
    linecache.checkcache(filename)
    module = types.ModuleType(MODULE)
    module.__file__ = filename
    sys.modules[MODULE] = module
    exec(compile(text, filename, "exec"), module.__dict__)  # noqa: S102 (running the submission is this process's purpose)
    return {n: getattr(module, n) for n in names}


def serve(sock: socket.socket, config: Mapping[str, Any]) -> None:
    """The player's life: load the kernels, then play one record a message, until the judge closes.

    Args:
        sock: connected to the judge.
        config: `scratch`, a folder that may be written.
    """
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    head = wire.greet(sock)
    filename = str(Path(config["scratch"]) / f"{MODULE}.py")
    device = head["device"]
    try:
        kernels = load_kernels(head["text"], config["scratch"], head["names"])
    except BaseException as error:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        wire.send(sock, {"error": describe_error(error, filename)})
        return
    guard = Guard() if device == "cpu" else None
    if guard is not None:
        guard.install()
    wire.send(sock, {"loaded": True})
    compiler = Compiler(kernels, Playback(Record((), (), (), ()), [], kernels, device, 0).value, device)
    while True:
        try:
            question, blobs = wire.receive(sock)
        except wire.Closed:
            return
        answer, out = _answer(question, blobs, kernels, device, filename, guard, compiler)
        wire.send(sock, answer, out)


def _answer(
    question: Mapping[str, Any],
    blobs: list[bytearray],
    kernels: Mapping[str, Any],
    device: str,
    filename: str,
    guard: Guard | None,
    compiler: Compiler,
) -> tuple[dict[str, Any], list[memoryview]]:
    try:
        if question["do"] == "time":
            from kgb_gym.verification.timing import time_case

            return time_case(question, blobs, kernels)
        if question["do"] == "ahead":
            names = frozenset(kernels)
            told = (parse(r, input_bytes=b, kernels=names, max_bytes=1 << 40) for r, b in question["records"])
            return {"ahead": compiler.add(told)}, []
        return _play(question, blobs, kernels, device, guard, compiler)
    except BaseException as error:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        cause = error.__cause__ if type(error).__name__ == "InterpreterError" and error.__cause__ else error
        return {"error": describe_error(cause, filename)}, []


def _play(
    question: Mapping[str, Any],
    blobs: list[bytearray],
    kernels: Mapping[str, Any],
    device: str,
    guard: Guard | None,
    compiler: Compiler,
) -> tuple[dict[str, Any], list[memoryview]]:
    """Play one record once for each seed; the outputs of each play follow each other."""
    record = parse(
        question["record"], input_bytes=[len(b) for b in blobs], kernels=frozenset(kernels), max_bytes=1 << 40
    )
    answer: dict[str, Any] = {"plays": []}
    out: list[memoryview] = []
    for seed in question["seeds"]:
        pick = {(f, k): i for f, k, i in question["pick"]}
        if device == "cuda" and any(isinstance(s, Tune) for s in record.steps):
            from kgb_gym.verification.timing import tune

            spare = Playback(record, [storage_of(b, device) for b in blobs], kernels, device, seed)
            spare.poison()
            pick = tune(record, spare, pick)
        fence = Fence(device) if device != "cpu" else None
        inputs = [fence.holding(b) if fence is not None else storage_of(b, resizable=True) for b in blobs]
        if guard is not None:
            guard.rng = None if question["order"] is None else random.Random(question["order"])
        playback = Playback(record, inputs, kernels, device, seed, guard, fence)
        playback.poison()
        steps = record.chosen(pick)
        for step in steps:
            if isinstance(step, Launch):
                compiler.before(step)
        playback.run(steps)
        if fence is not None:
            getattr(torch, device).synchronize()
        digests = hand_over(playback, inputs, question["written"], out)
        answer["plays"].append({
            "digests": digests, "programs": playback.programs,
            "stray": fence.stray() if fence is not None else [],
        })  # fmt: skip
        answer["values"] = [None if isinstance(v, View) else encode_value(v) for v in record.returns]
    return answer, out


def hand_over(
    playback: Playback, inputs: Sequence[torch.UntypedStorage], written: Sequence[int], out: list[memoryview]
) -> list[str | None]:
    """What a play left: its returned tensors and written inputs to `out`; digests of the other inputs."""
    out += [dense_bytes(playback.tensor(v)) for v in playback.record.returns if isinstance(v, View)]
    digests: list[str | None] = []
    for index, given in enumerate(inputs):
        now = playback.input(index)
        content = storage_bytes(given if now is None else now)
        if index in written:
            out.append(content)
            digests.append(None)
        else:
            digests.append(hashlib.sha256(content).hexdigest())
    return digests
