"""Where a recorder's tensors lie: on the device, or on memory of the host that passes for the device's.

A recorder of CUDA calls that holds every launch back needs nothing of the GPU. Its tensors are CUDA's by device, type and
dispatch key, over memory of the host, and what a wrapper may do around its kernels (allocations, views, fills, copies, a
draw) is done there. So it has no CUDA context, which a GPU's processes can only make one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from kgb_gym.operators.declaration import Call
from kgb_gym.verification import tensors
from kgb_gym.verification.record import View
from kgb_gym.verification.tensors import over, storage_of

SMALL_BYTES = 1 << 12
"""Memory that may hold a number which is read."""


class DeviceMemory:
    """Tensors that lie where they say.

    Args:
        device: `cpu`, `cuda` and others.
    """

    def __init__(self, device: str) -> None:
        self.device = device

    def install(self) -> None:
        """Prepare the process, once."""

    def tidy(self) -> None:
        """Let go of what is no longer used."""

    @contextmanager
    def importing(self) -> Iterator[None]:
        """For the import of a submission: outside a call nothing is recorded."""
        yield

    def storages(self, blobs: Sequence[bytearray]) -> list[torch.UntypedStorage]:
        """Memory with these bytes."""
        return [storage_of(b, self.device, resizable=True) for b in blobs]

    def over(self, packed: Mapping[str, Any], storages: Sequence[torch.UntypedStorage]) -> Call:
        """A packed call over such memory."""
        return over(packed, storages, self.device)

    def refill(self, storages: Sequence[torch.UntypedStorage], blobs: Sequence[bytearray]) -> None:
        """Other bytes into the same memory."""
        tensors.refill(storages, blobs)

    def poison(self, storage: torch.UntypedStorage, dtype: torch.dtype, start: int = 0) -> None:
        """See `tensors.poison`."""
        tensors.poison(storage, dtype, player=False, start=start)

    def first(self, tensor: torch.Tensor) -> Any:
        """The first element, as a number."""
        return tensor.as_strided((1,), (1,), tensor.storage_offset()).item()

    def run(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Carry out an ATen overload."""
        return func(*args, **kwargs)


@dataclass(frozen=True)
class _Given:
    """What an operator was given: counterparts on the host with what they stand for, and the devices it names."""

    grows: bool
    pairs: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)
    named: list[str] = field(default_factory=list)


