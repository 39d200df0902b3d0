"""Windows, nearest neighbours and reflections: builders, error models and jitter."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import LAYOUTS, magnitude, values
from kgb_gym.operators.compare import Arguments
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.grids import jitter_shape
from kgb_gym.operators.maker import Maker


def columns(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    kernel: Sequence[int],
    dilation: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    stride: Sequence[int] = (1, 1),
    layout: str = "contiguous",
) -> Call:
    """`im2col(self, kernel_size, dilation, padding, stride)`."""
    tensor = values(make, shape, dtype, layout=layout)
    return make.call(tensor, list(kernel), list(dilation), list(padding), list(stride))


def window_shape(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of the columns."""
    tensor, kernel, dilation, padding, stride = call.args
    *batch, channels, height, width = tensor.shape
    counts = [
        max(0, (n + 2 * p - d * (k - 1) - 1) // s + 1)
        for n, k, d, p, s in zip((height, width), kernel, dilation, padding, stride, strict=False)
        if s > 0
    ]
    return (*batch, channels * math.prod(kernel), math.prod(counts)), tensor.dtype


def columns_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another batch, image and layout, and no error."""
    new = {**params, "layout": rng.choice(LAYOUTS)}
    if len(params["kernel"]) != 2 or min(*params["kernel"], *params.get("stride", [1])) < 1:
        new.update(kernel=[2, 2], stride=[1, 1])
    if len(params["shape"]) < 3:
        new["shape"] = [2, 5, 6]
    *batch, height, width = new["shape"]
    reach = [1 + d * (k - 1) for k, d in zip(new["kernel"], new.get("dilation", (1, 1)), strict=True)]
    new["shape"] = [max(1, n + rng.randint(-1, 1)) for n in batch]
    new["shape"] = [min(n, 4) for n in new["shape"]] + [max(min(n, 16), r) + rng.randint(0, 5)
                                                        for n, r in zip((height, width), reach, strict=True)]  # fmt: skip
    return new


def nearest_gradient(
    make: Maker,
    *,
    batch: Sequence[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
    dtype: torch.dtype,
    scales: Sequence[float] | bool | None = None,
    layout: str = "contiguous",
    wrong: str = "",
) -> Call:
    """`upsample_nearest2d_backward(grad_output, output_size, input_size[, scales_h, scales_w])`.

    Args:
        make: the source of values.
        batch: N and C.
        inputs: height and width of what was upsampled.
        outputs: height and width of the gradient that comes in.
        dtype: its type.
        scales: passed if given; True: the quotients of the sizes.
        layout: layout of the gradient; `channels_last`: channels are its fastest dimension.
        wrong: `size`: the gradient is wider than it says.
    """
    sizes = (*batch, outputs[0], outputs[1] + (wrong == "size"))
    if layout == "channels_last":
        gradient = values(make, (sizes[0], *sizes[2:], sizes[1]), dtype).permute(0, 3, 1, 2)
    else:
        gradient = values(make, sizes, dtype, layout=layout)
    given = () if scales is None or scales is False else tuple(scales) if scales is not True else tuple(
        o / i for o, i in zip(outputs, inputs, strict=True)
    )  # fmt: skip
    return make.call(gradient, list(outputs), [*batch, *inputs], *given)


def nearest_input(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of the gradient that goes out."""
    return call.args[2], call.args[0].dtype


def sources(inputs: int, outputs: int, scale: float | None) -> list[int]:
    """Which element of the input each element of the output repeats."""
    step = torch.tensor(inputs / outputs if scale is None else 1 / scale, dtype=torch.float32)
    where = (torch.arange(outputs, dtype=torch.float32) * step).floor().long()
    return where.clamp(max=inputs - 1).tolist()


def unambiguous(inputs: int, outputs: int, scale: float | None = None) -> bool:
    """Whether exact arithmetic gives the same sources as fp32, also when it is done from the input's side."""
    factor = outputs / inputs if scale is None else scale
    exact = [min(math.floor(i / factor + 1e-9), inputs - 1) for i in range(outputs)]
    ends = [min(outputs, math.ceil(float(torch.tensor(factor, dtype=torch.float32)) * (i + 1))) for i in range(inputs)]
    from_input = [sum(end <= i for end in ends) for i in range(outputs)]
    return sources(inputs, outputs, scale) == exact == from_input


def meeting(arguments: Arguments) -> int:
    """How many elements meet in one, at most."""
    (out_h, out_w), (in_h, in_w) = arguments["output_size"], arguments["input_size"][2:]
    return int((out_h // max(1, in_h) + 1) * (out_w // max(1, in_w) + 1))


def nearest_magnitudes(arguments: Arguments) -> torch.Tensor:
    """Σ|grad_output| over what meets in an element."""
    gradient = magnitude(arguments["grad_output"]).contiguous()
    scales = (arguments.get(name) for name in ("scales_h", "scales_w"))
    sizes = arguments["output_size"], arguments["input_size"]
    answer: torch.Tensor = torch.ops.aten.upsample_nearest2d_backward.default(gradient, *sizes, *scales)
    return answer


def nearest_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another batch and other sizes of which no element's source is in doubt, and no error."""
    new = {**params, "wrong": "", "layout": rng.choice((*LAYOUTS, "channels_last"))}
    new["batch"] = jitter_shape(rng, params["batch"], 16)
    new["scales"] = True if params.get("scales") else None
    while True:
        inputs = [rng.randint(2, 12), rng.randint(2, 12)]
        outputs = [n * rng.randint(1, 3) + rng.choice((0, 0, rng.randint(0, n - 1))) for n in inputs]
        scales = [o / i if new["scales"] else None for o, i in zip(outputs, inputs, strict=True)]
        if all(unambiguous(*both) for both in zip(inputs, outputs, scales, strict=True)):
            return {**new, "inputs": inputs, "outputs": outputs}


def reflected_gradient(
    make: Maker,
    *,
    shape: Sequence[int],
    padding: Sequence[int],
    dtype: torch.dtype,
    layout: str = "contiguous",
    self_dtype: torch.dtype | None = None,
    wrong: str = "",
) -> Call:
    """`reflection_pad1d_backward(grad_output, self, padding)`, where `shape` is that of `self`.

    Args:
        make: the source of values.
        shape: sizes of `self`, two or three.
        padding: how much was padded at both ends.
        dtype: type of the gradient.
        layout: its layout.
        self_dtype: type of `self`, if it is another.
        wrong: `width`: the gradient is too wide.
    """
    padded = (*shape[:-1], max(0, shape[-1] + sum(padding) + (wrong == "width")))
    gradient = values(make, padded, dtype, layout=layout)
    return make.call(gradient, values(make, shape, self_dtype or dtype), list(padding))


def unpadded(call: Call) -> tuple[Sequence[int], torch.dtype]:
    """Shape and type of the gradient that goes out."""
    return call.args[1].shape, call.args[0].dtype


def reflected_magnitudes(arguments: Arguments) -> torch.Tensor:
    """Σ|grad_output| over the up to three elements that meet."""
    gradient = magnitude(arguments["grad_output"]).contiguous()
    shape = torch.empty((), dtype=torch.float64).expand(arguments["self"].shape)
    return torch.ops.aten.reflection_pad1d_backward.default(gradient, shape, arguments["padding"])  # type: ignore[no-any-return]


def reflected_jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape, padding and layout, and no error."""
    new = {**params, "wrong": "", "layout": rng.choice(LAYOUTS), "self_dtype": None}
    shape = params["shape"] if len(params["shape"]) > 1 else [3, *params["shape"]]
    new["shape"] = jitter_shape(rng, shape, 2048)
    new["padding"] = [rng.randint(0, min(6, new["shape"][-1] - 1)) for _ in range(2)]
    return new
