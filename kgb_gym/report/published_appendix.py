"""Published numbers of the KernelGenBench paper's appendix, exactly as printed: rows of Tables 11, 12, 14, 15, 17
and 18. A hyphen is what the paper prints where it has no number.
"""

from __future__ import annotations

from kgb_gym.report.published import rows

TABLE_11 = (
    *rows(
        "LLM Sampling Methods",
        """
    Pass@1 (Opus-4.5) | 35 | 0.78 | 33 | 0.94 | 22 | 0.83 | 54 | 0.59
    Pass@1 (GPT-5.4)  | 21 | 0.69 | 21 | 0.76 | 30 | 0.54 | 12 | 0.65
    Pass@1 (GPT-5.2)  | 21 | 0.55 | 24 | 0.53 | 22 | 0.64 | 12 | 0.57
    Pass@1 (GLM-4.7)  | 12 | 0.56 | 15 | 0.49 | 10 | 1.30 | 10 | 0.35
    Pass@5 (Opus-4.5) | 50 | 0.73 | 53 | 0.91 | 28 | 0.88 | 64 | 0.46
    Pass@5 (GPT-5.4)  | 35 | 0.72 | 41 | 0.87 | 38 | 0.44 | 20 | 0.60
    Pass@5 (GPT-5.2)  | 38 | 0.52 | 47 | 0.49 | 36 | 0.58 | 18 | 0.56
    Pass@5 (GLM-4.7)  | 23 | 0.67 | 26 | 0.55 | 22 | 1.10 | 20 | 0.70
    """,
    ),
)
"""Accuracy (%) and speedup (x) of earlier models by scope."""

TABLE_12 = (
    *rows(
        "LLM Sampling Methods",
        """
    Pass@1 (Opus-4.5) | 20 | 16 | 2 | 25 | 22 | 2 | 16 | 14 | 6 | 10 | 4 | 0
    Pass@1 (GPT-5.4)  | 12 |  9 | 0 | 17 | 12 | 1 |  8 |  6 | 0 |  6 | 4 | 0
    Pass@1 (GPT-5.2)  |  9 |  7 | 1 | 15 | 10 | 2 |  6 |  6 | 2 |  0 | 0 | 0
    Pass@1 (GLM-4.7)  |  7 |  5 | 1 |  8 |  5 | 1 | 10 | 10 | 4 |  0 | 0 | 0
    Pass@5 (Opus-4.5) | 30 | 21 | 4 | 43 | 31 | 3 | 20 | 14 | 8 | 12 | 6 | 2
    Pass@5 (GPT-5.4)  | 21 | 13 | 1 | 33 | 21 | 1 | 10 |  6 | 2 |  8 | 4 | 0
    Pass@5 (GPT-5.2)  | 18 | 11 | 1 | 28 | 18 | 1 |  8 |  6 | 4 |  4 | 0 | 0
    Pass@5 (GLM-4.7)  | 12 |  8 | 3 | 15 |  7 | 1 | 14 | 12 | 8 |  4 | 4 | 2
    """,
    ),
)
"""fast_0.8, fast_1.0, fast_1.5 (%) of earlier models by scope."""

