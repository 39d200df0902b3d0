"""NVIDIA GPUs: compiled, timed, profiled."""

from kgb_gym.platforms.declaration import Platform

PLATFORM = Platform(
    name="nvidia",
    device="cuda",
    dispatch_key="CUDA",
    default_suite="paper",
    timed=True,
    interpreted=False,
    layers=("screen", "audit", "ghost", "play", "hidden", "contract", "state"),
    noun="NVIDIA GPU",
    notes=(
        (
            "Tensors are on `cuda`; kernels are compiled by Triton for the GPU that is present and timed against the "
            "baseline on it."
        ),
    ),
)
