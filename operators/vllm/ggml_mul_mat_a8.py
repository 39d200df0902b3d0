"""Product with GGML's quantised weights (vLLM `ggml_mul_mat_a8`)."""

from __future__ import annotations

from kgb_gym.operators.vllm.families import ggml_products

PUBLISHED = (
    (64, 32, 2, 4), (128, 64, 2, 4), (256, 128, 2, 4), (256, 128, 2, 8), (256, 256, 2, 4), (256, 256, 2, 8),
    (512, 128, 2, 4), (512, 256, 2, 4), (512, 256, 2, 8), (512, 512, 2, 4), (512, 512, 2, 8), (1024, 256, 2, 4),
    (1024, 512, 2, 8),
)  # fmt: skip

OPERATOR = ggml_products.operator(
    "ggml_mul_mat_a8",
    "many rows",
    ggml_products.suites(PUBLISHED, lambda p: p[0] >= 256 and p[1] >= 128, (7, 64, 2050), (3, 20)),
)
