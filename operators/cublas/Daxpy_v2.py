"""Scaled vector addition in fp64 (cublasDaxpy_v2)."""

import torch

from kgb_gym.operators.cublas.families.axpy import axpy

OPERATOR = axpy("cublasDaxpy_v2", torch.float64)
