"""Product with weights of 4 or 8 bits in Marlin's tiles (vLLM `gptq_marlin_gemm`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import UNIT, Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker, ScalarType
from kgb_gym.operators.vllm.families import marlin, packing, products
from kgb_gym.operators.vllm.families.entry import axes, entry

ZEROS = ("none", "codes", "float")
"""Weights around a fixed bias, or around zero points: packed codes, or numbers of a's type."""
ORDERS = ("none", "whole", "part")
"""Rows in order of their groups; permuted (act order); or permuted rows of a part of K, with groups by row."""


def build(
    make: Maker, *, m: int, n: int, k: int, bits: int, group: int, dtype: torch.dtype, zeros: str = "none",
    order: str = "none", bias: bool = False, padding: int = 0, given: bool = False, fp32_reduce: bool = True,
) -> Call:  # fmt: skip
    """One call. `given`: the output is an argument; `padding`: elements between the rows of a.

    Raises:
        ValueError: the group does not divide K.
    """
    if group != -1 and k % group:
        raise ValueError(f"groups of {group} rows do not divide K = {k}")
    groups = 1 if group == -1 else k // group
    a = make.normal((m, k + padding), dtype)[:, :k]
    scales = make.uniform((groups, n), dtype, low=0.002, high=0.02)[:, marlin.scale_order(n, groups > 1)]
    none = torch.empty(0, dtype=torch.int32)
    zero = none
    if zeros == "codes":
        zero = packing.pack_bits(packing.random_codes(make, (groups, n), bits)[:, marlin.zero_order(n, bits)], bits)
    elif zeros == "float":
        zero = make.uniform((groups, n), dtype, low=0.0, high=2.0**bits)[:, marlin.scale_order(n, True)]
    index, perm = none, none
    if order != "none":
        index = torch.arange(k) // (k // groups)
        if order == "part":
            index = make.integers((k,), torch.int64, low=0, high=groups).sort().values
        index, perm = index.int(), make.permutation(k).int()
    shift = make.normal((n,), dtype)[marlin.scale_order(n, False)] if bias else None
    return make.call(
        a, make.out((m, n), dtype) if given else None, marlin.repack(packing.random_codes(make, (k, n), bits), bits), shift,
        scales.contiguous(), None, None, zero.contiguous(), index, perm, torch.zeros(256, dtype=torch.int32),
        ScalarType(bits, 1 << (bits - 1) if zeros == "none" else 0), m, n, k, order != "part", False, fp32_reduce,
        zeros == "float",
    )  # fmt: skip


