"""Ones of a size, of the dtype and on the device of a tensor (aten::new_ones)."""

from kgb_gym.operators.aten.families import factories
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATS, REAL, pairwise, points, product

_SIZES = ((2, 3), (128, 256), (32, 16, 8), (512, 512), (16, 8, 4))
_CASES = points(
    {"shape": (), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (3, 1037), "dtype": "float16", "of": ()},
    {"shape": (5, 7), "dtype": "float32", "to": "int32"},
    {"shape": (5, 7), "dtype": "bool", "to": "float64", "device": True},
    {"shape": (4, 3, 2, 3, 2, 2), "dtype": "int64", "of": (0,), "origin": "beyond"},
    {"shape": (3, -1), "dtype": "float32", "origin": "beyond"},
    *({"shape": (7, 9), "dtype": d} for d in ("bool", "uint8", "int16", "float64", "complex64")),
)

OPERATOR = Operator(
    source="aten",
    name="new_ones",
    interfaces=(
        factories.interface(
            "new_ones",
            factories.new,
            paper=(
                product(shape=_SIZES, of=((2, 3), (128, 256), (64, 64)), dtype=FLOATS, timed=True),
                points(*({"shape": (2048, 2048), "dtype": d} for d in FLOATS)),
                _CASES,
            ),
            quick=(pairwise(shape=((2, 3), (23, 41), (8, 16, 8)), of=((2, 3), (16, 16)), dtype=FLOATS), _CASES),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64"}),
        ),
        factories.interface(
            "new_ones.out",
            factories.new_out,
            paper=(points(*factories.OUTS),),
            quick=(points(*factories.OUTS),),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64", "out": "empty"}),
        ),
    ),
    compare=Exact(),
    description="A new tensor of the given size in which every element is one.",
    notes=(factories.NEW_DTYPE, factories.NEGATIVE_SIZE, factories.OUT_NOTE),
    strides=True,
    policy=factories.POLICY,
    exemptions=(factories.NEIGHBOUR,),
    usual=REAL,
    family="fill",
)
