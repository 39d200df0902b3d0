"""Iluvatar GPUs through CoreX, a CUDA-compatible stack. Declared from documentation; nobody has run it here yet."""

from kgb_gym.platforms.declaration import Blas, Platform, Signs

PLATFORM = Platform(
    name="iluvatar",
    device="cuda",
    dispatch_key="CUDA",
    default_suite="paper",
    timed=True,
    interpreted=False,
    noun="Iluvatar GPU",
    notes=(
        "Tensors are on `cuda`: CoreX keeps that name. Kernels are compiled by the vendor's Triton.",
        "A warp has 64 lanes. Inline PTX does not exist, and parts of CUDA's libdevice are missing.",
    ),
    visible=("CUDA_VISIBLE_DEVICES",),
    signs=Signs(
        nodes=("dev/iluvatar*",), torch=("cuda", "corex"), tools=("ixsmi",), paths=("usr/local/corex",),
        names=r"iluvatar|\bbi-v\d|\bmr-v\d",
    ),
    timer="torch.cuda",
    blas=Blas("libcublas.so", "cublas", keeps_v2=True),
)  # fmt: skip
