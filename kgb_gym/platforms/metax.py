"""MetaX GPUs through MACA, a CUDA-compatible stack. Declared from documentation; nobody has run it here yet."""

from kgb_gym.platforms.declaration import Blas, Platform, Signs

PLATFORM = Platform(
    name="metax",
    device="cuda",
    dispatch_key="CUDA",
    default_suite="paper",
    timed=True,
    interpreted=False,
    noun="MetaX GPU",
    notes=(
        "Tensors are on `cuda`: MACA keeps that name. Kernels are compiled by the vendor's Triton.",
        "A wave has 64 lanes. Inline PTX does not exist, and parts of CUDA's libdevice are missing.",
    ),
    visible=("CUDA_VISIBLE_DEVICES",),
    signs=Signs(
        nodes=("dev/mxcd",), torch=("cuda", "maca"), tools=("mx-smi",), paths=("opt/maca",), names=r"metax|\bmx?c\d{3}",
    ),
    timer="torch.cuda",
    blas=Blas("libmcblas.so", "mcblas"),
)  # fmt: skip
