"""Matrix product in complex fp32 (cublasCgemm_v2)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm

OPERATOR = gemm("cublasCgemm_v2", torch.complex64)
