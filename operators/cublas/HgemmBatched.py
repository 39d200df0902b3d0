"""Batched matrix product, items by pointers, in fp16 (cublasHgemmBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_batched

OPERATOR = gemm_batched("cublasHgemmBatched", torch.float16)