TABLE_14 = (
    *rows(
        "LLM Sampling Methods",
        """
    Pass@1 (Opus-4.6)      | 32 | 24 | 1 |  9 | 6 | 5 | 30 | 21 |  8 | 31 | 16 | 4 | 26 | 18 | 1 | 28 | 22 | 3
    Pass@1 (Qwen3.5-27b)   |  7 |  6 | 0 |  1 | 1 | 0 |  3 |  1 |  0 |  6 |  4 | 0 |  6 |  3 | 0 |  5 |  3 | 0
    Pass@1 (MiniMax M-2.5) |  3 |  3 | 0 |  1 | 1 | 0 |  6 |  3 |  3 |  4 |  2 | 0 |  5 |  4 | 0 |  4 |  4 | 0
    Pass@5 (Opus-4.6)      | 35 | 18 | 5 | 11 | 8 | 6 | 42 | 33 | 14 | 43 | 27 | 5 | 51 | 33 | 3 | 41 | 33 | 5
    Pass@5 (Qwen3.5-27b)   | 12 | 10 | 1 |  4 | 2 | 0 | 10 |  7 |  3 | 13 | 11 | 0 | 10 |  2 | 0 | 14 |  7 | 0
    Pass@5 (MiniMax M-2.5) | 16 | 12 | 1 |  4 | 3 | 0 |  8 |  3 |  2 | 10 |  8 | 2 |  6 |  3 | 0 |  8 |  7 | 0
    """,
    ),
    *rows(
        "Vanilla Agentic Frameworks",
        """
    Claude Code (Opus-4.6)      | 69 | 44 | 4 | 12 | 9 | 6 | 61 | 45 | 23 | 65 | 46 |  6 | 67 | 42 | 3 | 60 | 39 | 6
    Claude Code (GLM-5.0)       | 40 | 27 | 6 |  9 | 6 | 6 | 47 | 35 | 22 | 41 | 24 |  2 | 40 | 26 | 0 | 44 | 30 | 4
    Claude Code (Qwen3.5-27b)   | 53 | 33 | 4 | 16 | 9 | 7 | 43 | 31 | 12 | 58 | 47 | 11 | 61 | 39 | 5 | 19 | 11 | 2
    Claude Code (MiniMax M-2.5) | 46 | 46 | 1 |  8 | 7 | 6 | 46 | 36 | 16 | 44 | 31 |  3 | 51 | 25 | 2 | 46 | 31 | 5
    """,
    ),
    *rows(
        "Kernel-Specialized Agents",
        """
    AKO4all (Opus-4.6)              | 83 | 57 | 6 | 16 | 12 | 7 | 81 | 55 |  8 | 79 | 56 | 10 | 82 | 60 | 10 | 75 | 48 | 7
    CUDA Opt. Skill (MiniMax M-2.5) | 42 | 25 | 4 |  9 |  7 | 5 | 45 | 29 | 13 | 41 | 27 |  4 | 43 | 23 |  1 | 38 | 24 | 3
    AutoKernel (GLM-5.0)            | 87 | 53 | 0 | 47 | 25 | 0 | 56 | 28 |  1 | 57 | 29 |  2 | 59 | 28 |  0 | 26 | 21 | 0
    AutoKernel (Qwen3.5-27b)        | 69 | 44 | 0 | 18 | 12 | 3 | 75 | 38 |  3 | 64 | 36 |  2 | 72 | 41 |  1 | 19 | 16 | 0
    AutoKernel (MiniMax M-2.5)      | 66 | 37 | 0 | 44 | 26 | 2 | 70 | 53 | 15 | 64 | 35 |  0 | 70 | 35 |  1 | 48 | 37 | 0
    """,
    ),
)
"""fast_0.8, fast_1.0, fast_1.5 (%) on 110 ATen operators by platform."""

