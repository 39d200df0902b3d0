"""What a GPU says of itself through NVIDIA's management library: name, memory, clocks, temperature, throttling.

It is read, never set, and makes no CUDA context, so the judge may ask in the midst of a timing. Where there is no such
library there are no devices. Not covered: clocks of MIG slices, which the library doesn't tell apart.
"""

from __future__ import annotations

import ctypes
import statistics
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from kgb_gym.verdict import Clocks

THROTTLING = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x20: "thermal, software", 0x40: "thermal, hardware",
    0x80: "power brake",
}  # fmt: skip
"""Bits of `nvmlClocksEventReasons` that make a kernel slower than the clocks asked for; an idle GPU is none of them."""


@dataclass(frozen=True)
class Device:
    """One GPU."""

    index: int
    """As the management library counts: by bus address."""
    uuid: str
    name: str = ""
    memory_bytes: int = 0
    free_bytes: int = 0


@dataclass(frozen=True)
class Reading:
    """The state of one GPU at one moment."""

    sm_mhz: int
    memory_mhz: int
    celsius: int
    throttled: tuple[str, ...]


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Gauge:
    """The management library of this machine."""

    def __init__(self, library: str = "libnvidia-ml.so.1") -> None:
        self._nvml: Any = None
        try:
            nvml = ctypes.CDLL(library)
            if nvml.nvmlInit_v2() == 0:
                self._nvml = nvml
        except (OSError, AttributeError):
            pass

    def devices(self) -> tuple[Device, ...]:
        """The GPUs that this process may see, whatever `CUDA_VISIBLE_DEVICES` says."""
        if self._nvml is None:
            return ()
        count = ctypes.c_uint(0)
        if self._nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return ()
        found = []
        for index in range(count.value):
            handle = ctypes.c_void_p()
            if self._nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)):
                continue
            memory = _Memory()
            self._nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
            uuid, name = (self._text(f, handle) for f in ("nvmlDeviceGetUUID", "nvmlDeviceGetName"))
            found.append(Device(index, uuid, name, memory.total, memory.free))
        return tuple(found)

    def read(self, uuid: str) -> Reading | None:
        """The GPU's state now; None where it doesn't answer."""
        if self._nvml is None:
            return None
        handle = ctypes.c_void_p()
        if self._nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle)):
            return None
        values = []
        for function, kind in (("ClockInfo", 1), ("ClockInfo", 2), ("Temperature", 0)):
            value = ctypes.c_uint(0)
            if getattr(self._nvml, f"nvmlDeviceGet{function}")(handle, kind, ctypes.byref(value)):
                return None
            values.append(value.value)
        reasons = ctypes.c_ulonglong(0)
        self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(reasons))
        told = tuple(text for bit, text in THROTTLING.items() if reasons.value & bit)
        sm, memory, celsius = values
        return Reading(sm, memory, celsius, told)

    def _text(self, function: str, handle: ctypes.c_void_p) -> str:
        text = ctypes.create_string_buffer(128)
        return "" if getattr(self._nvml, function)(handle, text, 128) else text.value.decode(errors="replace")


class Watch:
    """Reads a GPU every so often while a block runs; `summary` says what was seen.

    Args:
        gauge: where to read.
        uuid: which GPU.
        every_s: seconds between two readings.
    """

    def __init__(self, gauge: Gauge, uuid: str, every_s: float = 0.1) -> None:
        self._gauge, self._uuid, self._every = gauge, uuid, every_s
        self.readings: list[Reading] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while (reading := self._gauge.read(self._uuid)) is not None:
            self.readings.append(reading)
            if self._done.wait(self._every):
                return


def summary(uuid: str, readings: Sequence[Reading]) -> Clocks | None:
    """What was seen of a GPU, in one value; None without readings."""
    if not readings:
        return None
    return Clocks(
        uuid,
        _spread([r.sm_mhz for r in readings]),
        _spread([r.memory_mhz for r in readings]),
        max(r.celsius for r in readings),
        len(readings),
        tuple(sorted({reason for r in readings for reason in r.throttled})),
        sum(bool(r.throttled) for r in readings) / len(readings),
    )


def _spread(values: Sequence[int]) -> tuple[int, ...]:
    return min(values), int(statistics.median(values)), max(values)
