"""Published numbers of the KernelGenBench paper, exactly as printed: rows of Tables 2, 3, 4, 13 and 16. Tables 11, 12,
14, 15, 17 and 18 stand in `published_appendix`.

Where the paper contradicts itself (Table 3's NVIDIA column repeats Table 2's ATen column with differences), both stand
as printed.
"""

from __future__ import annotations

from dataclasses import dataclass

SCOPES = ("Overall (210)", "ATen (110)", "vLLM (50)", "cuBLAS (50)")
PLATFORMS = ("NVIDIA", "Platform A", "Platform B", "Platform C", "Platform D", "Platform E")


@dataclass(frozen=True)
class PublishedRow:
    """One printed row."""

    section: str
    """The paradigm it stands under; empty where the table has none."""
    label: str
    """As printed, such as `Pass@5 (Opus-4.6)`."""
    cells: tuple[str, ...]
    """The printed cells, from left to right."""


def rows(section: str, text: str) -> tuple[PublishedRow, ...]:
    """Rows from text: a line each, cells between bars, the label first."""
    split = (line.split("|") for line in text.strip().splitlines())
    return tuple(PublishedRow(section, label.strip(), tuple(c.strip() for c in cells)) for label, *cells in split)


TABLE_2 = (
    *rows(
        "LLM Sampling Methods",
        """
    Pass@1 (Opus-4.6)      | 41 | 0.70 | 39 | 0.90 | 20 | 0.76 | 68 | 0.49
    Pass@1 (GLM-5.0)       | 21 | 0.68 | 21 | 0.49 | 24 | 1.24 | 20 | 0.73
    Pass@1 (Qwen3.5-27b)   |  7 | 0.85 |  8 | 0.83 |  2 | 2.05 |  8 | 0.71
    Pass@1 (MiniMax M-2.5) |  2 | 0.88 |  4 | 0.88 |  0 | 0.00 |  0 | 0.00
    Pass@5 (Opus-4.6)      | 57 | 0.68 | 62 | 0.79 | 28 | 0.71 | 74 | 0.49
    Pass@5 (GLM-5.0)       | 36 | 0.77 | 45 | 0.64 | 32 | 1.28 | 20 | 0.76
    Pass@5 (Qwen3.5-27b)   | 11 | 1.01 | 13 | 1.04 | 12 | 0.70 |  8 | 0.68
    Pass@5 (MiniMax M-2.5) | 17 | 0.69 | 21 | 0.76 | 18 | 1.27 |  2 | 0.46
    """,
    ),
    *rows(
        "Vanilla Agentic Frameworks",
        """
    Claude Code (Opus-4.6)      | 87 | 0.78 | 92 | 0.86 | 68 | 1.02 | 94 | 0.51
    Claude Code (GLM-5.0)       | 67 | 0.83 | 72 | 0.88 | 52 | 1.23 | 72 | 0.53
    Claude Code (Qwen3.5-27b)   | 62 | 0.70 | 80 | 0.68 | 38 | 1.17 | 48 | 0.50
    Claude Code (MiniMax M-2.5) | 49 | 0.69 | 69 | 0.78 | 26 | 0.46 | 26 | 0.58
    OpenCode (Opus-4.6)         | 81 | 0.73 | 92 | 0.82 | 46 | 0.97 | 92 | 0.50
    OpenCode (GLM-5.0)          | 72 | 0.69 | 87 | 0.71 | 42 | 0.94 | 70 | 0.51
    OpenCode (Qwen3.5-27b)      | 53 | 0.78 | 58 | 0.75 | 44 | 1.31 | 52 | 0.58
    OpenCode (MiniMax M-2.5)    | 41 | 0.62 | 50 | 0.77 | 26 | 0.44 | 36 | 0.42
    """,
    ),
    *rows(
        "Kernel-Specialized Agents",
        """
    AKO4all (Opus-4.6)              | 83 | 0.97 | 91 | 1.00 | 64 | 1.62 | 84 | 0.61
    CUDA Opt. Skill (MiniMax M-2.5) | 45 | 0.80 | 63 | 0.81 | 24 | 0.92 | 28 | 0.45
    AutoKernel (GLM-5.0)            | 71 | 0.99 | 87 | 1.00 | 43 | 1.40 | 66 | 0.75
    AutoKernel (Qwen3.5-27b)        | 47 | 1.02 | 69 | 1.00 | 16 | 1.63 | 30 | 0.80
    AutoKernel (MiniMax M-2.5)      | 43 | 0.89 | 66 | 0.87 | 20 | 1.52 | 16 | 0.46
    """,
    ),
)
"""Accuracy (%) and speedup (x) by scope: overall, ATen, vLLM, cuBLAS."""

