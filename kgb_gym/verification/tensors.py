"""Calls and tensors as bytes: how values cross between processes.

A packed call is a list of storages and a tree in which tensors are geometry over them, so that memory shared between
arguments stays shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch

from kgb_gym.operators.declaration import Call
from kgb_gym.operators.grids import DTYPES, plain_value
from kgb_gym.operators.maker import ScalarType, Seeded

MEMORY_FORMATS = {
    str(f).removeprefix("torch."): f
    for f in (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
}


def pack(call: Call) -> tuple[dict[str, Any], list[memoryview]]:
    """The call as JSON and the bytes of its storages, each storage once, in order of first use.

    Calls are made on the CPU: a `torch.device` among the arguments stands for the device on which the call will be.
    """
    index: dict[int, int] = {}
    blobs: list[memoryview] = []

    def tensor(value: torch.Tensor) -> dict[str, Any]:
        storage = value.untyped_storage()
        if storage._cdata not in index:
            index[storage._cdata] = len(blobs)
            blobs.append(storage_bytes(storage))
        flags = (1 if value.is_conj() else 0) | (2 if value.is_neg() else 0)
        return {"t": [index[storage._cdata], plain_value(value.dtype), list(value.shape), list(value.stride()),
                      value.storage_offset(), flags]}  # fmt: skip

    def tree(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return tensor(value)
        if isinstance(value, Seeded):
            return {"g": value.seed}
        if isinstance(value, ScalarType):
            return {"s": [value.size_bits, value.bias]}
        if isinstance(value, torch.dtype):
            return {"d": plain_value(value)}
        if isinstance(value, torch.memory_format):
            return {"m": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"h": None}
        if isinstance(value, complex):
            return {"c": [_float(value.real), _float(value.imag)]}
        if isinstance(value, float):
            return {"f": repr(value)}
        if isinstance(value, list):
            return {"l": [tree(v) for v in value]}
        if isinstance(value, tuple):
            return {"u": [tree(v) for v in value]}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        raise TypeError(f"a case passes a {type(value).__name__}, which no call can carry")

    return {"args": [tree(a) for a in call.args], "kwargs": {k: tree(v) for k, v in call.kwargs.items()}}, blobs


def unpack(
    data: Mapping[str, Any], blobs: Sequence[bytearray], device: str = "cpu"
) -> tuple[Call, list[torch.UntypedStorage], list[torch.Tensor]]:
    """Inverse of `pack` on a device: the call, its storages, and its tensors in the order of `Call.tensors()`."""
    storages = [storage_of(b, device, resizable=True) for b in blobs]
    call = over(data, storages, device)
    return call, storages, call.tensors()


def refill(storages: Sequence[torch.UntypedStorage], blobs: Sequence[bytearray]) -> None:
    """Other bytes into the same memory; a storage that has been resized gets its size back."""
    for storage, data in zip(storages, blobs, strict=True):
        if storage.nbytes() != len(data):
            storage.resize_(len(data))
        if data:
            storage.copy_(storage_of(data))


def over(data: Mapping[str, Any], storages: Sequence[torch.UntypedStorage], device: str = "cpu") -> Call:
    """A packed call over storages that are already there."""

    def tree(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        ((kind, body),) = value.items()
        if kind == "t":
            number, dtype, size, stride, offset, flags = body
            made = torch.empty(0, dtype=DTYPES[dtype], device=device)
            made.set_(storages[number], offset, tuple(size), tuple(stride))
            made = torch._conj(made) if flags & 1 else made
            return torch._neg_view(made) if flags & 2 else made
        if kind == "g":
            return Seeded(body)
        if kind == "s":
            return ScalarType(*body)
        if kind == "d":
            return DTYPES[body]
        if kind == "m":
            return MEMORY_FORMATS[body]
        if kind == "h":
            return torch.device(device)
        if kind == "c":
            return complex(float(body[0]), float(body[1]))
        if kind == "f":
            return float(body)
        parts = [tree(v) for v in body]
        return parts if kind == "l" else tuple(parts)

    return Call(tuple(tree(a) for a in data["args"]), {k: tree(v) for k, v in data["kwargs"].items()})


def storage_bytes(storage: torch.UntypedStorage) -> memoryview:
    """The content of a storage, without a copy where it is on the CPU."""
    host = storage.cpu()
    flat = torch.empty(0, dtype=torch.uint8)
    flat.set_(host, 0, (host.nbytes(),), (1,))
    return memoryview(cast(Any, flat.numpy())) if flat.numel() else memoryview(b"")


def storage_of(data: bytearray, device: str = "cpu", *, resizable: bool = False) -> torch.UntypedStorage:
    """A storage with a copy of these bytes; on the CPU over the bytes themselves, unless it is to be `resizable`."""
    if not data:
        return torch.UntypedStorage(0, device=device)
    flat = torch.frombuffer(data, dtype=torch.uint8)
    if device == "cpu":
        return (flat.clone() if resizable else flat).untyped_storage()
    return flat.to(device).untyped_storage()


def dense_bytes(tensor: torch.Tensor) -> memoryview:
    """A tensor's values in row-major order."""
    plain = tensor.resolve_conj().resolve_neg().cpu()
    if not plain.numel():
        return memoryview(b"")
    dense = torch.empty(plain.shape, dtype=plain.dtype).copy_(plain)
    return memoryview(cast(Any, dense.reshape(-1).view(torch.uint8).numpy()))


def from_dense(data: bytearray, dtype: torch.dtype, size: Sequence[int]) -> torch.Tensor:
    """Inverse of `dense_bytes`."""
    if not data:
        return torch.empty(tuple(size), dtype=dtype)
    return torch.frombuffer(data, dtype=torch.uint8).view(dtype).reshape(tuple(size))


def poison_byte(dtype: torch.dtype, *, player: bool) -> int:
    """The byte that fills fresh memory of a type (see `poison`)."""
    if dtype.is_floating_point or dtype.is_complex:
        return 0xFF
    if dtype is torch.bool:
        return 0 if player else 1
    return 0x5B if player else 0xA5


def poison(storage: torch.UntypedStorage, dtype: torch.dtype, *, player: bool, start: int = 0) -> None:
    """Fill fresh memory with values that no right answer holds by luck: NaN for floating point, odd bytes otherwise.

    Recorder and player use different bytes for integers, so that no constant survives both. `start`: the first byte.
    """
    if storage.nbytes() <= start:
        return
    flat = torch.empty(0, dtype=torch.uint8, device=storage.device)
    flat.set_(storage, 0, (storage.nbytes(),), (1,))
    flat[start:].fill_(poison_byte(dtype, player=player))


def _float(value: float) -> str:
    return repr(value)
