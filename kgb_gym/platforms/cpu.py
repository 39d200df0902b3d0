"""The CPU: Triton's interpreter, correctness only."""

from kgb_gym.platforms.declaration import Platform

PLATFORM = Platform(
    name="cpu",
    device="cpu",
    dispatch_key="CPU",
    default_suite="quick",
    timed=False,
    interpreted=True,
    noun="GPU",
    notes=(
        (
            "Kernels are checked in Triton's interpreter on CPU tensors and compiled ahead of time for NVIDIA sm_90; "
            "nothing is timed here."
        ),
    ),
    sources=("aten", "vllm", "cublas"),
)