TABLE_3 = (
    *rows(
        "LLM Sampling Methods",
        """
    Pass@1 (Opus-4.6)      | 39 | 0.90 | 46 | 0.19 | 44 | 0.69 | 37 | 0.98 | 38 | 0.89 | 38 | 0.88
    Pass@1 (Qwen3.5-27b)   |  8 | 0.83 |  9 | 0.09 |  3 | 1.02 |  7 | 0.90 |  7 | 0.98 | 10 | 1.03
    Pass@1 (MiniMax M-2.5) |  4 | 0.88 |  4 | 0.25 |  6 | 1.33 |  4 | 1.05 |  5 | 0.77 |  4 | 1.15
    Pass@5 (Opus-4.6)      | 62 | 0.79 | 63 | 0.15 | 60 | 0.74 | 54 | 0.92 | 65 | 0.68 | 57 | 0.83
    Pass@5 (Qwen3.5-27b)   | 13 | 1.04 | 16 | 0.18 | 11 | 1.10 | 15 | 0.72 | 10 | 0.99 | 17 | 1.02
    Pass@5 (MiniMax M-2.5) | 21 | 0.76 | 17 | 0.20 | 15 | 0.53 | 12 | 1.05 |  8 | 0.33 |  9 | 0.76
    """,
    ),
    *rows(
        "Vanilla Agentic Frameworks",
        """
    Claude Code (Opus-4.6)      | 92 | 0.86 | 89 | 0.18 | 93 | 0.80 | 88 | 0.87 | 96 | 0.89 | 83 | 0.83
    Claude Code (GLM-5.0)       | 67 | 0.83 | 65 | 0.16 | 65 | 0.96 | 65 | 0.81 | 59 | 0.90 | 37 | 0.77
    Claude Code (Qwen3.5-27b)   | 80 | 0.68 | 78 | 0.25 | 75 | 0.61 | 75 | 0.85 | 82 | 0.77 | 23 | 0.81
    Claude Code (MiniMax M-2.5) | 69 | 0.78 | 69 | 0.16 | 74 | 0.59 | 73 | 0.72 | 83 | 0.63 | 69 | 0.58
    """,
    ),
    *rows(
        "Kernel-Specialized Agents",
        """
    AKO4all (Opus-4.6)              | 89 | 1.00 | 84 | 0.30 | 88 | 1.09 | 88 | 1.08 | 86 | 1.12 | 80 | 1.07
    CUDA Opt. Skill (MiniMax M-2.5) | 63 | 0.81 | 53 | 0.21 | 64 | 0.77 | 65 | 0.81 | 67 | 0.77 | 58 | 0.79
    AutoKernel (GLM-5.0)            | 87 | 1.00 | 53 | 0.82 | 56 | 1.01 | 64 | 0.99 | 59 | 1.00 | 25 | 1.01
    AutoKernel (Qwen3.5-27b)        | 69 | 1.00 | 40 | 0.37 | 75 | 1.03 | 65 | 1.00 | 74 | 1.04 | 21 | 1.01
    AutoKernel (MiniMax M-2.5)      | 66 | 0.87 | 61 | 0.66 | 71 | 1.36 | 66 | 0.99 | 71 | 1.04 | 50 | 1.02
    """,
    ),
)
"""Accuracy (%) and speedup (x) on 110 ATen operators by platform."""

TABLE_4 = (
    *rows(
        "",
        """
    Claude Code (Opus-4.6)          | 263 | 1.45 |  33
    Claude Code (GLM-5.0)           | 243 | 1.67 |  45
    Claude Code (Qwen3.5-27b)       | 381 | 2.93 |  48
    Claude Code (MiniMax M-2.5)     | 340 | 3.30 |  50
    AKO4all (Opus-4.6)              | 904 | 5.19 |  83
    CUDA Opt. Skill (MiniMax M-2.5) | 594 | 6.75 |  97
    AutoKernel (GLM-5.0)            | 471 | 3.16 | 102
    AutoKernel (Qwen3.5-27b)        | 475 | 4.80 | 102
    AutoKernel (MiniMax M-2.5)      | 508 | 5.64 | 105
    """,
    ),
)
"""Total tokens (M), tokens per success (M), total time (h)."""

