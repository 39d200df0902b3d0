"""Every platform is recognised by stand-ins of its device files, torch and vendor programs; nothing else is guessed."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from kgb_gym import platforms
from kgb_gym.platforms import PLATFORMS, Ambiguous, Machine, detection

TORCH = """
from . import version
class _Device:
    def __init__(self, names): self.names = names
    def is_available(self): return bool(self.names)
    def device_count(self): return len(self.names)
    def get_device_name(self, index): return self.names[index]
"""


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., Machine]:
    """`machine(nodes=…, build=…, modules=…, tools=…, paths=…, names=…, env=…)`: a machine made of stand-ins."""

    def make(
        *, nodes: Sequence[str] = (), build: Mapping[str, str] | None = None, modules: Sequence[str] = (),
        tools: Sequence[str] = (), names: Mapping[str, Sequence[str]] | None = None, env: Mapping[str, str] | None = None,
    ) -> Machine:  # fmt: skip
        root, site, programs = (tmp_path / part for part in ("root", "site", "bin"))
        for folder in (root, site / "torch", programs):
            folder.mkdir(parents=True, exist_ok=True)
        for node in nodes:
            (root / node).parent.mkdir(parents=True, exist_ok=True)
            (root / node).touch()
        versions = {"cuda": None, "hip": None, "xpu": None, **(build or {})}
        lines = [f"{k}: str | None = {v!r}" for k, v in versions.items()]
        (site / "torch" / "version.py").write_text("\n".join(["__version__ = '2.13.0'", *lines]))
        devices = [f"{kind} = _Device({list(found)!r})" for kind, found in (names or {}).items()]
        (site / "torch" / "__init__.py").write_text("\n".join([TORCH, *devices]))
        for module in modules:
            (site / f"{module}.py").write_text("raise SystemExit('a plug-in must be found, not imported')")
        for tool in tools:
            (programs / tool).write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
            (programs / tool).chmod(0o755)
        return Machine(root, dict(env or {}), [str(site)], str(programs))

    return make


def here(name: str, **more: object) -> dict[str, object]:
    """What a machine with that platform has, made from the declaration's own signs and real names of files."""
    signs = PLATFORMS[name].signs
    nodes = [g.replace("[0-9]*", "0").replace("mtgpu*", "mtgpu.0").replace("*", "128") for g in signs.nodes]
    modules = signs.modules[:1] if not signs.torch else ()
    return {
        "nodes": nodes,
        "build": {n: "1" for n in signs.torch[:1]},
        "modules": modules,
        "tools": signs.tools,
        **more,
    }


OTHERS = sorted(n for n, p in PLATFORMS.items() if p.signs.nodes)
"""All but the CPU and the emulations."""


def test_the_nine_are_declared():
    assert {"nvidia", "amd", "intel", "ascend", "musa", "hygon", "iluvatar", "metax", "cpu"} <= set(PLATFORMS)


@pytest.mark.parametrize("name", OTHERS)
def test_each_is_recognised_and_no_program_is_run(name, machine, tmp_path):
    found = machine(**here(name))
    assert platforms.detect(found).name == name
    assert platforms.offered(PLATFORMS[name], found)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", OTHERS)
def test_hidden_devices_and_missing_ones_are_the_cpu(name, machine):
    hidden = machine(**here(name, env={PLATFORMS[name].visible[0]: "-1"}))
    assert platforms.detect(hidden).name == "cpu"
    assert not platforms.offered(PLATFORMS[name], hidden)


@pytest.mark.parametrize("name", OTHERS)
def test_software_without_a_device_is_the_cpu(name, machine):
    assert platforms.detect(machine(**here(name, nodes=()))).name == "cpu"


def test_a_laptop_with_an_intel_gpu_and_a_plain_torch_is_the_cpu(machine):
    assert platforms.detect(machine(nodes=["dev/dri/renderD128"], tools=["xpu-smi"])).name == "cpu"


def test_no_torch_and_no_device_is_the_cpu(tmp_path):
    assert platforms.detect(Machine(tmp_path, {}, [str(tmp_path)], "")).name == "cpu"


