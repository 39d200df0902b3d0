"""Hygon DCUs through DTK, a relative of ROCm. Declared from documentation; nobody has run it here yet."""

from kgb_gym.platforms.declaration import Blas, Bounds, Platform, Signs

PLATFORM = Platform(
    name="hygon",
    device="cuda",
    dispatch_key="CUDA",
    default_suite="paper",
    timed=True,
    interpreted=False,
    compile_targets=("hip:gfx942",),
    noun="Hygon DCU",
    notes=(
        "Tensors are on `cuda`: torch for DTK keeps that name. Kernels are compiled by the vendor's Triton.",
        "A wavefront has 64 lanes; local memory (LDS) is 64 KiB a program.",
        "Inline PTX and CUDA's libdevice do not exist: write functions that `tl` lacks from primitive operations.",
    ),
    visible=("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    signs=Signs(
        nodes=("dev/kfd", "dev/mkfd"), torch=("hip",), tools=("hy-smi",), paths=("opt/dtk", "opt/hyhal"),
        names=r"hygon|\bdcu\b|\b[zk]100|\bbw\d{3,4}",
    ),
    bounds=Bounds(shared_bytes=64 << 10),
    timer="torch.cuda",
    blas=Blas("libhipblas.so", "hipblas"),
)  # fmt: skip
