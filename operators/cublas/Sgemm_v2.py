"""Matrix product in fp32 (cublasSgemm_v2)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm

OPERATOR = gemm("cublasSgemm_v2", torch.float32)