def test_torchs_build_decides_between_two_vendors(machine):
    nodes = [*here("nvidia")["nodes"], *here("amd")["nodes"]]
    assert platforms.detect(machine(nodes=nodes, build={"hip": "6.4"})).name == "amd"


def test_relatives_are_told_apart_by_what_only_one_has(machine):
    # Hygon's files include AMD's, and both are ROCm to torch.
    assert platforms.detect(machine(**here("hygon"))).name == "hygon"


def test_a_desktop_with_an_nvidia_card_beside_an_intel_one(machine):
    nodes = [*here("nvidia")["nodes"], *here("intel")["nodes"]]
    assert platforms.detect(machine(nodes=nodes, build={"cuda": "13.0"})).name == "nvidia"


def test_where_files_and_torch_leave_two_the_devices_are_asked_by_name(machine):
    nodes = [*here("nvidia")["nodes"], *here("metax")["nodes"]]
    found = machine(nodes=nodes, build={"cuda": "12.6"}, names={"cuda": ["MetaX C500"]})
    assert platforms.detect(found).name == "metax"
    assert "torch" not in {m for m in sys.modules if (sys.modules[m].__dict__ or {}).get("_Device")}


def test_a_device_by_a_name_unheard_of_belongs_to_the_only_vendor_whose_software_is_there(machine, tmp_path):
    nodes = [*here("nvidia")["nodes"], *here("metax")["nodes"]]
    found = machine(nodes=nodes, build={"cuda": "12.6"}, names={"cuda": ["Unheard-of 9000"]}, tools=["mx-smi"])
    assert platforms.detect(found).name == "metax"
    assert not (tmp_path / "ran").exists()


def test_software_alone_decides_nothing_where_no_device_answers(machine):
    nodes = [*here("nvidia")["nodes"], *here("metax")["nodes"]]
    with pytest.raises(Ambiguous):
        platforms.detect(machine(nodes=nodes, build={"cuda": "12.6"}, tools=["mx-smi"]))


@pytest.mark.parametrize("names", [{"cuda": ["Unheard-of 9000"]}, {"cuda": []}, {}])
def test_what_stays_unclear_asks_for_the_platform(names, machine):
    nodes = [*here("nvidia")["nodes"], *here("metax")["nodes"]]
    found = machine(nodes=nodes, build={"cuda": "12.6"}, names=names)
    with pytest.raises(Ambiguous, match=r"metax or nvidia.*--platform") as caught:
        platforms.detect(found)
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


def test_a_torch_whose_driver_is_broken_names_nothing(machine):
    nodes = [*here("nvidia")["nodes"], *here("metax")["nodes"]]
    found = machine(nodes=nodes, build={"cuda": "12.6"})
    Path(str(found.packages[0]), "torch", "__init__.py").write_text("raise OSError('libcuda.so.1: no such file')")
    assert found.device_names(["cuda"]) == {}
    with pytest.raises(Ambiguous):
        platforms.detect(found)


def test_the_environment_decides(machine):
    assert platforms.detect(machine(**here("nvidia", env={"KGB_PLATFORM": "cpu"}))).name == "cpu"
    with pytest.raises(ValueError, match="unknown platform 'tpu'"):
        platforms.detect(machine(env={"KGB_PLATFORM": "tpu"}))


def test_this_process_stays_clean_of_torch(tmp_path):
    import subprocess

    text = "import sys; from kgb_gym import platforms; platforms.detect(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=False).returncode == 0


def test_a_broken_version_file_is_no_build(machine):
    found = machine(build={"cuda": "13.0"})
    Path(str(found.packages[0]), "torch", "version.py").write_text("cuda = (")
    assert found.torch_build() == {}


def test_evidence_is_told_in_one_line(machine):
    seen = detection.evidence(PLATFORMS["ascend"], machine(**here("ascend", env={"ASCEND_RT_VISIBLE_DEVICES": ""})))
    assert seen.text == "device files, a torch that fits, npu-smi, hidden by ASCEND_RT_VISIBLE_DEVICES"
