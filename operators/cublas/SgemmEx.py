"""Matrix product of operands of other types in fp32 (cublasSgemmEx)."""

import torch

from kgb_gym.operators.cublas.families.gemm_ex import gemm_ex

OPERATOR = gemm_ex("cublasSgemmEx", torch.float32)
