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
    """Compile it for sm_90, with no GPU, into a cache folder of its own."""
    import os

    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    before = os.environ.get("TRITON_CACHE_DIR")
    os.environ["TRITON_CACHE_DIR"] = folder
    try:
        signature = {"src": "*fp32", "dst": "*fp32", "n": "i32", "BLOCK": "constexpr"}
        source = ASTSource(fn=_double, signature=signature, constexprs={(3,): 16}, attrs={})
        triton.compile(source, target=GPUTarget("cuda", 90, 32))
    finally:
        if before is None:
            os.environ.pop("TRITON_CACHE_DIR", None)
        else:
            os.environ["TRITON_CACHE_DIR"] = before
