"""Intel GPUs through torch's XPU device. Declared from documentation; nobody has run it here yet."""

from kgb_gym.platforms.declaration import Platform, Signs

PLATFORM = Platform(
    name="intel",
    device="xpu",
    dispatch_key="XPU",
    default_suite="paper",
    timed=False,
    interpreted=False,
    noun="Intel GPU",
    notes=(
        "Tensors are on `xpu`. Kernels are compiled by Intel's Triton backend for the GPU at hand.",
        "Some of these GPUs have no native float64.",
        "Inline PTX and CUDA's libdevice do not exist.",
    ),
    visible=("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"),
    signs=Signs(
        nodes=("dev/dri/renderD*",), torch=("xpu",), modules=("intel_extension_for_pytorch",), tools=("xpu-smi",),
        names=r"intel|\barc\b|data center gpu|\biris\b",
    ),
)  # fmt: skip