class HostBacked(DeviceMemory):
    """Tensors that say they lie on a GPU, over memory of the host (see the module).

    Not covered: another view of memory that grows (`resize_`) keeps the geometry it had, and sees what was there before.

    Args:
        device: `cuda`; `cpu` has each tensor stand for another one on the host, to try the same without a GPU.
        read: whether values of large tensors may be read back. If not, what they are allocated with stays untouched.
    """

    def __init__(self, device: str = "cuda", read: bool = True) -> None:
        super().__init__(device)
        self._read = read
        self._host: dict[int, tuple[StorageWeakRef, torch.UntypedStorage]] = {}
        """By the identity of the memory that is shown: whether that still exists, and the host's."""

    @staticmethod
    def possible() -> bool:
        """Whether this build of torch can show the host's memory as a GPU's."""
        return torch.version.cuda is not None and all(hasattr(_BUILD, name) for name in _NEEDS)

    @staticmethod
    def open() -> None:
        """Have CUDA answer questions about the device, which it later could not: without a context, and before fences."""
        torch.cuda.init()
        torch.cuda.get_device_properties(0)

    def install(self) -> None:
        if self.device != "cuda":
            return
        for where, name in ((torch, "tensor"), (torch, "as_tensor"), (torch.Tensor, "new_tensor")):
            setattr(where, name, self._made_on_host(getattr(where, name)))
        for name in ("_exchange_device", "_maybe_exchange_device"):
            setattr(torch.cuda, name, _only_device(getattr(torch.cuda, name)))

    def tidy(self) -> None:
        self._host = {k: v for k, v in self._host.items() if not v[0].expired()}

    @contextmanager
    def importing(self) -> Iterator[None]:
        with _Everything(self):
            yield

    def storages(self, blobs: Sequence[bytearray]) -> list[torch.UntypedStorage]:
        return [self._show(storage_of(b)) for b in blobs]

    def over(self, packed: Mapping[str, Any], storages: Sequence[torch.UntypedStorage]) -> Call:
        host = [self._backing(s) for s in storages]
        call = over(packed, host)
        shown = {h._cdata: s for h, s in zip(host, storages, strict=True)}
        return Call(tuple(self._shown(a, shown) for a in call.args),
                    {k: self._shown(v, shown) for k, v in call.kwargs.items()})  # fmt: skip

    def _shown(self, value: Any, storages: Mapping[int, torch.UntypedStorage]) -> Any:
        """An argument of a call on the host as it is on the device."""
        if isinstance(value, torch.Tensor):
            return self.show(value, storages[value.untyped_storage()._cdata])
        if isinstance(value, torch.device):
            return torch.device(self.device)
        return _each(lambda v: self._shown(v, storages), value)

    def refill(self, storages: Sequence[torch.UntypedStorage], blobs: Sequence[bytearray]) -> None:
        tensors.refill([self._backing(s) for s in storages], blobs)

    def poison(self, storage: torch.UntypedStorage, dtype: torch.dtype, start: int = 0) -> None:
        if not self._read and storage.nbytes() > SMALL_BYTES:
            return
        super().poison(self._backing(storage) if self._is_shown(storage) else storage, dtype, start)

    def first(self, tensor: torch.Tensor) -> Any:
        return super().first(self.host(tensor) if self._is_shown(tensor.untyped_storage()) else tensor)

    def show(self, host: torch.Tensor, storage: torch.UntypedStorage | None = None) -> torch.Tensor:
        """A tensor of the device over a host's memory, of which `storage` may already be shown."""
        storage = self._show(host.untyped_storage()) if storage is None else storage
        if self.device == "cpu":
            return View.of(host).on(storage)
        # Not as `View.on` does it: an operator that guards its device makes CUDA take a context.
        geometry = {
            "size": tuple(host.shape), "stride": tuple(host.stride()), "storage_offset": host.storage_offset(),
            "dtype": host.dtype, "device": storage.device,
        }  # fmt: skip
        made: torch.Tensor = _BUILD._construct_CUDA_Tensor_From_Storage_And_Metadata(geometry, storage)
        made = torch._conj(made) if host.is_conj() else made
        return torch._neg_view(made) if host.is_neg() else made

    def host(self, tensor: torch.Tensor) -> torch.Tensor:
        """Inverse of `show`: a plain tensor on the host over the same memory.

        Raises:
            RuntimeError: its memory is not one that was shown here.
        """
        return View.of(tensor).on(self._backing(tensor.untyped_storage()))

    def run(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        given = _Given(grows=func._schema.name.startswith("aten::resize"))
        on_host = [self._down(a, given) for a in args], {k: self._down(v, given) for k, v in kwargs.items()}
        where = given.named[0] if given.named else _like(func, args) or (self.device if given.pairs else "")
        held = [host.untyped_storage().nbytes() for host, _ in given.pairs]
        out = func(*on_host[0], **on_host[1])
        for (host, shown), nbytes in zip(given.pairs, held, strict=True):
            self._follow(host, shown, nbytes)
        return self._up(out, given.pairs, where == self.device)

    def _down(self, value: Any, given: _Given) -> Any:
        """An argument as it is on the host."""
        if isinstance(value, torch.Tensor) and self._is_shown(value.untyped_storage()):
            if given.grows:
                self._make_resizable(value.untyped_storage())
            given.pairs.append((self.host(value), value))
            return given.pairs[-1][0]
        if isinstance(value, torch.device):
            given.named.append(value.type)
            return torch.device("cpu") if value.type == self.device else value
        if isinstance(value, torch.Generator):
            return torch.Generator() if value.device.type == self.device else value
        return _each(lambda v: self._down(v, given), value)

    def _up(self, out: Any, seen: Sequence[tuple[torch.Tensor, torch.Tensor]], here: bool) -> Any:
        """Results as the submission shall see them: what it gave, views of that, or fresh tensors."""
        if not isinstance(out, torch.Tensor):
            return _each(lambda v: self._up(v, seen, here), out)
        for host, shown in seen:
            if out is host:
                return shown
        for host, shown in seen:
            if out.untyped_storage()._cdata == host.untyped_storage()._cdata:
                return self.show(out, shown.untyped_storage())
        return self.show(out) if here else out

    def _follow(self, host: torch.Tensor, shown: torch.Tensor, held: int) -> None:
        """Give a tensor the geometry that an operator has given its counterpart in place, and the memory if that grew."""
        geometry = host.storage_offset(), tuple(host.shape), host.stride()
        if host.untyped_storage().nbytes() != held:
            shown.set_(self._show(host.untyped_storage()), *geometry)
        elif geometry != (shown.storage_offset(), tuple(shown.shape), shown.stride()):
            shown.as_strided_(geometry[1], geometry[2], geometry[0])

    def _make_resizable(self, storage: torch.UntypedStorage) -> None:
        host = self._backing(storage)
        if not host.resizable():
            self._host[storage._cdata] = (StorageWeakRef(storage), host.clone())

    def _is_shown(self, storage: torch.UntypedStorage) -> bool:
        if storage.device.type != self.device:
            return False
        return self.device != "cpu" or storage._cdata in self._host

    def _backing(self, storage: torch.UntypedStorage) -> torch.UntypedStorage:
        known = self._host.get(storage._cdata)
        if known is None or known[0].expired():
            raise RuntimeError("a tensor of the device was made in a way that recording does not know")
        return known[1]

    def _show(self, host: torch.UntypedStorage) -> torch.UntypedStorage:
        where = torch.device(self.device, 0) if self.device == "cuda" else torch.device(self.device)
        made: torch.UntypedStorage = _BUILD._construct_storage_from_data_pointer(host.data_ptr(), where, host.nbytes())
        self._host[made._cdata] = (StorageWeakRef(made), host)
        return made

    def _made_on_host(self, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """`torch.tensor` and its like, which bring numbers to a GPU where no dispatch mode can see it."""

        def made(*args: Any, **kwargs: Any) -> torch.Tensor:
            device = kwargs.get("device")
            first = args[0] if args else None
            if device is None and original.__name__ == "new_tensor" and isinstance(first, torch.Tensor):
                device = first.device
            data = args[1] if original.__name__ == "new_tensor" and len(args) > 1 else first
            if device is None or isinstance(data, torch.Tensor) or torch.device(device).type != self.device:
                return original(*args, **kwargs)
            # Only where it lies differs; the audit sees the same `lift_fresh` of a tensor of the device.
            with torch._C._DisableTorchDispatch():
                if original.__name__ == "new_tensor":
                    args = (self.host(args[0]), *args[1:])
                host = original(*args, **{**kwargs, "device": torch.device("cpu")})
            lifted: torch.Tensor = torch.ops.aten.lift_fresh.default(self.show(host))
            return lifted

        made.__name__ = original.__name__
        return made


_BUILD: Any = torch._C
_NEEDS = ("_construct_storage_from_data_pointer", "_construct_CUDA_Tensor_From_Storage_And_Metadata")


class _Everything(TorchDispatchMode):
    """Carries out every operator where the memory is."""

    def __init__(self, memory: DeviceMemory) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._memory = memory

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return self._memory.run(func, args, kwargs or {})


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    """The members of a list or a tuple, changed; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(change(v) for v in value)
    return value


def _like(func: Any, args: Sequence[Any]) -> str:
    """The device of the tensor that a result shall be like, where an operator takes that from its second argument."""
    name = func._schema.name.partition("::")[2]
    if (name, func._overloadname) == ("to", "other") or name == "type_as":
        return str(args[1].device.type)
    return ""


def _only_device(original: Callable[[int], int]) -> Callable[[int], int]:
    """A switch between GPUs where there is one: to itself, which would make CUDA take a context."""

    def exchange(device: int) -> int:
        return original(device) if device > 0 else min(device, 0)

    return exchange
