"""Emulated platforms: the restrictions that the paper's Appendix K found on other chips, enforced where none is at hand.

An emulation runs on the interpreter (`emu-a`) or, by the same checks, on an NVIDIA GPU (`emu-a@nvidia`). It refuses what
such a backend refuses, in words of that style. It copies no vendor's product, and its letter means none of the paper's
anonymous platforms. Not reproduced: speed above all; also rounding, memory models, scheduling, and bugs that only real
compilers have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kgb_gym.platforms.declaration import Bounds, Platform

BASES = ("cpu", "nvidia")
"""Where an emulation can run."""


@dataclass(frozen=True)
class Emulation:
    """What an emulated backend refuses. The defaults refuse nothing."""

    no_libdevice: bool = False
    """External functions of CUDA's libdevice (`libdevice.tanh`, `acosh`, `pow`, `isinf`, …) are undefined symbols."""
    missing: tuple[str, ...] = ()
    """Triton's own functions that the backend lacks, by the last part of their name: `erf`, `rsqrt`, `div_rn`."""
    strict_store: bool = False
    """`tl.store` takes a value of exactly the pointer's type: no conversion, no scalar through a block of pointers."""
    same_int_loops: bool = False
    """Bounds and step of a loop are of one integer type."""
    failing: tuple[str, ...] = ()
    """Operations on which the backend's pass pipeline fails: `scan`, `atomic`, `reduce of several values` (an argmax), `maxnum of
    blocks` (`tl.maximum`)."""
    address_bytes: int | None = None
    """Bytes that a launch's tensor may span: what a short pointer reaches, scaled down so that small cases meet it."""
    no_bfloat16: bool = False
    """bfloat16 can be loaded, stored and converted, not computed with."""
    dense_only: bool = False
    """Tensors given to a launch have neither holes nor overlaps."""
    seconds_per_operation: float = 0.0
    """What the slow compiler takes for one operation of Triton's intermediate code. Counted, never waited for."""
    compile_limit_s: float = 60.0
    """The slow compiler's time limit for one specialisation, in emulated seconds."""
    hang_share: float = 0.0
    """Share of kernels on which the compiler hangs; drawn by the verification's seed and the source."""

    def manual(self, bounds: Bounds) -> Iterator[str]:
        """What a vendor's manual would say of it, a sentence each."""
        if self.no_libdevice:
            yield (
                "There is no libdevice (`tanh`, `acosh`, `asin`, `pow`, `isinf`, …): write such functions from `tl.exp`, "
                "`tl.log`, `tl.sqrt` and comparisons."
            )
        if self.missing:
            yield f"Not implemented: {', '.join(f'`tl.{name}`' for name in self.missing)}."
        if self.strict_store:
            yield (
                "`tl.store` converts nothing: the value must have the pointer's element type "
                "(`value.to(pointer.dtype.element_ty)`) and the pointer's shape (`tl.full`, not a scalar)."
            )
        if self.same_int_loops:
            yield "Bounds and step of a loop must be of one integer type: cast int64 bounds to int32 before `range`."
        if self.failing:
            yield f"The compiler fails on: {', '.join(self.failing)}."
        if self.address_bytes is not None:
            yield (
                f"Pointers are short: a tensor given to a kernel may span {self.address_bytes} bytes at most. Launch a "
                "larger one slice by slice."
            )
        if self.no_bfloat16:
            yield "bfloat16 can be loaded, stored and converted; convert it to float32 before any arithmetic."
        if bounds.block is not None:
            yield f"A block may have {bounds.block} elements at most."
        if bounds.shared_bytes is not None:
            yield f"A program has {bounds.shared_bytes} bytes of shared memory."
        if bounds.programs is not None:
            yield f"A launch may have {bounds.programs} programs at most."
        if self.dense_only:
            yield (
                "Tensors given to a kernel must be dense, without holes or overlaps: copy others with `.contiguous()` "
                "first, and results back with `copy_`."
            )
        if self.seconds_per_operation:
            most = int(self.compile_limit_s / self.seconds_per_operation)
            yield (
                f"The compiler is slow and gives up after {self.compile_limit_s:g} s, which is about {most} operations of "
                "Triton's intermediate code: unroll little."
            )
        if self.hang_share:
            yield "The compiler hangs now and then. Sending a changed kernel again may be all that is needed."


def emulated(letter: str, base: Platform, emulation: Emulation, bounds: Bounds = Bounds()) -> Platform:  # noqa: B008  # frozen
    """The emulated platform `emu-<letter>` on a base."""
    name = f"emu-{letter}" if base.name == "cpu" else f"emu-{letter}@{base.name}"
    where = "Triton's interpreter" if base.interpreted else "the NVIDIA GPU at hand"
    head = (
        f"This platform is an emulation: kernels run on {where}, and what a backend with the limits below refuses is "
        "refused. Speed is not measured."
    )
    return replace(
        base,
        name=name,
        timed=False,
        timer="",
        layers=tuple(layer for layer in base.layers if layer != "profile"),
        noun="accelerator",
        notes=(head, *emulation.manual(bounds), *(() if base.interpreted else ("Tensors are on `cuda`.",))),
        bounds=bounds,
        blas=None,
        sources=("aten",),
        emulation=emulation,
    )
