"""Conversion, or the tensor itself (aten::to)."""

from kgb_gym.operators.aten.families import copies
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import POINTWISE, REAL, Params, pairwise, points, product
from kgb_gym.operators.policy import RESHAPED_INPUTS

_TO = ("float16", "bfloat16", "float32", "int32")
_ALIAS: tuple[Params, ...] = (
    {"shape": (5, 7), "dtype": "float32", "to": "float32"},
    {"shape": (5, 7), "dtype": "float16", "to": "float16", "layout": "sliced"},
    {"shape": (5, 7), "dtype": "float64", "to": "float64", "copy": True, "layout": "transposed"},
    {"shape": (5, 7), "dtype": "complex64", "to": "complex64", "bit": "conj"},
    {"shape": (5, 7), "dtype": "float32", "to": "float32", "layout": "dilated", "memory_format": "preserve"},
    *({**p, "to": p["dtype"]} for p in copies.FORMATTED[:3]),
)
_FURTHER = points(
    *_ALIAS,
    *(copies.CONVERTED[i] for i in (1, 3, 4, 6, 7, 8, 11, 12, 13, 14, 15)),
    {"shape": (3, 1037), "dtype": "float32", "layout": "sliced", "to": "float16"},
    {"shape": (4, 3, 2, 3), "dtype": "float32", "layout": "irregular", "to": "float64"},
    {"shape": (5, 7), "dtype": "float32", "bit": "neg", "to": "float64"},
    {"shape": (9, 41), "dtype": "int32", "to": "int64"},
)
_FEW = points(
    {"shape": (5, 7), "dtype": "float32", "to": "float32"},
    {"shape": (5, 7), "dtype": "float32", "to": "float32", "copy": True},
    {"shape": (12, 31), "dtype": "float32", "to": "float16", "layout": "transposed"},
)
_LAYOUT = points(
    *_FEW.points,
    {"shape": (5, 7), "dtype": "float32"},
    {"shape": (5, 7), "dtype": "float32", "to": "int32", "device": True},
)
_SMOKE = (
    {"shape": (17,), "dtype": "float32", "to": "float16"},
    {"shape": (3, 5), "dtype": "int64", "to": "int64", "layout": "offset"},
)

OPERATOR = Operator(
    source="aten",
    name="to",
    interfaces=(
        copies.interface(
            "to.dtype",
            copies.single("position"),
            paper=(product(shape=POINTWISE, to=_TO, dtype=("float32", "float16"), timed=True), _FURTHER),
            quick=(
                pairwise(shape=((1,), (23, 41)), to=_TO, dtype=("float32",)),
                _FURTHER.where(lambda p: "permuted" not in p or p["memory_format"] == "channels_last"),
            ),
            smoke=_SMOKE,
        ),
        copies.interface("to.device", copies.single("device"), paper=(_FEW,), quick=(_FEW,), smoke=_SMOKE),
        copies.interface("to.other", copies.single("other"), paper=(_FEW,), quick=(_FEW,), smoke=_SMOKE),
        copies.interface("to.dtype_layout", copies.single(), paper=(_LAYOUT,), quick=(_LAYOUT,), smoke=_SMOKE),
    ),
    compare=Exact(),
    description="`self` converted to a dtype (or to that of `other`): `self` itself where nothing has to be done.",
    notes=(
        (
            "Where the dtype is right, `copy` is not set and `memory_format` is not given, preserve_format, or the one that "
            "`self` has, `self` must be returned: a copy is wrong. A 4-d tensor has channels_last or contiguous_format; "
            "contiguous_format is not asked of other tensors with gaps or transposed ones."
        ),
        "`device` is always that of `self`; `non_blocking` is without effect. Conversions are a kernel's business.",
        copies.CONVERSION,
        copies.LAYOUT,
        copies.BITS,
    ),
    view=True,
    strides=True,
    policy=RESHAPED_INPUTS,
    exemptions=(copies.FRESH,),
    left_out=(
        ("to.prim_Device", "TorchScript builtin: not in the dispatcher"),
        ("to.prim_dtype", "TorchScript builtin: not in the dispatcher"),
        ("to.prim_other", "TorchScript builtin: not in the dispatcher"),
    ),
    usual=REAL,
    family="copies",
)
