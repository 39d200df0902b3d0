"""Moore Threads GPUs through torch_musa. Declared from documentation; nobody has run it here yet."""

from kgb_gym.platforms.declaration import Blas, Platform, Signs

PLATFORM = Platform(
    name="musa",
    device="musa",
    dispatch_key="PrivateUse1",
    default_suite="paper",
    timed=False,
    interpreted=False,
    noun="Moore Threads GPU",
    notes=(
        "Tensors are on `musa`; kernels are compiled by the vendor's Triton.",
        "Inline PTX and CUDA's libdevice do not exist: write functions that `tl` lacks from primitive operations.",
    ),
    visible=("MUSA_VISIBLE_DEVICES",),
    signs=Signs(
        nodes=("dev/mtgpu*",), modules=("torch_musa",), tools=("mthreads-gmi",), paths=("usr/local/musa",),
        names=r"moore|mtt",
    ),
    imports=("torch_musa",),
    initialise=("import torch_musa",),
    blas=Blas("libmublas.so", "mublas"),
)  # fmt: skip