def factors(arguments: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Activations, and the codes' distances from zero with their scales (float64)."""
    k, n, kind = arguments["size_k"], arguments["size_n"], arguments["b_q_type"]
    a, stored, zeros = arguments["a"].double(), arguments["b_scales"].double(), arguments["b_zeros"]
    codes = marlin.unpack(arguments["b_q_weight"], marlin.places(k, n, kind.size_bits), kind.size_bits).double()
    groups = stored.shape[0]
    group = torch.arange(k) // (k // groups)
    perm, index = arguments["perm"], arguments["g_idx"]
    if perm is not None and perm.numel() and index is not None and index.numel():
        a = a[:, perm.long()]
        group = group if arguments.get("is_k_full", True) else index.long()
    scales = stored[:, marlin.scale_order(n, groups > 1).argsort()][group]
    if zeros is None or not zeros.numel():
        return a, codes - kind.bias, scales
    if arguments.get("is_zp_float", False):
        zero = zeros.double()[:, marlin.scale_order(n, True).argsort()]
    else:
        zero = packing.unpack_bits(zeros, kind.size_bits)[:, marlin.zero_order(n, kind.size_bits).argsort()].double()
    return a, codes - zero[group], scales


def shift(arguments: Mapping[str, Any]) -> torch.Tensor:
    """The bias in the columns' order, or 0."""
    bias = arguments["b_bias"]
    if bias is None:
        return torch.zeros((), dtype=torch.float64)
    values: torch.Tensor = bias.double()
    return values[marlin.scale_order(arguments["size_n"], False).argsort()]


def oracle(
    a: torch.Tensor, c: torch.Tensor | None, b_q_weight: torch.Tensor, b_bias: torch.Tensor | None,
    b_scales: torch.Tensor, a_scales: torch.Tensor | None, global_scale: torch.Tensor | None,
    b_zeros: torch.Tensor | None, g_idx: torch.Tensor | None, perm: torch.Tensor | None, workspace: torch.Tensor,
    b_q_type: ScalarType, size_m: int, size_n: int, size_k: int, is_k_full: bool = True, use_atomic_add: bool = False,
    use_fp32_reduce: bool = False, is_zp_float: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The product with the unpacked weights, in `c` where that is given."""
    arguments = locals()
    left, distances, scales = factors(arguments)
    precise = left @ (distances * scales) + shift(arguments)
    if c is not None:
        return {"c": precise, "return": c}
    return {"return": Target("", precise.to(a.dtype), precise)}


def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of rounded weights, of a product rounded before the bias, and where zero points are numbers of q * s and z * s,
    which are about as large as 2**bits * s."""
    a, distances, scales = factors(arguments)
    dtype = arguments["a"].dtype
    top = 2.0 ** arguments["b_q_type"].size_bits
    size = distances.abs() + (top if arguments.get("is_zp_float", False) else 0.0)
    rounded = products.rounded_weights(a, size * scales, dtype)
    return rounded + 0.5 * UNIT[dtype] * (a @ (distances * scales)).abs()


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes of the same group."""
    step = max(128, params["group"])
    sizes = {"m": rng.randint(1, 40), "n": 64 * rng.randint(1, 3), "k": step * rng.randint(1, 2)}
    if params.get("order", "none") != "none":
        sizes["k"] = max(sizes["k"], 2 * params["group"])
    return {**params, **sizes, "padding": 8 * rng.randint(0, 2), "given": rng.random() < 0.5}


SIZES = "m,k,n"
PUBLISHED = (
    (1, 256, 256), (32, 256, 256), (64, 256, 512), (128, 512, 256), (128, 1024, 512), (256, 1024, 512), (512, 1024, 512),
    (1024, 2048, 1024),
)  # fmt: skip
HALVES = ("float16", "bfloat16")
_PUBLISHED_MORE: dict[str, Any] = {"dtype": ("float16",), "bits": (4,), "group": (128,)}
_COMMON: dict[str, Any] = {
    "dtype": HALVES, "bias": (False, True), "given": (False, True), "padding,fp32_reduce": ((0, True), (8, False)),
}  # fmt: skip
_PLAIN: dict[str, Any] = {"bits": (4, 8), "group": (32, 64, 128, -1), "zeros": ("none", "codes"), **_COMMON}
_ORDERED: dict[str, Any] = {"bits": (4, 8), "group": (32, 64, 128), "order": ("whole", "part"), **_COMMON}
_FLOAT: dict[str, Any] = {
    **_COMMON, "bits": (4,), "group": (64,), "zeros": ("float",), "dtype": ("float16",),
}  # fmt: skip
_MIXED = axes(
    "dtype,bias,given,padding,fp32_reduce",
    (("float16", False, True, 0, True), ("bfloat16", True, False, 8, False), ("float16", True, True, 8, True)),
)
_LARGE = ((1, 128, 64), (1, 1024, 256), (26, 1664, 448), (257, 640, 384))
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(SIZES, [s for s in PUBLISHED if s[0] >= 128]), **_PUBLISHED_MORE),
        grids.product(**axes(SIZES, [s for s in PUBLISHED if s[0] < 128]), **_PUBLISHED_MORE),
        grids.pairwise(origin="extra", **axes(SIZES, _LARGE), **_PLAIN),
        grids.pairwise(origin="extra", **axes(SIZES, _LARGE[1:]), **_ORDERED),
        grids.pairwise(origin="extra", **axes(SIZES, _LARGE[1:3]), **_FLOAT),
        grids.points(
            {SIZES: (26, 1664, 2368), "bits": 4, "group": 128, "dtype": "bfloat16", "zeros": "codes", "bias": True},
            {SIZES: (257, 1408, 832), "bits": 8, "group": -1, "dtype": "float16", "given": True},
        ),
    ),
    "quick": (
        grids.pairwise(
            **axes(SIZES, ((1, 128, 64), (5, 256, 64), (18, 128, 128))), bits=(4, 8), group=(32, 64, 128, -1),
            zeros=("none", "codes"), **_MIXED,
        ),
        grids.pairwise(**axes(SIZES, ((3, 256, 64),)), bits=(4, 8), group=(32, 128), order=("whole", "part"), **_MIXED),
        grids.points(
            {SIZES: (2, 128, 64), "bits": 4, "group": 64, "zeros": "float", "dtype": "float16", "bias": True},
            {SIZES: (0, 128, 64), "bits": 4, "group": 64, "dtype": "float16"},
            {SIZES: (3, 4096, 64), "bits": 4, "group": 128, "dtype": "float16"},
        ),
    ),
    "smoke": (
        grids.points(
            {SIZES: (3, 128, 64), "bits": 4, "group": 32, "dtype": "float16"},
            {SIZES: (2, 128, 64), "bits": 8, "group": -1, "dtype": "bfloat16", "bias": True, "given": True},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "gptq_marlin_gemm(a: torch.Tensor, c: torch.Tensor | None, b_q_weight: torch.Tensor, b_bias: torch.Tensor | None, "
    "b_scales: torch.Tensor, a_scales: torch.Tensor | None, global_scale: torch.Tensor | None, "
    "b_zeros: torch.Tensor | None, g_idx: torch.Tensor | None, perm: torch.Tensor | None, workspace: torch.Tensor, "
    "b_q_type: ScalarType, size_m: int, size_n: int, size_k: int, is_k_full: bool = True, use_atomic_add: bool = False, "
    "use_fp32_reduce: bool = False, is_zp_float: bool = False) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("c",),
    compare=products.Product(noise),
    description=(
        "Returns a @ W + b_bias in a's type, W[k, n] = (code[k, n] - zero[g, n]) * scale[g, n], with codes of 4 or 8 bits "
        "in Marlin's tiles and g the group of row k. Sizes: a is (M, K), W is (K, N)."
    ),
    notes=(
        (
            "a is fp16 or bf16, rows evenly spaced with last stride 1. b_q_type has size_bits (4 or 8) and bias. Without "
            "zero points (b_zeros is None or has no elements) zero is b_q_type.bias; otherwise the codes are unsigned "
            "and b_zeros says. b_scales is (G, N) of a's type. N and K are multiples of 64, one of them of 128. c, where "
            "it is given, is (M, N) and contiguous: it is written and returned itself. Nothing else is written; "
            "workspace (int32 zeros), use_atomic_add and use_fp32_reduce change nothing. a_scales and global_scale are None."
        ),
        (
            "b_q_weight is int32 (K / 16, N * size_bits / 2). With n1 = n % 64, k1 = k % 16, t = 4 * (n % 8) + k1 % 8 // "
            "2, i = 2 * (k1 // 8) + k1 % 2, w = n1 // 16, h = n1 % 16 // 8, code (k, n) lies in row k // 16 at\n"
            "  4 bits  word 128 * (n // 64) + 4 * t + w, with e = i + 4h nibble e // 2 + 4 * (e % 2)\n"
            "  8 bits  word 256 * (n // 64) + 8 * t + 2 * w + h, byte 2 * (i % 2) + i // 2"
        ),
        (
            "The scale of column n stands, where G > 1, at column 64 * (n // 64) + 8 * (n % 8) + n % 64 // 8; where G is 1 "
            "at 32 * (n // 32) + 8 * (n % 8 // 2) + 2 * (n % 32 // 8) + n % 2. b_bias (N,) is always in the second order. "
            "b_zeros with is_zp_float is (G, N) of a's type, always in the first order. Otherwise it is int32 (G, N * "
            "size_bits / 32): with p the first order's place of n\n"
            "  4 bits  word p // 8, with e = p % 8 nibble e // 2 + 4 * (e % 2)\n"
            "  8 bits  word p // 4, with e = p % 4 byte e // 2 + 2 * (e % 2)"
        ),
        (
            "The group of row k is k // (K / G). Act order, where g_idx and perm both have elements (K, int32): row k of W "
            "meets column perm[k] of a, and where is_k_full is False the group of row k is g_idx[k]."
        ),
        products.JUDGED,
    ),
    family="marlin_gemm",
)
