"""Scaled vector addition in fp32 (cublasSaxpy_v2)."""

import torch

from kgb_gym.operators.cublas.families.axpy import axpy

OPERATOR = axpy("cublasSaxpy_v2", torch.float32)
