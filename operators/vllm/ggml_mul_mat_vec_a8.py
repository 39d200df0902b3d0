"""Product with GGML's quantised weights (vLLM `ggml_mul_mat_vec_a8`)."""

from __future__ import annotations

from kgb_gym.operators.vllm.families import ggml_products

PUBLISHED = (
    (64, 32, 2), (128, 64, 2), (256, 128, 2), (256, 256, 2), (512, 128, 2), (512, 256, 2), (512, 512, 2), (1024, 128, 2),
    (1024, 256, 2), (1024, 512, 2), (2048, 256, 2), (2048, 512, 2), (4096, 512, 2),
)  # fmt: skip

OPERATOR = ggml_products.operator(
    "ggml_mul_mat_vec_a8",
    "few rows",
    ggml_products.suites(
        [(*shape, 1) for shape in PUBLISHED], lambda p: p[0] >= 256 and p[1] >= 128, (1, 2, 5, 8), (2, 1)
    ),
)
