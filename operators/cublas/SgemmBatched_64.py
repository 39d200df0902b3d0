"""Batched matrix product, items by pointers, with 64-bit sizes, in fp32 (cublasSgemmBatched_64)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_batched

OPERATOR = gemm_batched("cublasSgemmBatched_64", torch.float32)