TABLE_15 = (
    *rows(
        "Vanilla Agentic Frameworks",
        """
    Claude Code (Opus-4.6)      |  84 | 0.83 |  9 | 173 | 1.77 | 18 | 128 | 1.25 | 16 | 107 | 1.11 | 15 | 111 | 1.05 | 15 | 123 | 1.35 | 16
    Claude Code (GLM-5.0)       | 243 | 1.67 | 45 | 197 | 2.65 | 43 | 174 | 2.43 | 44 | 186 | 2.74 | 35 | 233 | 1.52 | 40 | 234 | 5.71 | 47
    Claude Code (Qwen3.5-27b)   | 175 | 1.59 | 48 | 199 | 2.32 | 34 | 243 | 2.96 | 37 | 202 | 2.46 | 52 | 211 | 2.34 | 55 |   - |    - |  -
    Claude Code (MiniMax M-2.5) | 191 | 1.73 | 50 | 282 | 3.70 | 32 | 255 | 3.21 | 44 | 172 | 2.15 | 51 | 175 | 1.92 | 41 | 247 | 3.25 | 42
    """,
    ),
    *rows(
        "Kernel-Specialized Agents",
        """
    AKO4all (Opus-4.6)              | 422 | 4.39 | 44 | 397 | 4.31 | 42 | 396 | 4.08 | 46 | 381 | 3.89 | 35 | 412 | 3.90 | 39 | 423 | 4.27 | 48
    CUDA Opt. Skill (MiniMax M-2.5) | 294 | 4.26 | 30 | 187 | 3.53 | 22 | 289 | 4.13 | 32 | 261 | 3.68 | 31 | 304 | 4.10 | 34 | 336 | 4.10 | 47
    AutoKernel (GLM-5.0)            | 113 | 1.17 | 47 | 231 | 3.99 | 55 | 200 | 3.23 | 54 | 174 | 2.48 | 55 | 167 | 2.58 | 54 | 151 | 5.39 | 47
    AutoKernel (Qwen3.5-27b)        | 133 | 1.74 | 36 | 136 | 3.17 | 55 | 178 | 2.15 | 51 | 131 | 1.82 | 54 | 141 | 1.74 | 50 | 166 | 7.22 | 53
    AutoKernel (MiniMax M-2.5)      | 162 | 2.21 | 37 | 245 | 3.66 | 55 | 226 | 2.89 | 45 | 211 | 2.89 | 53 | 209 | 2.66 | 54 | 248 | 4.59 | 54
    """,
    ),
)
"""Tokens (M), tokens per success (M) and time (h) on 110 ATen operators by platform."""

TABLE_17 = (
    *rows(
        "",
        """
    Pass@1 (Temp=0)   |        No feedback |          Single greedy generation |  41 | 0.70 |  39 | 0.90 |  20 | 0.76 |  68 | 0.49
    Single-step Agent |        No feedback |             Single-step tool call |  44 | 0.80 |  50 | 0.82 |  24 | 1.02 |  50 | 0.68
    Pass@5 No-Reflect |      Text feedback |    Independent sampling, 5 rounds |  57 | 0.68 |  62 | 0.79 |  28 | 0.71 |  74 | 0.49
    Pass@5 Reflection |      Text feedback | Fixed traceback-driven reflection |  60 | 0.72 |  72 | 0.79 |  24 | 0.92 |  68 | 0.52
    Claude Code       | Execution feedback |  Autonomous interactive debugging |  87 | 0.78 |  92 | 0.86 |  68 | 1.02 |  94 | 0.51
    AKO4all           | Execution feedback |          Kernel-specialized agent |  83 | 0.97 |  91 | 1.00 |  64 | 1.62 |  84 | 0.61
    """,
    ),
)
"""The ablation on Opus-4.6: mode, feedback, iteration method, then accuracy (%) and speedup (x) by scope."""

TABLE_18 = (
    *rows(
        "",
        """
    _to_copy                         | 86.4% | 40.4%
    add                              | 90.5% | 39.9%
    affine_grid_generator            | 78.5% | 43.1%
    bernoulli                        | 88.2% | 28.6%
    binary_cross_entropy_with_logits | 84.5% | 28.5%
    cumsum                           | 86.6% | 43.7%
    div                              | 67.5% | 26.4%
    empty_strided                    | 87.0% | 52.8%
    huber_loss                       | 96.0% | 25.1%
    i0                               | 90.6% | 16.7%
    linear                           | 91.4% | 58.7%
    matmul                           | 92.2% | 34.8%
    mean                             | 97.1% | 28.9%
    mish_backward                    | 94.7% | 43.6%
    mm                               | 94.4% | 58.2%
    mul                              | 97.0% | 30.7%
    poisson                          | 87.3% | 21.3%
    pow                              | 92.5% | 36.0%
    rrelu_with_noise                 | 91.0% | 45.0%
    sort                             | 71.2% | 17.8%
    sub                              | 91.2% | 42.3%
    Overall Avg.                     | 88.4% | 36.3%
    """,
    ),
)
"""Cross-round code similarity of operators that reflection and no-reflection both failed."""
