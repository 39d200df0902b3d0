"""Huawei Ascend NPUs through torch_npu. Declared from documentation; nobody has run it here yet."""

from kgb_gym.platforms.declaration import Bounds, Platform, Signs

PLATFORM = Platform(
    name="ascend",
    device="npu",
    dispatch_key="PrivateUse1",
    default_suite="paper",
    timed=False,
    interpreted=False,
    noun="Ascend NPU",
    notes=(
        "Tensors are on `npu`; kernels are compiled by triton-ascend. An NPU has tens of cores, no thousands of threads.",
        "Use a one-dimensional grid near the number of cores, and let each program loop over tiles.",
        "A launch may have at most 65535 programs.",
        "All blocks that live at once must fit the unified buffer of a core (192 KiB).",
        "There is no float64, no inline PTX and no libdevice of CUDA.",
    ),
    visible=("ASCEND_RT_VISIBLE_DEVICES",),
    signs=Signs(
        nodes=("dev/davinci[0-9]*", "dev/davinci_manager"), modules=("torch_npu",), tools=("npu-smi",),
        paths=("usr/local/Ascend",), names=r"ascend",
    ),
    unsupported=frozenset({"float64", "complex128"}),
    bounds=Bounds(shared_bytes=192 << 10, programs=65535),
    imports=("torch_npu",),
    initialise=("import torch_npu",),
)  # fmt: skip
