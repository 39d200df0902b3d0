"""GGML's blocks of quantised weights: their bytes, and products with them.

A row of K weights is K / elements blocks, one after the other. In each the value of element e is `main - offset`; all
numbers come from the block's bytes as `LAYOUT` says, which is also what a submission is told. The tests read every
element of every type a second time, by plain arithmetic on bytes; all types were compared once with the dequantisers of
the package `gguf`, and agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families.products import Product

TYPES = {2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84), 11: (256, 110),
         12: (256, 144), 13: (256, 176), 14: (256, 210)}  # fmt: skip
"""Elements and bytes of a block."""
HALVES = {2: (0,), 3: (0, 2), 6: (0,), 7: (0, 2), 8: (0,), 10: (80, 82), 11: (108,), 12: (0, 2), 13: (0, 2), 14: (208,)}
"""Where the fp16 scales of a block are."""
FLOATS = ("float16", "bfloat16", "float32")
EACH = tuple((kind, FLOATS[i % 3]) for i, kind in enumerate(TYPES))
"""Every type once, with one of the types of numbers."""
SMALL = (2, 3, 6, 7, 8)
LARGE = (10, 11, 12, 13, 14)
_TYPICAL = {2: 0.05, 3: 0.05, 6: 0.02, 7: 0.02, 8: 0.005, 10: 0.01, 11: 0.005, 12: 0.001, 13: 0.0005, 14: 0.0005}


def width(kind: int, k: int) -> int:
    """Bytes of a row of k weights."""
    elements, size = TYPES[kind]
    return k // elements * size


def random_blocks(make: Maker, kind: int, rows: int, k: int) -> torch.Tensor:
    """Weights (rows, bytes): random codes, scales within a factor of three of one that gives weights of about 0.3."""
    elements, size = TYPES[kind]
    raw = make.integers((rows, k // elements, size), torch.uint8, low=0, high=256)
    for number, at in enumerate(HALVES[kind]):
        scale = make.uniform((rows, k // elements, 1), torch.float16, low=0.5, high=1.5) * _TYPICAL[kind]
        # The second one is taken away in types 10, 12 and 13, and added in 3 and 7, where it may have any sign.
        if number:
            scale = scale * (8 if kind in (12, 13) else 1)
            if kind in (3, 7):
                scale = scale * make.uniform(scale.shape, torch.float16, low=-16.0, high=2.0)
        raw[..., at : at + 2] = scale.contiguous().view(torch.uint8)
    return raw.view(rows, -1)


def parts(weights: torch.Tensor, kind: int) -> tuple[torch.Tensor, torch.Tensor]:
    """`main` and `offset` of every element (rows, K), float64."""
    elements, size = TYPES[kind]
    raw = weights.reshape(weights.shape[0], -1, size)
    byte = raw.long()
    halves = [raw[..., at : at + 2].contiguous().view(torch.float16).double() for at in HALVES[kind]]
    e = torch.arange(elements)
    if kind in SMALL:
        main, offset = _small(byte, halves, kind, e)
    else:
        main, offset = _large(byte, halves, kind, e)
    offset = offset.broadcast_to(main.shape)
    return main.reshape(weights.shape[0], -1), offset.reshape(weights.shape[0], -1)


def _small(
    byte: torch.Tensor, halves: list[torch.Tensor], kind: int, e: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    d = halves[0]
    if kind == 8:
        return d * byte[..., 2:].to(torch.uint8).view(torch.int8).double(), torch.zeros(1)
    start = {2: 2, 3: 4, 6: 6, 7: 8}[kind]
    q = byte[..., start + e % 16] >> 4 * (e // 16) & 15
    if kind in (6, 7):
        q = q + ((byte[..., start - 4 + e // 8] >> e % 8 & 1) << 4)
    return d * q.double(), -halves[1] if kind in (3, 7) else d * (8.0 if kind == 2 else 16.0)


def _large(
    byte: torch.Tensor, halves: list[torch.Tensor], kind: int, e: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    d, half, s, line, j = halves[0], e // 128, e % 128 // 32, e % 32, e // 32
    if kind == 10:
        q = byte[..., 16 + 32 * half + line] >> 2 * s & 3
        scale = byte[..., e // 16]
        return d * (scale & 15) * q, halves[1] * (scale >> 4)
    if kind == 11:
        q = byte[..., 32 + 32 * half + line] >> 2 * s & 3
        high = byte[..., line] >> 4 * half + s & 1
        t = e // 16
        low = byte[..., 96 + t % 8] >> 4 * (t // 8) & 15
        scale = d * ((low | (byte[..., 104 + t % 4] >> 2 * (t // 4) & 3) << 4) - 32)
        return scale * q, scale * (4 * (1 - high))
    if kind in (12, 13):
        at = 16 if kind == 12 else 48
        q = byte[..., at + 32 * (j // 2) + line] >> 4 * (j % 2) & 15
        if kind == 13:
            q = q | (byte[..., 16 + line] >> j & 1) << 4
        first, second = byte[..., 4 + j % 4], byte[..., 8 + j % 4]
        third = byte[..., 12 + j % 4]
        a = torch.where(j < 4, first & 63, third & 15 | first >> 6 << 4)
        b = torch.where(j < 4, second & 63, third >> 4 | second >> 6 << 4)
        return d * a * q, halves[1] * b
    low = byte[..., 64 * half + 32 * (s % 2) + line] >> 4 * (s // 2) & 15
    q = low | (byte[..., 128 + 32 * half + line] >> 2 * s & 3) << 4
    scale = d * byte[..., 192 + e // 16].to(torch.uint8).view(torch.int8).double()
    return scale * q, scale * 32


def dequantized(weights: torch.Tensor, kind: int) -> torch.Tensor:
    """The weights (rows, K), float64."""
    main, offset = parts(weights, kind)
    return main - offset


def eight_bit_noise(x: torch.Tensor, weights: torch.Tensor, kind: int) -> torch.Tensor:
    """The noise (rows of x, rows of weights) of a product with x in 8 bits, one scale for 32 elements."""
    main, offset = parts(weights, kind)
    wide = x.double()
    step = wide.abs().view(wide.shape[0], -1, 32).amax(-1) / 127
    error = step.square().repeat_interleave(32, 1) / 12 + (2.0**-10 * wide).square()
    return (error @ torch.maximum(main.abs(), (main - offset).abs()).square().T).sqrt()


def noise(arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of a product with all rows of X."""
    return eight_bit_noise(arguments["X"], arguments["W"], arguments["quant_type"])


