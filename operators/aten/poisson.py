"""Poisson samples of given rates (aten::poisson)."""

from kgb_gym.operators.aten.families import sampling, variates
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.distribution import Distribution
from kgb_gym.operators.grids import FLOATING, FLOATS, points, product
from kgb_gym.operators.policy import Policy

_SHAPES = ((2, 3), (128, 256), (512, 512))
_AWKWARD = points(
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (), "dtype": "float32"},
    {"shape": (45, 31), "dtype": "float64", "layout": "transposed"},
    {"shape": (33, 40), "dtype": "float16", "layout": "dilated", "seeded": False},
    {"shape": (29, 41), "dtype": "bfloat16", "layout": "sliced"},
    {"shape": (9,), "dtype": "int64", "origin": "beyond"},
    {"shape": (64, 64), "dtype": "float32", "rates": (9.5, 40.0)},
)
_OUT = points(
    {"shape": (1100,), "dtype": "float32", "out": "empty"},
    {"shape": (25, 41), "dtype": "float16", "out": "dilated", "layout": "transposed"},
    {"shape": (30, 33), "dtype": "bfloat16", "seeded": False},
    {"shape": (5, 3), "dtype": "float32", "out_dtype": "int64", "origin": "beyond"},
)
_SMOKE = product(shape=((30, 11),), dtype=FLOATS[:2], origin="extra")

OPERATOR = Operator(
    source="aten",
    name="poisson",
    interfaces=(
        Interface(
            "poisson",
            variates.of_rates,
            suites(
                paper=(
                    product(shape=_SHAPES, dtype=FLOATS, seeded=(True, False), timed=True),
                    product(shape=((2048, 1024),), dtype=FLOATS, origin="extra"),
                    _AWKWARD,
                ),
                quick=(product(shape=((30, 40),), dtype=FLOATS), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            variates.jitter,
        ),
        Interface(
            "poisson.out",
            sampling.with_out(variates.of_rates),
            suites(
                paper=(product(shape=_SHAPES, dtype=FLOATS, seeded=(True, False)), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            variates.jitter,
        ),
    ),
    compare=Distribution(variates.poisson_tests),
    description="Independent samples of Poisson distributions whose rates `self` holds, in the type of `self`.",
    notes=(
        "Rates from 0 (which gives 0) to 100000, none of them negative; samples are whole numbers.",
        "Integers are an error, as is an `out` of another type than `self`.",
        "The same generator state gives the same answer, and every call advances the generator.",
        "Draw one seed with `torch.randint(0, 2**31 - 1, (1,), generator=generator, device=…)`; load it in the kernel.",
    ),
    random=True,
    policy=Policy(allow=Policy().allow | {"draw"}),
    usual=FLOATING,
    family="random",
)
