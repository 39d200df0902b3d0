"""Triangular solve of one right-hand side in fp32 (cublasStrsv_v2)."""

import torch

from kgb_gym.operators.cublas.families.triangular import trsv

OPERATOR = trsv("cublasStrsv_v2", torch.float32)
