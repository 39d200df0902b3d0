"""AMD GPUs through ROCm, whose torch calls its devices `cuda`. Declared from documentation; nobody has run it here yet."""

from kgb_gym.platforms.declaration import Blas, Bounds, Platform, Signs

PLATFORM = Platform(
    name="amd",
    device="cuda",
    dispatch_key="CUDA",
    default_suite="paper",
    timed=True,
    interpreted=False,
    compile_targets=("hip:gfx942",),
    noun="AMD GPU",
    notes=(
        "Tensors are on `cuda`: torch for ROCm keeps that name. Kernels are compiled by Triton for the GPU at hand.",
        "A wavefront has 64 lanes on Instinct (gfx9) and 32 on Radeon (gfx10 and later); `num_warps` counts wavefronts.",
        "Local memory (LDS) is 64 KiB a program: keep tiles times `num_stages` below it.",
        "Inline PTX and CUDA's libdevice do not exist; `tl.extra.libdevice` maps to OCML, which lacks some functions.",
    ),
    visible=("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    signs=Signs(
        nodes=("dev/kfd",), torch=("hip",), tools=("rocm-smi", "amd-smi", "rocminfo"), paths=("opt/rocm",),
        names=r"amd|radeon|instinct|\bmi\d{2,3}",
    ),
    bounds=Bounds(shared_bytes=64 << 10),
    timer="torch.cuda",
    blas=Blas("libhipblas.so", "hipblas"),
)  # fmt: skip