PRODUCT = Product(noise)
JUDGED = (
    "A kernel may multiply the weights' exact values, or first quantise X to 8 bits with a scale for every 32 elements "
    "(largest |x| / 127), as vLLM does: the error that this causes is the tolerance, for one output and more tightly for "
    "the mean over all. Sums are taken in fp32."
)
LAYOUT = (
    (
        "quant_type says how weights are stored. A row of K weights is K / elements blocks of bytes; d, m, dmin are fp16, "
        "little-endian, x@i means: from byte i on; y[e] is the value of element e of a block.\n"
        "   2  Q4_0   32 elements,  18 bytes  d@0, qs@2            y = d * (q - 8), q = nibble e // 16 of qs[e % 16]\n"
        "   3  Q4_1   32 elements,  20 bytes  d@0, m@2, qs@4       y = d * q + m, same q\n"
        "   6  Q5_0   32 elements,  22 bytes  d@0, qh@2, qs@6      y = d * (q - 16), q = nibble + 16 * bit\n"
        "   7  Q5_1   32 elements,  24 bytes  d@0, m@2, qh@4, qs@8 y = d * q + m, same q\n"
        "   8  Q8_0   32 elements,  34 bytes  d@0, int8 q@2        y = d * q[e]\n"
        "nibble 0 is the lower one; bit is bit e of qh, a little-endian 32-bit number."
    ),
    (
        "  10  Q2_K  256 elements,  84 bytes  sc@0, qs@16, d@80, dmin@82\n"
        "  11  Q3_K  256 elements, 110 bytes  hm@0, qs@32, sc@96, d@108\n"
        "  12  Q4_K  256 elements, 144 bytes  d@0, dmin@2, sc@4, qs@16\n"
        "  13  Q5_K  256 elements, 176 bytes  d@0, dmin@2, sc@4, qh@16, qs@48\n"
        "  14  Q6_K  256 elements, 210 bytes  ql@0, qh@128, int8 sc@192, d@208\n"
        "With H = e // 128, s = e % 128 // 32, l = e % 32, j = e // 32, t = e // 16:\n"
        "  Q2_K  y = d * (sc[t] & 15) * q - dmin * (sc[t] >> 4), q = qs[32H + l] >> 2s & 3\n"
        "  Q3_K  y = d * (S - 32) * (q - 4 + 4 * (hm[l] >> (4H + s) & 1)), same q,\n"
        "        S = (t < 8 ? sc[t] & 15 : sc[t - 8] >> 4) | (sc[8 + t % 4] >> 2 * (t // 4) & 3) << 4\n"
        "  Q4_K  y = d * A * q - dmin * B, q = qs[32 * (j // 2) + l] >> 4 * (j % 2) & 15;\n"
        "        j < 4: A = sc[j] & 63, B = sc[j + 4] & 63; else A = sc[j + 4] & 15 | (sc[j - 4] >> 6) << 4,\n"
        "        B = sc[j + 4] >> 4 | (sc[j] >> 6) << 4\n"
        "  Q5_K  as Q4_K with q + 16 * (qh[l] >> j & 1)\n"
        "  Q6_K  y = d * sc[t] * (q - 32),\n"
        "        q = (ql[64H + 32 * (s % 2) + l] >> 4 * (s // 2) & 15) | (qh[32H + l] >> 2s & 3) << 4"
    ),
)
