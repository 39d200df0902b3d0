"""Independent coins of given probabilities (aten::bernoulli)."""

from collections.abc import Sequence
from typing import Any

from kgb_gym.operators.aten.families import sampling
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.declaration import Build, Exemption, Interface, Operator
from kgb_gym.operators.distribution import Distribution
from kgb_gym.operators.grids import FLOATING, FLOATS, Grid, points, product
from kgb_gym.operators.policy import Policy

_PAPER = ((2, 3), (128, 256), (512, 512))
_IN_SELF = ("bernoulli", "bernoulli.out")


def _interface(name: str, build: Build, ps: Sequence[float | None], *extra: Grid) -> Interface:
    """One interface; `ps` are the published values of a number `p`, empty where it takes none."""
    every: dict[str, Any] = {"p": ps} if ps else {}
    last: dict[str, Any] = {"p": ps[-1:]} if ps else {}
    others = [product(shape=((700,),), dtype=FLOATS[1:2], p=(p,)) for p in ps[:-1]]
    tests = sampling.of_probabilities_in_self if name in _IN_SELF else sampling.of_probabilities_in_p
    return Interface(
        name,
        build,
        suites(
            paper=(product(shape=_PAPER, dtype=FLOATS, timed=True, **every), *extra),
            quick=(product(shape=((50, 60),), dtype=FLOATS, **last), *others, *extra),
            smoke=(product(shape=((30, 7),), dtype=FLOATS[:2], origin="extra", **last),),
        ),
        sampling.jitter,
        compare=Distribution(tests),
    )


OPERATOR = Operator(
    source="aten",
    name="bernoulli",
    interfaces=(
        _interface("bernoulli", sampling.of_self, (), points(
            {"shape": (0, 3), "dtype": "float32"},
            {"shape": (25, 41), "dtype": "float64", "layout": "transposed"},
            {"shape": (), "dtype": "float32", "seeded": False},
            {"shape": (2, 3), "dtype": "float16"},
        )),
        _interface("bernoulli.out", sampling.with_out(sampling.of_self), (), points(
            {"shape": (333,), "dtype": "float32", "out": "empty"},
            {"shape": (25, 41), "dtype": "float16", "out": "dilated", "layout": "sliced"},
            {"shape": (30, 33), "dtype": "float32", "out_dtype": "int64", "seeded": False},
        )),
        _interface("bernoulli.p", sampling.of_number, (0.1, 0.9, 0.3), points(
            {"shape": (150,), "dtype": "float32", "p": 0.0},
            {"shape": (9, 17), "dtype": "bool", "p": 1.0},
            {"shape": (100, 150), "dtype": "int32", "p": 0.004, "layout": "transposed"},
            {"shape": (3,), "dtype": "float32", "p": 1.5, "origin": "beyond"},
        )),
        _interface("bernoulli.Tensor", sampling.of_tensor, (), points(
            {"shape": (40, 30), "dtype": "float32", "p_shape": (30,), "p_dtype": "float64"},
            {"shape": (31, 29), "dtype": "float16", "p_dtype": "float16", "layout": "transposed", "p_layout": "dilated"},
            {"shape": (35, 21), "dtype": "int64", "seeded": False},
        )),
        _interface("bernoulli.Tensor_out", sampling.with_out(sampling.of_tensor), (), points(
            {"shape": (31, 29), "dtype": "float32", "out": "empty", "p_layout": "transposed"},
            {"shape": (35, 21), "dtype": "bfloat16", "out": "dilated"},
        )),
        _interface("bernoulli.float_out", sampling.with_out(sampling.of_number), (None, 0.8, 0.3), points(
            {"shape": (31, 29), "dtype": "float32", "p": 0.75, "out": "empty", "layout": "transposed"},
            {"shape": (3, 5), "dtype": "float32", "p": 0.5, "out_dtype": "int64", "origin": "beyond"},
        )),
    ),
    compare=Distribution(sampling.of_probabilities_in_p),
    description="Every element of the answer is 1 with its probability and 0 otherwise, independently of all others.",
    notes=(
        "`bernoulli` and `bernoulli.out` take the probabilities from `self`.",
        "The others take shape and type from `self` and the probability from `p`, a number or a broadcastable tensor.",
        "Without `p`, `bernoulli.float_out` takes 0.5.",
        "Probabilities 0 and 1 are met exactly; a number outside [0, 1] is a RuntimeError.",
        "The same generator state gives the same answer, and every call advances the generator.",
        "Draw one seed with `torch.randint(0, 2**31 - 1, (1,), generator=generator, device=…)`; load it in the kernel.",
    ),
    random=True,
    policy=Policy(allow=Policy().allow | {"draw"}),
    exemptions=(
        Exemption("neighbour", "another sample of the same probability is as right as the first", "bernoulli.p"),
        Exemption("neighbour", "another sample of the same probability is as right as the first", "bernoulli.float_out"),
    ),
    usual=FLOATING,
    family="random",
)  # fmt: skip