TABLE_13 = (
    *rows(
        "LLM Sampling Methods",
        """
    Pass@1 (Opus-4.6)      | 22 | 17 | 2 | 32 | 24 | 1 | 12 | 12 | 4 | 12 | 6 | 2
    Pass@1 (GLM-5.0)       |  7 |  6 | 2 |  6 |  5 | 0 | 10 | 10 | 6 |  4 | 4 | 4
    Pass@1 (Qwen3.5-27b)   |  5 |  3 | 0 |  7 |  5 | 0 |  2 |  2 | 2 |  4 | 0 | 0
    Pass@1 (MiniMax M-2.5) |  1 |  1 | 0 |  3 |  3 | 0 |  0 |  0 | 0 |  0 | 0 | 0
    Pass@5 (Opus-4.6)      | 32 | 21 | 3 | 47 | 31 | 3 | 18 | 14 | 4 | 12 | 6 | 4
    Pass@5 (GLM-5.0)       | 15 | 11 | 4 | 20 | 11 | 2 | 16 | 16 | 8 | 10 | 8 | 4
    Pass@5 (Qwen3.5-27b)   |  9 |  7 | 2 | 12 | 10 | 1 |  8 |  6 | 6 |  4 | 0 | 0
    Pass@5 (MiniMax M-2.5) | 10 |  8 | 1 | 16 | 12 | 1 |  4 |  4 | 2 |  4 | 2 | 2
    """,
    ),
    *rows(
        "Vanilla Agentic Frameworks",
        """
    Claude Code (Opus-4.6)      | 51 | 35 | 6 | 69 | 44 | 4 | 48 | 40 | 14 | 14 | 10 | 4
    Claude Code (GLM-5.0)       | 40 | 27 | 6 | 54 | 32 | 4 | 36 | 32 | 12 | 16 | 12 | 4
    Claude Code (Qwen3.5-27b)   | 35 | 23 | 5 | 53 | 33 | 4 | 26 | 20 | 10 |  6 |  6 | 4
    Claude Code (MiniMax M-2.5) | 29 | 17 | 1 | 45 | 25 | 1 | 16 | 14 |  2 |  4 |  2 | 2
    OpenCode (Opus-4.6)         | 51 | 33 | 5 | 74 | 47 | 5 | 34 | 22 |  4 | 20 | 14 | 6
    OpenCode (GLM-5.0)          | 47 | 33 | 5 | 65 | 46 | 5 | 36 | 28 |  8 | 18 | 10 | 4
    OpenCode (Qwen3.5-27b)      | 32 | 26 | 4 | 40 | 29 | 1 | 38 | 36 | 14 |  8 |  8 | 2
    OpenCode (MiniMax M-2.5)    | 22 | 12 | 2 | 35 | 17 | 0 | 12 | 10 |  6 |  4 |  4 | 2
    """,
    ),
    *rows(
        "Kernel-Specialized Agents",
        """
    AKO4all (Opus-4.6)              | 65 | 47 | 10 | 85 | 59 | 6 | 56 | 50 | 20 | 30 | 16 | 10
    CUDA Opt. Skill (MiniMax M-2.5) | 28 | 18 |  4 | 42 | 25 | 4 | 16 | 10 |  4 |  6 |  0 |  0
    AutoKernel (GLM-5.0)            | 60 | 38 |  4 | 87 | 53 | 0 | 34 | 32 | 12 | 22 | 10 |  6
    AutoKernel (Qwen3.5-27b)        | 42 | 28 |  3 | 69 | 44 | 0 | 16 | 16 |  6 |  8 |  6 |  4
    AutoKernel (MiniMax M-2.5)      | 39 | 24 |  2 | 66 | 37 | 0 | 18 | 18 |  8 |  2 |  2 |  2
    """,
    ),
)
"""fast_0.8, fast_1.0, fast_1.5 (%) by scope."""

TABLE_16 = (
    *rows(
        "",
        """
    Opus-4.6 |  3 |           3 vLLM |  7 |           7 ATen
    Opus-4.5 |  3 |  2 ATen + 1 vLLM |  2 |  1 ATen + 1 vLLM
    GPT-5.4  |  3 |           3 ATen |  8 |           8 ATen
    GPT-5.2  |  3 |           3 ATen |  5 |           5 ATen
    GLM-5.0  |  1 |           1 ATen |  1 |           1 ATen
    GLM-4.7  |  0 |                — |  7 |           7 ATen
    Total    | 13 | 10 ATen + 3 vLLM | 30 | 29 ATen + 1 vLLM
    """,
    ),
)
"""Hacks and their subsets under Pass@1, then under Pass@5."""
