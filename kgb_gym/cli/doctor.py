"""`kgb doctor`: what this machine offers, each thing tried rather than guessed."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kgb_gym.cli.output import console, print_json, reserved_stdout

if TYPE_CHECKING:
    from kgb_gym.platforms import Platform

LOW_MEMORY = 4 << 30
LOW_DISK = 1 << 30


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    name: str
    ok: bool
    detail: str
    needed: bool = True
    """Whether nothing works without it; else it only weakens a fence."""


def doctor(as_json: bool) -> int:
    """Print what was found; exit code 1 where something needed is missing."""
    if as_json:
        with reserved_stdout() as out:
            checks, facts = _examine()
            print_json(_plain(checks, facts), out)
    else:
        checks, facts = _examine()
        _print(checks, facts)
    return 0 if all(c.ok for c in checks if c.needed) else 1


def devices(as_json: bool) -> int:
    """Print the GPUs, their state, and the processes that hold a lease; exit code 1 without a GPU."""
    from kgb_gym.sandbox.devices import held
    from kgb_gym.verification.gauge import Gauge

    gauge = Gauge()
    rows = []
    for each in held(gauge):
        state = gauge.read(each.device.uuid)
        rows.append(
            {**asdict(each.device), "state": asdict(state) if state else None,
             "holders": [asdict(h) for h in each.holders]}
        )  # fmt: skip
    if as_json:
        with reserved_stdout() as out:
            print_json(rows, out)
        return 0 if rows else 1
    out_ = console()
    if not rows:
        out_.print("no GPU on this machine: kernels run in Triton's interpreter, and nothing needs a lease")
    for row in rows:
        _print_device(row)
    return 0 if rows else 1


def _print_device(row: dict[str, Any]) -> None:
    out, state = console(), row["state"]
    out.print(f"[bold]{row['index']}[/] {row['name']} {row['uuid']}, {row['free_bytes'] / 2**30:.1f} of "
              f"{row['memory_bytes'] / 2**30:.1f} GiB free")  # fmt: skip
    if state:
        slowed = f", [yellow]throttled: {', '.join(state['throttled'])}[/]" if state["throttled"] else ""
        out.print(f"  {state['sm_mhz']} MHz, memory {state['memory_mhz']} MHz, {state['celsius']} °C{slowed}")
    for holder in row["holders"]:
        since = time.strftime("%H:%M:%S", time.localtime(holder["since"]))
        how = "alone, for timing" if holder["exclusive"] else "shared"
        out.print(f"  held {how} by process {holder['pid']} of {holder['user']} since {since}")
    if not row["holders"]:
        out.print("  [dim]held by nobody[/]")


def _examine() -> tuple[list[Check], dict[str, Any]]:
    from kgb_gym import platforms
    from kgb_gym.datasets import runfile
    from kgb_gym.sandbox import doctor as fences

    seen = [platforms.evidence(p) for p in platforms.PLATFORMS.values() if p.signs.nodes]
    try:
        place, unclear = platforms.detect(), ""
    except platforms.Ambiguous as error:
        place, unclear = platforms.PLATFORMS["cpu"], str(error)
    facts = {
        "platform": place.name,
        "suite": place.default_suite,
        "layers": list(place.layers),
        "detected": {e.platform: e.text for e in seen if e.nodes or e.software or e.tools},
        "platforms": {p.name: _about(p) for p in platforms.PLATFORMS.values()},
        "versions": runfile.versions(),
        "hardware": runfile.machine(),
    }
    checks = [
        Check("linux", sys.platform == "linux", sys.platform),
        Check("python", sys.version_info >= (3, 11), sys.version.split()[0]),
        *(Check(f.name, f.holds, f.detail, needed=False) for f in fences()),
        *_libraries(),
        *_room(),
    ]
    if unclear:
        checks.append(Check("platform", False, unclear))
    elif not place.interpreted:
        checks.append(_device(place))
    return checks, facts


def _about(platform: Platform) -> str:
    """What can be said of a platform in few words."""
    if platform.emulation is not None:
        return "emulated"
    return "tested" if platform.tested else "declared, run by nobody here yet"


def _libraries() -> list[Check]:
    found = []
    for name in ("torch", "triton", "gymnasium", "datasets"):
        try:
            module = __import__(name)
        except ImportError as error:
            found.append(Check(name, False, f"{error}: run `make install`"))
        else:
            found.append(Check(name, True, str(getattr(module, "__version__", "?"))))
    try:
        from kgb_gym.envs.tokens import count

        found.append(Check("token counting", count("kernel") > 0, "offline vocabulary"))
    except Exception as error:  # noqa: BLE001  # whatever breaks it is what is to be told
        found.append(Check("token counting", False, f"{type(error).__name__}: {error}"))
    return found


def _room() -> list[Check]:
    import tempfile

    import psutil

    memory = psutil.virtual_memory().available
    scratch = tempfile.gettempdir()
    disk = shutil.disk_usage(scratch).free
    return [
        Check("memory", memory >= LOW_MEMORY, f"{memory / 2**30:.1f} GiB available, 4 are enough", needed=False),
        Check("scratch space", disk >= LOW_DISK, f"{disk / 2**30:.1f} GiB free in the temporary folder", needed=False),
        Check("cores", True, str(len(os.sched_getaffinity(0))), needed=False),
    ]


def _device(platform: Platform) -> Check:
    """The devices by name, asked in a process of its own: a broken driver may not take this one along."""
    from kgb_gym.platforms import Machine

    names = Machine().device_names([platform.device]).get(platform.device, [])
    if not names:
        return Check("gpu", False, "its device files are there, but this torch can't use them: a CPU build, or a driver "
                     "that is broken?")  # fmt: skip
    return Check("gpu", True, ", ".join(names))


def _plain(checks: list[Check], facts: dict[str, Any]) -> dict[str, Any]:
    return {**facts, "ok": all(c.ok for c in checks if c.needed), "checks": [asdict(c) for c in checks]}


def _print(checks: list[Check], facts: dict[str, Any]) -> None:
    from rich.markup import escape

    out = console()
    out.print(f"[bold]platform[/] {facts['platform']}, suite {facts['suite']}, layers {', '.join(facts['layers'])}")
    for name, text in facts["detected"].items():
        out.print(f"[bold]{'seen':8}[/] {name}: [dim]{escape(text)}[/]")
    grouped: dict[str, list[str]] = {}
    for name, text in facts["platforms"].items():
        grouped.setdefault(text, []).append(name)
    for text, names in grouped.items():
        out.print(f"[bold]{'--platform':10}[/] {', '.join(names)} [dim]({text})[/]")
    hardware = facts["hardware"]
    out.print(
        f"[bold]machine[/]  {escape(str(hardware['cpu']))}, {hardware['cores']} cores, {hardware['architecture']}"
    )
    for check in checks:
        mark = "[green]✓[/]" if check.ok else "[red]✗[/]" if check.needed else "[yellow]![/]"
        out.print(f"{mark} {check.name:20} [dim]{escape(check.detail)}[/]")
    weak = [c.name for c in checks if not c.ok and not c.needed]
    if weak:
        out.print(f"[yellow]weaker here: {', '.join(weak)}. docs/trust.md says what that means.[/]")
