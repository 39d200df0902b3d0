"""Batched matrix product, items by pointers, in fp64 (cublasDgemmBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_batched

OPERATOR = gemm_batched("cublasDgemmBatched", torch.float64)
