"""What a compiled kernel is made of: registers, spills, shared memory, instructions by kind.

For NVIDIA, registers and spills are what `ptxas -v` says (the one that Triton brings), and instructions are counted in
the PTX. For AMD all of it is read from the assembly and its metadata. Not covered: how often an instruction runs.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

KINDS = (
    "load",
    "store",
    "shared",
    "async copy",
    "atomic",
    "matrix",
    "barrier",
    "branch",
    "special",
    "convert",
    "other",
)
"""Kinds of instructions; `shared` is any access to shared memory, `special` exponentials, roots and quotients."""

_PTX = (
    ("shared", r"(ld|st)\S*\.shared|ldmatrix|stmatrix"),
    ("other", r"ld\.param|st\.param|mov|prefetch"),
    ("async copy", r"cp\."),
    ("load", r"ld|tcgen05\.ld"),
    ("store", r"st\.|tcgen05\.st"),
    ("atomic", r"atom|red\."),
    ("matrix", r"mma|wgmma\.mma|wmma\.mma|tcgen05\.mma"),
    ("barrier", r"bar|fence|membar|mbarrier|wgmma|tcgen05|griddepcontrol"),
    ("branch", r"bra|ret|call|exit|brx"),
    ("special", r"ex2|lg2|sin|cos|rcp|rsqrt|sqrt|tanh|div\."),
    ("convert", r"cvt"),
)
_GCN = (
    ("shared", r"ds_"),
    ("atomic", r"(global|flat|buffer)_atomic"),
    ("load", r"(global|flat|buffer|scratch|s)_load"),
    ("store", r"(global|flat|buffer|scratch)_store"),
    ("matrix", r"v_(mfma|smfmac|wmma|swmmac)"),
    ("barrier", r"s_(barrier|wait)"),
    ("branch", r"s_(branch|cbranch|endpgm|setpc|swappc|call)"),
    ("special", r"v_(exp|log|sin|cos|rcp|rsq|sqrt|div)_"),
    ("convert", r"v_cvt_"),
)
_PTX_LINE = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)[^;]*;", re.MULTILINE)
_GCN_LINE = re.compile(r"^\s+((?:s|v|ds|global|flat|buffer|scratch)_\w+)", re.MULTILINE)


def facts(assembly: str, *, ptxas: str = "", shared: int = 0) -> dict[str, Any]:
    """What one compiled kernel is made of, JSON-able.

    Args:
        assembly: PTX or AMD assembly.
        ptxas: what `ptxas -v` said; empty for AMD.
        shared: shared memory in bytes, as Triton's allocation counts it.

    Returns:
        `registers` and `spill_bytes` of a lane (None where they can't be told), `shared_bytes`, and `instructions` by
        kind.
    """
    amd = ".amdhsa" in assembly or "amdgcn" in assembly[:2000]
    if amd:
        registers, spilled = _last(r"\.vgpr_count:\s+(\d+)", assembly), _last(r"\.vgpr_spill_count:\s+(\d+)", assembly)
        spill = None if spilled is None else 4 * spilled
    else:
        registers, spill = _last(r"Used (\d+) registers", ptxas), _last(r"(\d+) bytes spill stores", ptxas)
    return {
        "registers": registers, "spill_bytes": spill, "shared_bytes": shared, "instructions": count(assembly, amd=amd),
    }  # fmt: skip


def count(assembly: str, *, amd: bool) -> dict[str, int]:
    """Instructions by kind, those of `KINDS` that occur."""
    line, table = (_GCN_LINE, _GCN) if amd else (_PTX_LINE, _PTX)
    found = Counter(_kind(m[1], table) for m in line.finditer(assembly))
    return {kind: found[kind] for kind in KINDS if found[kind]}


def _kind(mnemonic: str, table: tuple[tuple[str, str], ...]) -> str:
    return next((kind for kind, pattern in table if re.match(pattern, mnemonic)), "other")


def _last(pattern: str, text: str) -> int | None:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else None
