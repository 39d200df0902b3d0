"""The recorder: imports a submission, calls it once a case with every launch held back, and hands over the records.

It runs inside a single-use, confined process (`serve` is its whole life). Nothing it says is trusted: the judge parses
its records strictly and scores them on values this process never saw. What it notices on the way (native compute,
foreign buffers, recursion) is evidence, not proof of innocence.
"""

from __future__ import annotations

import linecache
import random
import socket
import sys
import types
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Seeded
from kgb_gym.operators.policy import Policy
from kgb_gym.platforms.guard import Guard
from kgb_gym.verification import wire
from kgb_gym.verification.errors import describe_error
from kgb_gym.verification.launching import Held
from kgb_gym.verification.memory import DeviceMemory, HostBacked
from kgb_gym.verification.mount import Mount
from kgb_gym.verification.record import (
    Record,
    encode,
)
from kgb_gym.verification.recording import Recording, Stopped
from kgb_gym.verification.state import Keeper

MODULE = "submission"


@dataclass
class Kept:
    """A call that is made again later, on the very same tensors, with other values in them."""

    call: Call = field(default_factory=Call)
    storages: list[torch.UntypedStorage] = field(default_factory=list)

    def again(
        self, packed: Mapping[str, Any], blobs: Sequence[bytearray], memory: DeviceMemory
    ) -> tuple[Call, list[torch.UntypedStorage]]:
        """The kept call and its memory with these values. A tensor that was resized or moved gets its geometry back."""
        memory.refill(self.storages, blobs)
        for tensor, was in zip(self.call.tensors(), memory.over(packed, self.storages).tensors(), strict=True):
            if (tensor.shape, tensor.stride(), tensor.storage_offset()) != (
                was.shape,
                was.stride(),
                was.storage_offset(),
            ):
                tensor.set_(was)  # type: ignore[call-overload]
        return self.call, self.storages


def serve(sock: socket.socket, config: Mapping[str, Any]) -> None:
    """The recorder's life: load, then one record a message, until the judge closes.

    Args:
        sock: connected to the judge.
        config: `scratch`, a folder that may be written; `host_backed`, whether tensors of the device lie on the host.
    """
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    head = wire.greet(sock)
    filename = str(Path(config["scratch"]) / f"{MODULE}.py")
    Path(filename).write_text(head["text"], encoding="utf-8")
    data_dependent = bool(head.get("data_dependent"))
    host_backed = bool(config.get("host_backed"))
    memory = HostBacked(head["device"], read=data_dependent) if host_backed else DeviceMemory(head["device"])
    memory.install()
    held = Held(filename, live=bool(head.get("live")))
    held.install()
    if held.live and memory.device == "cpu":
        held.guard = Guard()
        held.guard.install()
    keeper = Keeper(filename)
    keeper.watch.awake = True
    try:
        with memory.importing():
            module = _load(head["text"], filename)
    except BaseException as error:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        wire.send(sock, {"error": describe_error(error, filename)})
        return
    functions = {i["name"]: getattr(module, i["function"], None) for i in head["interfaces"]}
    missing = [n for n, f in functions.items() if not callable(f)]
    wire.send(sock, {"missing": missing, "violations": keeper.take(full=True)})
    rules: dict[str, Any] = {k: frozenset(v) if isinstance(v, list) else v for k, v in head["policy"].items()}
    policy = Policy(**rules)
    mount = Mount(head["source"], head["dispatch_key"], {n: f for n, f in functions.items() if callable(f)})
    held.mount = mount
    kept = Kept()
    while True:
        try:
            question, blobs = wire.receive(sock)
        except wire.Closed:
            return
        memory.tidy()
        recording = Recording(policy, memory, filename, data_dependent, bool(head.get("audit", True)))
        answer = _record(question, blobs, held, mount, recording, kept)
        answer["violations"] += keeper.take(full=bool(question.get("last")))
        wire.send(sock, answer)


def _load(text: str, filename: str) -> types.ModuleType:
    linecache.checkcache(filename)
    module = types.ModuleType(MODULE)
    module.__file__ = filename
    sys.modules[MODULE] = module
    exec(compile(text, filename, "exec"), module.__dict__)  # noqa: S102 (running the submission is this process's purpose)
    return module


def _record(
    question: Mapping[str, Any],
    blobs: list[bytearray],
    held: Held,
    mount: Mount,
    recording: Recording,
    kept: Kept,
) -> dict[str, Any]:
    """Call an interface once; the answer holds the record.

    With `keep` the call is kept, and later questions with `again` put their values into its memory.
    """
    memory, filename = recording.memory, recording.filename
    if question.get("again"):
        call, storages = kept.again(question["call"], blobs, memory)
    else:
        storages = memory.storages(blobs)
        call = memory.over(question["call"], storages)
    tensors = call.tensors()
    if question.get("keep"):
        kept.call, kept.storages = call, storages

    def generator(value: Any) -> Any:
        if isinstance(value, Seeded):
            recording.has_generator = True
            return torch.Generator(device=memory.device).manual_seed(value.seed)
        return value

    args = tuple(generator(a) for a in call.args)
    kwargs = {k: generator(v) for k, v in call.kwargs.items()}
    numbers = {storage._cdata: index for index, storage in enumerate(storages)}
    for tensor in tensors:
        recording.register(tensor, numbers[tensor.untyped_storage()._cdata])
    for index in question.get("readable", ()):
        recording.let_read(tensors[index])
    held.recording = recording
    if held.guard is not None:
        held.guard.rng = random.Random(question.get("order"))
    answer: dict[str, Any] = {}
    try:
        with torch.no_grad():
            returned = mount.call(question["interface"], args, kwargs, recording)
        leaves = _returned(returned[-1] if returned else None)
        record = Record(
            tuple(recording.storages), tuple(recording.steps),
            tuple(recording.view(v, "the returned tensor") if isinstance(v, torch.Tensor) else _plain(v) for v in leaves),
            tuple(recording.view(t, "an argument") for t in tensors),
        )  # fmt: skip
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor) and (type(leaf) is not torch.Tensor or vars(leaf)):
                recording.stop("contract", "tensor-type", "the returned tensor is not a plain torch.Tensor")
        if any(vars(tensor) for tensor in tensors):
            recording.stop("state", "attached", "something was attached to a tensor that was passed in")
        answer["record"] = encode(record)
    except Stopped:
        pass
    except BaseException as error:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        if not recording.violations and not recording.recursion:
            answer["error"] = describe_error(error, filename)
    finally:
        held.recording = None
    answer["violations"] = recording.violations
    answer["recursion"] = recording.recursion
    return answer


def _returned(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    raise TypeError(f"the submission returned a {type(value).__name__} where a tensor is expected")
