"""Triangular solve of many right-hand sides in fp32 (cublasStrsm_v2)."""

import torch

from kgb_gym.operators.cublas.families.triangular import trsm

OPERATOR = trsm("cublasStrsm_v2", torch.float32)
