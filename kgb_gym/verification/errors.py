"""Exceptions of a submission as data, with its own frames only."""

from __future__ import annotations

import traceback
from typing import Any

MAX_TRACE = 4000


def describe_error(error: BaseException, filename: str) -> dict[str, Any]:
    """An exception with the submission's own frames only."""
    try:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == filename]
        lines = [f"  line {f.lineno}, in {f.name}: {(f.line or '').strip()}" for f in frames[-8:]]
        text = f"{type(error).__name__}: {error}"[:MAX_TRACE]
        return {
            "type": type(error).__name__, "text": text, "trace": "\n".join([*lines, text])[:MAX_TRACE],
            "line": frames[-1].lineno if frames else getattr(error, "lineno", None),
        }  # fmt: skip
    except BaseException:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        return {"type": "Exception", "text": "an exception that cannot be shown", "trace": "", "line": None}
