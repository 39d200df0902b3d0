"""Which platform a machine has, found without starting a driver, importing torch or running a vendor's program.

Device files say what hardware is there, torch's build and its plug-ins what can be used. Only where both leave more than
one, the names of the devices are asked of torch, in a process of its own. What is still unclear is an error that asks for
`--platform`: a wrong guess would cost a run. Not covered: whether the driver works; `kgb doctor` tries it.
"""

from __future__ import annotations

import ast
import importlib.machinery
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgb_gym.platforms.declaration import HIDING, Platform

ASK_S = 120.0
"""Wall seconds for torch to name its devices: a cold start of torch and a driver."""

_ASK = """
import json, sys, torch
out = {}
for kind in sys.argv[1:]:
    module = getattr(torch, kind, None)
    try:
        if module is not None and module.is_available():
            out[kind] = [module.get_device_name(i) for i in range(module.device_count())]
    except Exception as error:
        print(f"{kind}: {type(error).__name__}: {error}", file=sys.stderr)
print(json.dumps(out))
"""


class Ambiguous(ValueError):
    """More than one platform fits this machine."""


@dataclass(frozen=True)
class Machine:
    """What detection looks at. The defaults are this machine; tests put stand-ins in their place."""

    root: Path = Path("/")
    environment: Mapping[str, str] | None = None
    """None: this process's own."""
    packages: Sequence[str] | None = None
    """Where modules are looked for; None: `sys.path`."""
    programs: str | None = None
    """Where vendors' programs are looked for, as in `PATH`; None: the environment's."""

    @property
    def env(self) -> Mapping[str, str]:
        return os.environ if self.environment is None else self.environment

    def has(self, glob: str) -> bool:
        """Whether a file or folder of that pattern is there."""
        return any(self.root.glob(glob))

    def module(self, name: str) -> str | None:
        """The file of a module, found but not imported."""
        path = None if self.packages is None else list(self.packages)
        try:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
        except (ImportError, ValueError, OSError):
            return None
        return spec.origin if spec is not None else None

    def program(self, name: str) -> bool:
        """Whether a program is there."""
        return shutil.which(name, path=self.programs or self.env.get("PATH")) is not None

    def torch_build(self) -> dict[str, str]:
        """What torch is built for, as its `version.py` says: such as `{"cuda": "13.0"}`; empty for a CPU build."""
        origin = self.module("torch")
        if origin is None:
            return {}
        try:
            tree = ast.parse(Path(origin).with_name("version.py").read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            return {}
        found = {}
        for node in tree.body:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)):
                continue
            target, value = node.targets[0] if isinstance(node, ast.Assign) else node.target, node.value
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[target.id] = value.value
        return {k: v for k, v in found.items() if k not in {"__version__", "git_version"}}

    def device_names(self, kinds: Sequence[str]) -> dict[str, list[str]]:
        """What torch calls the devices of each kind, asked in a process of its own; a kind whose driver fails is left
        out."""
        env = dict(self.env)
        if self.packages is not None:
            env["PYTHONPATH"] = os.pathsep.join(self.packages)
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-c", _ASK, *kinds], env=env, capture_output=True, text=True, timeout=ASK_S,
                check=True, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            answer = json.loads(done.stdout.strip().splitlines()[-1])
        except (OSError, subprocess.SubprocessError, ValueError, IndexError):
            return {}
        return {str(k): [str(n) for n in v] for k, v in answer.items()}


@dataclass(frozen=True)
class Evidence:
    """What speaks for one platform on a machine."""

    platform: str
    nodes: bool
    """Its device files are there."""
    software: bool
    """This torch is built for it, or has the plug-in."""
    tools: tuple[str, ...]
    """Its vendor's programs and folders that are there. They decide last, and prove nothing alone."""
    hidden: str = ""
    """The environment variable that hides every device."""

    @property
    def text(self) -> str:
        """One line for people."""
        parts = [
            "device files" if self.nodes else "no device files",
            "a torch that fits" if self.software else "no torch for it",
            *(self.tools or ()),
        ]
        return ", ".join([*parts, *([f"hidden by {self.hidden}"] if self.hidden else [])])


def evidence(platform: Platform, machine: Machine) -> Evidence:
    """What speaks for a platform on a machine."""
    signs = platform.signs
    build = machine.torch_build()
    hidden = next((v for v in platform.visible if machine.env.get(v, "0").strip() in HIDING), "")
    return Evidence(
        platform.name,
        bool(signs.nodes) and all(machine.has(g) for g in signs.nodes),
        any(build.get(name) for name in signs.torch) or any(machine.module(m) for m in signs.modules),
        tuple(t for t in signs.tools if machine.program(t)) + tuple(p for p in signs.paths if machine.has(p)),
        hidden,
    )


def candidates(platforms: Sequence[Platform], machine: Machine) -> list[Platform]:
    """The platforms that the machine may have, narrowed as far as can be without asking torch."""
    seen = {p.name: evidence(p, machine) for p in platforms if p.signs.nodes}
    fits = [p for p in platforms if p.name in seen and seen[p.name].nodes and not seen[p.name].hidden]
    fits = [p for p in fits if seen[p.name].software or not p.signs.needs_software]
    fits = [p for p in fits if seen[p.name].software] or fits
    # The files of a relative may be a subset of one's own: more of them is the better match.
    return [p for p in fits if not any(set(p.signs.nodes) < set(o.signs.nodes) for o in fits)]


def detect(platforms: Sequence[Platform], fallback: Platform, machine: Machine | None = None) -> Platform:
    """The machine's platform.

    Args:
        platforms: all that may be meant.
        fallback: where no accelerator is seen.
        machine: this one by default.

    Raises:
        Ambiguous: more than one fits.
    """
    machine = machine or Machine()
    fits = candidates(platforms, machine)
    if not fits:
        return fallback
    if len(fits) == 1:
        return fits[0]
    names = machine.device_names(sorted({p.device for p in fits}))
    named = [p for p in fits if any(re.search(p.signs.names, n, re.IGNORECASE) for n in names.get(p.device, ()))]
    if not named and any(names.values()):
        # Devices that work, under names that nobody has told us: then the one vendor whose software is there.
        named = [p for p in fits if evidence(p, machine).tools]
    if len(named) == 1:
        return named[0]
    told = "; ".join(f"{p.name}: {evidence(p, machine).text}" for p in (named or fits))
    seen = ", ".join(sorted({n for found in names.values() for n in found}))
    raise Ambiguous(
        f"this machine may be {' or '.join(p.name for p in (named or fits))} ({told}"
        f"{f'; torch names {seen}' if seen else ''}): say which with --platform, or set KGB_PLATFORM"
    )
