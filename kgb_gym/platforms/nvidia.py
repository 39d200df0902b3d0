"""NVIDIA GPUs: compiled, timed, profiled."""

from kgb_gym.platforms.declaration import LAYERS, Blas, Bounds, Platform, Signs

PLATFORM = Platform(
    name="nvidia",
    device="cuda",
    dispatch_key="CUDA",
    default_suite="paper",
    timed=True,
    interpreted=False,
    layers=(*LAYERS, "profile"),
    noun="NVIDIA GPU",
    notes=(
        (
            "Tensors are on `cuda`; kernels are compiled by Triton for the GPU that is present and timed against the "
            "baseline on it."
        ),
    ),
    visible=("CUDA_VISIBLE_DEVICES",),
    signs=Signs(
        nodes=("dev/nvidia[0-9]*", "dev/nvidiactl"),
        torch=("cuda",),
        tools=("nvidia-smi",),
        names=r"nvidia|tesla|geforce|quadro|rtx|gtx|\b[ahbvl]\d{1,3}\b|gb?\d{3}\b|orin|thor",
        needs_software=False,
    ),
    bounds=Bounds(programs=2**31 - 1),
    timer="torch.cuda",
    blas=Blas("libcublas.so", "cublas", keeps_v2=True),
    sources=("aten", "vllm", "cublas"),
)
