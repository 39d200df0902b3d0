"""Exponentially distributed samples, in place (aten::exponential_)."""

from kgb_gym.operators.aten.families import variates
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.declaration import Exemption, Interface, Operator
from kgb_gym.operators.distribution import Distribution
from kgb_gym.operators.grids import FLOATING, FLOATS, points, product
from kgb_gym.operators.policy import Policy

_AWKWARD = points(
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (), "dtype": "float32", "lambd": 2.0},
    {"shape": (80, 81), "dtype": "float64", "lambd": 0.1, "layout": "transposed"},
    {"shape": (33, 40), "dtype": "float16", "lambd": 10.0, "layout": "dilated"},
    {"shape": (29, 41), "dtype": "bfloat16", "lambd": 0.5, "layout": "sliced"},
    {"shape": (1200,), "dtype": "float32", "lambd": 10.0, "layout": "offset", "seeded": False},
    {"shape": (1200,), "dtype": "float32", "lambd": 0.001},
    {"shape": (9,), "dtype": "float32", "lambd": 0.0, "origin": "beyond"},
    {"shape": (9,), "dtype": "float32", "lambd": -1.0, "origin": "beyond"},
    {"shape": (9,), "dtype": "int32", "origin": "beyond"},
    {"shape": (9, 3), "dtype": "float32", "layout": "expanded", "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="exponential_",
    interfaces=(
        Interface(
            "exponential_",
            variates.in_place,
            suites(
                paper=(
                    product(shape=((20, 320, 15),), dtype=FLOATS, timed=True),
                    product(shape=((512, 512), (1024, 1024)), dtype=FLOATS, lambd=(1.0, 0.25), origin="extra"),
                    _AWKWARD,
                ),
                quick=(product(shape=((4, 41, 40),), dtype=FLOATS), _AWKWARD),
                smoke=(product(shape=((30, 11),), dtype=FLOATS[:2], origin="extra"),),
            ),
            variates.jitter,
        ),
    ),
    compare=Distribution(variates.exponential_tests),
    description=(
        "Fills `self`, in place, with independent samples of the exponential distribution of rate `lambd`: the density "
        "is lambd · exp(-lambd · x). Returns `self` itself."
    ),
    notes=(
        "Samples are positive and finite; memory between the elements of `self` keeps its bits.",
        "A `lambd` that is not positive, integers, and a `self` that overlaps itself are RuntimeErrors.",
        "The same generator state gives the same answer, and every call advances the generator.",
        "Draw one seed with `torch.randint(0, 2**31 - 1, (1,), generator=generator, device=…)`; load it in the kernel.",
    ),
    random=True,
    policy=Policy(allow=Policy().allow | {"draw"}),
    exemptions=(Exemption("neighbour", "another sample of the same rate is as right as the first"),),
    usual=FLOATING,
    family="random",
)
