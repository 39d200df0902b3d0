"""Quantisation of a matrix to e4m3, by a given scale or one taken from the values (vLLM `scaled_fp8_quant`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker, lay
from kgb_gym.operators.policy import Policy
from kgb_gym.operators.vllm.families.entry import entry
from kgb_gym.operators.vllm.families.judging import Chosen, Codes, Each, First, Near, codes, value

E4M3 = torch.float8_e4m3fn
FLOOR = 1 / (448 * 512)


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, scale_kind: str = "dynamic",
    num_token_padding: int | None = None, use_per_token_if_dynamic: bool = False, scale_ub_kind: str | None = None,
    given_output: bool = False, layout: str = "contiguous", std: float = 1.0,
) -> Call:  # fmt: skip
    """One call: input (tokens, hidden), its first row zero where there are several; scale of one element, in two
    dimensions for `group_2d_1x1`, or none."""
    x = make.normal(shape, dtype, std=std)
    if shape[0] > 1:
        x[:1] = 0
    scale = None
    if scale_kind != "dynamic":
        one = (1, 1) if scale_kind == "group_2d_1x1" else (1,)
        scale = make.uniform(one, torch.float32, low=0.002 * std, high=0.02 * std)
    bound = make.uniform((1,), torch.float32, low=0.5 * std, high=3.0 * std) if scale_ub_kind else None
    output = make.out(shape, E4M3) if given_output else None
    padding = None if given_output else num_token_padding
    return make.call(lay(x, layout), scale, padding, bound, use_per_token_if_dynamic, output)


def oracle(
    input: torch.Tensor, scale: torch.Tensor | None = None, num_token_padding: int | None = None,
    scale_ub: torch.Tensor | None = None, use_per_token_if_dynamic: bool = False, output: torch.Tensor | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Codes and scales; rows that only pad are 0 here and not compared."""
    x, tokens = input.double(), input.shape[0]
    rows = max(tokens, num_token_padding or 0)
    if scale is not None:
        factor = scale.double().reshape(1, 1)
    elif use_per_token_if_dynamic:
        largest = x.abs().amax(1, keepdim=True)
        if scale_ub is not None:
            largest = largest.clamp(max=float(scale_ub))
        factor = (largest / 448).clamp(min=FLOOR)
    else:
        factor = x.abs().amax().reshape(1, 1) / 448
    out = codes("", _padded(x / factor, rows), E4M3)
    scales: Any = scale
    if scale is None:
        scales = value("", _padded(factor, rows) if use_per_token_if_dynamic else factor.reshape(1))
    if output is None:
        return {"return": (out, scales)}
    output.copy_(out.reference)
    return {"return": (output, scales), "output": out}


def _padded(x: torch.Tensor, rows: int) -> torch.Tensor:
    return torch.cat((x, x.new_zeros(rows - x.shape[0], x.shape[1])))


def _compare(arguments: Mapping[str, Any]) -> Each:
    def count(given: Mapping[str, Any]) -> int:
        return int(given["input"].shape[0])

    by_row = arguments.get("scale") is None and arguments["use_per_token_if_dynamic"]
    scales = First(Near(2.0**-21), count) if by_row else Near(2.0**-21)
    return Each({"return[1]": scales}, First(Codes(), count))


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Another shape and layout; any kind of scale."""
    rows, hidden = params["shape"]
    return {
        **params,
        "shape": [rng.randint(1, rows + 3), max(1, hidden + rng.randint(-hidden // 4 - 2, hidden // 4 + 2))],
        "scale_kind": rng.choice(("dynamic", "per_tensor")),
        "use_per_token_if_dynamic": rng.random() < 0.5,
        "layout": rng.choice(("contiguous", "sliced", "offset")),
    }


FLOATS = ("float16", "bfloat16", "float32")
_KINDS: dict[str, Any] = {
    "scale_ub_kind": (None, "one"), "use_per_token_if_dynamic": (False, True),
    "scale_kind": ("dynamic", "per_tensor", "group_2d_1x1"), "num_token_padding": (None, 0, 64), "dtype": FLOATS,
}  # fmt: skip
_AWKWARD: dict[str, Any] = {
    **_KINDS, "given_output": (False, True), "layout": ("contiguous", "sliced", "offset"), "std": (1.0, 0.001, 100.0),
    "num_token_padding": (None, 0, 17),
}  # fmt: skip
# Of the two largest published shapes a pairwise covering: their product would be 216 cases of millions of elements.
GRIDS = {
    "paper": (
        grids.product(shape=((1, 32), (71, 497), (128, 512)), **_KINDS),
        grids.pairwise(shape=((1024, 4096), (5333, 8192)), timed=True, **_KINDS),
        grids.pairwise(
            origin="extra", shape=((1, 17), (7, 1025), (83, 1026), (4096, 1024), (7, 5137), (3, 8193), (1, 1)), **_AWKWARD
        ),
    ),
    "quick": (grids.pairwise(shape=((1, 32), (5, 497), (3, 1), (2, 5137), (19, 8)), **_AWKWARD),),
    "smoke": (
        grids.points(
            {"shape": (3, 40), "dtype": "float16", "layout": "sliced", "num_token_padding": 5},
            {"shape": (2, 65), "dtype": "bfloat16", "use_per_token_if_dynamic": True, "scale_ub_kind": "one"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "scaled_fp8_quant(input: torch.Tensor, scale: torch.Tensor | None = None, num_token_padding: int | None = None, "
    "scale_ub: torch.Tensor | None = None, use_per_token_if_dynamic: bool = False, output: torch.Tensor | None = None) "
    "-> tuple[torch.Tensor, torch.Tensor]",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("output",),
    compare=Chosen(_compare),
    description=(
        "Quantises a matrix to fp8 (torch.float8_e4m3fn): codes = input / scale, clamped to +-448 and rounded to nearest "
        "even. Returns (codes, scale)."
    ),
    notes=(
        (
            "With scale (fp32, one element of any shape): it divides every element, and is itself what is returned. "
            "Without: use_per_token_if_dynamic False: scale (1,) = max|input| / 448 over the whole matrix; True: scale "
            "(rows, 1) = max(min(max|input row|, scale_ub) / 448, 1 / (448 * 512)), where scale_ub is one fp32 element "
            "or None. In the other modes scale_ub is ignored."
        ),
        (
            "input is (tokens, hidden), fp16, bf16 or fp32; the stride between rows may exceed hidden. The codes are fresh "
            "and contiguous, with max(tokens, num_token_padding) rows (None or 0: tokens); so are the scales of rows. "
            "Rows beyond tokens may hold anything."
        ),
        (
            "output, where it is given, is (tokens, hidden) of float8_e4m3fn: it is written and returned as the codes; "
            "num_token_padding is then None. Compute in fp32; a code may fall either way only where the quotient is "
            "within 2**-20 of a tie."
        ),
    ),
    family="scaled_quant",
    policy=Policy(lossy_copy=False),
)
