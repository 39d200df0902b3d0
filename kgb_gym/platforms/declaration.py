"""What a platform is: where kernels run, as data. One file a platform, each exporting one `PLATFORM`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgb_gym.platforms.emulation import Emulation

LAYERS = ("screen", "audit", "ghost", "play", "hidden", "contract", "state")
"""Trust layers that need no profiler, and so work on every platform; `profile` (the paper's L3) joins them on NVIDIA."""

HIDING = frozenset({"", "-1", "NoDevFiles"})
"""Values of a visible-devices variable that hide every device."""


@dataclass(frozen=True)
class Signs:
    """By what a machine with this platform is known (see `detection`). Nothing here starts a driver or a program."""

    nodes: tuple[str, ...] = ()
    """Globs of device files, relative to the root folder; one match of each is needed."""
    torch: tuple[str, ...] = ()
    """Names in `torch.version` of which one is set where torch is built for it: `cuda`, `hip`, `xpu`."""
    modules: tuple[str, ...] = ()
    """Plug-ins that bring the device to torch; one must be importable."""
    tools: tuple[str, ...] = ()
    """The vendor's own programs. They are looked for, never started."""
    paths: tuple[str, ...] = ()
    """Folders of the vendor's software, relative to the root folder."""
    names: str = ""
    """Regular expression for the names that torch gives these devices, whatever the case of letters."""
    needs_software: bool = True
    """Whether device files alone are too little: a laptop has an Intel GPU, and no torch for it."""


@dataclass(frozen=True)
class Bounds:
    """What one launch may ask for; None: Triton's own limit alone."""

    block: int | None = None
    """Elements of one block."""
    shared_bytes: int | None = None
    """Shared (local, on-chip) memory of one program, in bytes."""
    programs: int | None = None
    """Programs of one launch."""


@dataclass(frozen=True)
class Blas:
    """The vendor's counterpart of cuBLAS."""

    library: str
    """The shared library's name, such as `libhipblas.so`."""
    prefix: str
    """What stands for `cublas` in its names."""
    keeps_v2: bool = False
    """Whether names keep their `_v2`."""

    def routine(self, name: str) -> str:
        """The vendor's name of a cuBLAS routine: `cublasSgemm_v2` is `hipblasSgemm`.

        Raises:
            ValueError: that is no cuBLAS name.
        """
        if not name.startswith("cublas") or name == "cublas":
            raise ValueError(f"{name!r} is no name of a cuBLAS routine")
        stem = name.removeprefix("cublas")
        return self.prefix + (stem if self.keeps_v2 else stem.removesuffix("_v2"))


@dataclass(frozen=True)
class Platform:
    """One kind of device."""

    name: str
    device: str
    """Torch's device type: `cpu`, `cuda` (ROCm and CUDA-compatible builds use it too), `xpu`, `npu`, `musa`."""
    dispatch_key: str
    """The dispatcher key at which ATen submissions are mounted."""
    default_suite: str
    """`quick` where kernels are interpreted, `paper` where they are compiled."""
    timed: bool
    """Whether device time can be measured here."""
    interpreted: bool
    """Whether kernels run in Triton's interpreter."""
    layers: tuple[str, ...] = LAYERS
    """Trust layers that work here."""
    compile_targets: tuple[str, ...] = ("cuda:90",)
    """What every launched function is compiled for ahead of time where kernels are interpreted (see
    `verification.targets`); elsewhere the chips that `kgb compile` takes when none is named."""
    widen: Mapping[str, float] = field(default_factory=dict)
    """Factor on both gates' tolerances by dtype name; absent: 1. Only with a measurement that asks for it."""
    noun: str = "GPU"
    """What the prompt calls the hardware."""
    notes: tuple[str, ...] = ()
    """Device-specific constraints for the prompt."""
    visible: tuple[str, ...] = ()
    """Environment variables that choose the visible devices, the vendor's own first."""
    signs: Signs = field(default_factory=Signs)
    """How it is recognised."""
    unsupported: frozenset[str] = frozenset()
    """Names of dtypes that kernels can't use here; cases with them are left out, and the verdict says so."""
    bounds: Bounds = field(default_factory=Bounds)
    timer: str = ""
    """The module whose events measure device time: `torch.cuda`; empty: nothing is timed here yet."""
    imports: tuple[str, ...] = ()
    """Modules that a submission may import besides the usual ones, such as `torch_npu`."""
    initialise: tuple[str, ...] = ()
    """Lines at the head of a submission, as the vendor's manual wants them."""
    blas: Blas | None = None
    """The counterpart of cuBLAS, where there is one."""
    sources: tuple[str, ...] = ("aten",)
    """Sources of operators that are offered here."""
    emulation: Emulation | None = None
    """The restrictions that an emulated platform enforces; None: a real one."""

    @property
    def tested(self) -> bool:
        """Whether this project has run kernels there; the others are declared from their vendors' documentation."""
        return self.name in {"cpu", "nvidia"} or self.emulation is not None

    def refuses(self, source: str) -> str:
        """Why operators of a source are not offered here; empty if they are."""
        if source in self.sources:
            return ""
        if self.emulation is not None:
            why = "an emulation is about the multi-chip half of the benchmark, which has ATen operators alone"
        elif source == "vllm":
            why = "vLLM's operators are defined by its CUDA extension, which only NVIDIA has"
        elif self.blas is not None:
            why = (
                f"the paper compares cuBLAS operators with cuBLAS itself; calling {self.blas.library} instead is declared "
                "(`kgb_gym/platforms`) but tested by nobody yet"
            )
        else:
            why = "the paper compares cuBLAS operators with cuBLAS itself, which only NVIDIA has"
        return f"{why}: on {self.name} the ATen operators are offered (`--operators 'aten/*'`, `kgb/mc-v0`)"
