"""Which GPUs this process may use, and who holds them.

A GPU goes by its UUID: numbers change with `CUDA_VISIBLE_DEVICES`, and locks must mean the same card in every process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgb_gym.sandbox.leases import Holder, Leases
from kgb_gym.verification.gauge import Device, Gauge


@dataclass(frozen=True)
class Held:
    """One GPU and who holds it now."""

    device: Device
    holders: tuple[Holder, ...]


def visible(gauge: Gauge | None = None, environment: Mapping[str, str] | None = None) -> tuple[Device, ...]:
    """The GPUs that `CUDA_VISIBLE_DEVICES` leaves, in its order, each by its UUID.

    Args:
        gauge: of the management library; default: this machine's.
        environment: default: this process's.

    Returns:
        One made-up device without a UUID where nothing is known of the GPUs, so that there always is one to hold.
    """
    environment = os.environ if environment is None else environment
    known = (gauge or Gauge()).devices()
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return known or _guessed()
    chosen: list[Device] = []
    for entry in (e.strip() for e in wanted.split(",")):
        if entry.startswith("MIG-"):
            chosen.append(Device(len(chosen), entry))
            continue
        match = [d for d in known if entry == str(d.index) or (entry.startswith("GPU-") and d.uuid.startswith(entry))]
        if not match:
            break  # CUDA, too, ignores what follows an entry that it doesn't know
        chosen.append(match[0])
    return tuple(chosen) or _guessed()


def held(gauge: Gauge | None = None, leases: Leases | None = None) -> tuple[Held, ...]:
    """Every GPU of this process with its holders, for `kgb doctor --devices`; none where there is no GPU."""
    devices = visible(gauge)
    if not devices[0].uuid and not _nodes():
        return ()
    leases = leases or Leases()
    return tuple(Held(d, tuple(leases.holders(lock_name(d)))) for d in devices)


def lock_name(device: Device) -> str:
    """What a device is called among the leases."""
    return device.uuid or f"gpu-{device.index}"


def _guessed() -> tuple[Device, ...]:
    nodes = _nodes()
    return (Device(0, "", f"unknown, at {nodes[0]}" if nodes else "unknown"),)


def _nodes() -> list[Path]:
    return sorted(Path("/dev").glob("nvidia[0-9]*"))
