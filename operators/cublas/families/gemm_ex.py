"""Matrix products whose operands have types of their own: `SgemmEx` and `CsyrkEx`.

Arithmetic and scalars are fp32 (complex for `CsyrkEx`); A, B and C have the types that numbers of `cudaDataType` name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.cublas.families import buffers, gemm, routine
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.maker import Maker

DATA_TYPES = {
    "float32": 0, "float16": 2, "int8": 3, "complex64": 4, "bfloat16": 14,
}  # fmt: skip
"""Numbers of `cudaDataType` by torch's names."""

TYPES = (
    "float32,float32", "float16,float32", "bfloat16,float32", "int8,float32", "float16,float16", "bfloat16,bfloat16",
)  # fmt: skip
"""Of A (and B) and of C, as the library takes them together."""


def build(
    make: Maker, *, transa: str, transb: str, m: int, n: int, k: int, alpha: float, beta: float, types: str,
    dtype: torch.dtype, pad: int = 0, values: str = "normal", output: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `gemmEx` call; parameters as those of `gemm`."""
    given, written = types.split(",")
    inner, outer = getattr(torch, given), getattr(torch, written)
    plain = {"transa": transa, "transb": transb, "m": m, "n": n, "k": k, "alpha": alpha, "beta": beta, "pad": pad}
    operands = gemm.build(make, **plain, dtype=inner, values=values, layout=layout).args  # type: ignore[arg-type]
    result = gemm.build(make, **plain, dtype=outer, output=output, layout=layout).args  # type: ignore[arg-type]
    a, lda, b, ldb = operands[6:10]
    c, ldc = result[11:13]
    kind = DATA_TYPES[given]
    return make.call(
        transa, transb, m, n, k, float(alpha), a, kind, lda, b, kind, ldb, float(beta), c, DATA_TYPES[written], ldc
    )  # fmt: skip


def oracle(**arguments: Any) -> dict[str, torch.Tensor]:
    """C after the call."""
    return {"C": gemm.evaluate(arguments, scalars=torch.float32)}


def scale(arguments: Mapping[str, Any]) -> torch.Tensor:
    """|alpha| |op(A)| |op(B)| + |beta| |C|."""
    return gemm.evaluate(arguments, magnitude=True, scalars=torch.float32)


_ROUNDED = grids.points(
    *(
        {
            "m,n,k": (17, 20, 33),
            "alpha,beta": (0.5, -0.999),
            "types": f"{kind},{kind}",
            "transa": "N",
            "transb": "T",
            "pad": 1,
            "dtype": "float32",
        }
        for kind in ("float16", "bfloat16")
    )
)
"""A small C times a beta that it does not hold: rounding their product to C's type shows."""


def _bearable(point: grids.Params) -> bool:
    """Leaves out what other cases of `quick` see as well: numbers far from 1, one of two empty sums."""
    empty = point["k"] == 0 and point["beta"] == 0.0
    return not (empty or point.get("values") in buffers.FAR)


_NOTES = (
    (
        "Atype, Btype and Ctype are numbers of cudaDataType and say what the tensors are: 0 float32, 2 float16, 3 int8, "
        "14 bfloat16. A and B have the same type. float32, float16, bfloat16 and int8 go with a float32 C; float16 and "
        "bfloat16 with a C of their own type too."
    ),
    (
        "Products and sums are IEEE fp32 whatever the types, alpha and beta are fp32; C is rounded once, at the end. "
        "TF32 products are wrong."
    ),
)


def gemm_ex(name: str, dtype: torch.dtype) -> Operator:
    """`cublasSgemmEx`: one matrix product in fp32 of operands of other types."""
    suites = gemm.make_grids(name, dtype, types=TYPES)
    suites["quick"] = (*(grid.where(_bearable) for grid in suites["quick"]), _ROUNDED)
    return routine.declare(
        name, build=build, oracle=oracle, touched=gemm.touched, writes=("C",),
        grids=suites,
        jitter=routine.jitter("m", "n", "k", "alpha", "beta", "transa", "transb", "pad", "layout", "values", types=TYPES),
        compare=Close(depth=gemm.depth, scale=scale),
        description=f"Matrix product C <- alpha*op(A)*op(B) + beta*C in fp32, for A, B and C of types of their own. {gemm.DEFINITION}",
        notes=(
            *gemm.NOTES,
            *_NOTES,
        ),
        family="gemm",
    )  # fmt: skip
