"""CUDA's libdevice as the interpreter has it: symbol by symbol against definitions from elsewhere."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from triton.language.extra.cuda import libdevice as cuda

from kgb_gym.platforms.libdevice import evaluate

X = np.array([-2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0], dtype=np.float32)
WITHOUT = re.compile(
    r"jnf?|ynf?|.*_(rz|rd|ru)|rcp64h|byte_perm|u?sad|u?mul24|u?r?hadd|brev(ll)?|u?mul64hi|double2(hi|lo)int|hiloint2double|frsqrt_r."
)
"""Symbols that the interpreter does not have; conversions to whole numbers it has in every direction."""


def single(symbol: str, *arguments: np.ndarray) -> np.ndarray:
    return evaluate(f"__nv_{symbol}", arguments, np.dtype(np.float32))


@pytest.mark.parametrize(
    ("symbol", "definition"),
    [
        ("tanhf", torch.tanh), ("coshf", torch.cosh), ("expm1f", torch.expm1), ("rsqrtf", torch.rsqrt), ("erff", torch.erf),
        ("erfcf", torch.erfc), ("erfinvf", torch.erfinv), ("lgammaf", torch.lgamma), ("log1pf", torch.log1p), ("fabsf", torch.abs),
        ("asinf", torch.asin), ("acoshf", torch.acosh), ("cyl_bessel_i0f", torch.i0), ("normcdff", torch.special.ndtr),
        ("rintf", torch.round), ("fast_expf", torch.exp), ("tgammaf", lambda x: torch.tensor([math.gamma(v) if v > 0 else math.nan
                                                                                         for v in x.tolist()])),
    ],
)  # fmt: skip
def test_of_one_number(symbol: str, definition: object) -> None:
    values = X[X > 0] if symbol == "tgammaf" else X
    want = definition(torch.from_numpy(values).double()).float().numpy()  # type: ignore[operator]
    np.testing.assert_allclose(single(symbol, values), want, rtol=1e-7, equal_nan=True)


def test_of_more_numbers() -> None:
    y = np.roll(X, 3)
    pairs = torch.from_numpy(X).double(), torch.from_numpy(y).double()
    for symbol, definition in (
        ("powf", torch.pow),
        ("fmodf", torch.fmod),
        ("atan2f", torch.atan2),
        ("hypotf", torch.hypot),
    ):
        np.testing.assert_allclose(single(symbol, X, y), definition(*pairs).float().numpy(), rtol=1e-7)
    np.testing.assert_array_equal(single("fmaf", X, y, X), (X.astype(np.float64) * y + X).astype(np.float32))
    np.testing.assert_array_equal(single("fdiv_rn", X, y + 5), X / (y + 5))
    np.testing.assert_array_equal(single("nextafterf", X, y), np.nextafter(X, y))
    assert single("remainderf", np.float32([5.0, 1.0]), np.float32([3.0, 0.0])).tolist()[0] == -1.0


def test_halves_directions_tests_and_bits() -> None:
    whole, ties = np.dtype(np.int32), np.array([-2.5, -0.5, 0.5, 1.5, 3e9, np.nan], dtype=np.float32)
    assert evaluate("__nv_roundf", [ties], np.dtype(np.float32)).tolist()[:4] == [-3.0, -1.0, 1.0, 2.0]
    found = {d: evaluate(f"__nv_float2int_{d}", [ties], whole).tolist() for d in ("rn", "rz", "rd", "ru")}
    assert found["rn"] == [-2, 0, 0, 2, 2**31 - 1, 0] and found["rz"][:4] == [-2, 0, 0, 1]
    assert found["rd"][:4] == [-3, -1, 0, 1] and found["ru"][:4] == [-2, 0, 1, 2]
    assert evaluate("__nv_isnanf", [ties], whole).tolist() == [0, 0, 0, 0, 0, 1]
    assert evaluate("__nv_signbitf", [np.float32([-0.0, 0.0])], whole).tolist() == [1, 0]
    assert evaluate("__nv_float_as_int", [np.float32([1.0])], whole).tolist() == [0x3F800000]
    numbers = np.array([0, 1, -1, 12], dtype=np.int32)
    assert [evaluate(f"__nv_{n}", [numbers], whole).tolist() for n in ("popc", "clz", "ffs")] == [
        [0, 1, 32, 2], [32, 31, 0, 28], [0, 1, 1, 3],
    ]  # fmt: skip
    assert evaluate("__nv_mulhi", [numbers, np.full(4, 2**31 - 1, np.int32)], whole).tolist() == [0, 0, -1, 5]
    assert single("sinpif", np.float32([1.0, 0.5, 2.0])).tolist() == [0.0, 1.0, 0.0]


def test_every_symbol_is_there_or_said_to_be_missing() -> None:
    symbols = set(re.findall(r'"__nv_(\w+)"', Path(cuda.__file__).read_text(encoding="utf-8")))
    assert len(symbols) > 250
    missing = set()
    for symbol in symbols:
        kind = np.dtype(
            np.int32 if "2int" in symbol or symbol in ("popc", "clz", "ffs", "ilogb", "ilogbf") else np.float32
        )
        count = {"f": 3}.get(symbol[:1] if symbol.startswith("fma") else "", 0) or (4 if "norm4d" in symbol else 3)
        for number in (1, 2, count):
            arguments = [np.ones(2, np.int32 if symbol.endswith("ll") or "int_as" in symbol else np.float32)] * number
            if "ldexp" in symbol or "scalbn" in symbol:
                arguments[-1] = np.ones(2, np.int32)
            try:
                evaluate(f"__nv_{symbol}", arguments, kind)
                break
            except NotImplementedError as error:
                assert symbol in str(error)
                missing.add(symbol)
                break
            except (TypeError, ValueError, IndexError):
                continue
    assert {m for m in missing if not WITHOUT.fullmatch(m)} == set()
    assert {"jn", "fadd_rz", "byte_perm"} <= missing
