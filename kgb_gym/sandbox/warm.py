"""A trivial kernel, launched or compiled once in each template so that its children find everything imported."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def _double(src, dst, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offsets < n
    value = tl.load(src + offsets, mask=keep, other=0.0)
    tl.store(dst + offsets, value + tl.sum(value, axis=0), mask=keep)


def interpret() -> None:
    """Launch it in the interpreter."""
    import torch

    source, target = torch.zeros(4), torch.zeros(4)
    _double[(1,)](source, target, 4, BLOCK=4)


def compile_once(folder: str) -> None:
    """Compile it for sm_90, with no GPU. `folder` is Triton's cache from now on, for what is built before a child's fences
    close: afterwards each child has a cache of its own."""
    import os

    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    os.environ["TRITON_CACHE_DIR"] = folder
    signature = {"src": "*fp32", "dst": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(fn=_double, signature=signature, constexprs={(3,): 16}, attrs={})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))


def driver() -> None:
    """Have Triton build and load its access to the device's driver, which it else does at a player's first launch.

    Needs the device's context; never in a template, whose children would inherit it.
    """
    import contextlib

    from triton.runtime import driver as access

    with contextlib.suppress(Exception):  # it is told where the first kernel is launched
        access.active.get_current_device()
