"""A model's own script beside its kernel: runs in a process of its own, and is never scored.

The script may do what a Python program may, within the same fences as a submission: no network, no programs, nothing
written outside its scratch folder, nothing of this project read.
"""

from __future__ import annotations

import runpy
import socket
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from kgb_gym.verification import wire
from kgb_gym.verification.answers import printable
from kgb_gym.verification.errors import describe_error
from kgb_gym.verification.protocols import Ended

MODULE = "kernel"
"""What the script imports the submission as."""
MAX_PRINTED = 8000
"""Characters of the script's output that are told."""


def serve(sock: socket.socket, config: Mapping[str, Any]) -> None:
    """The life of the process: one script, then the end.

    Args:
        sock: connected to the judge.
        config: `scratch`, a folder that may be written.
    """
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    head = wire.greet(sock)
    scratch = Path(config["scratch"])
    (scratch / f"{MODULE}.py").write_text(head["text"], encoding="utf-8")
    script = scratch / "script.py"
    script.write_text(head["script"], encoding="utf-8")
    sys.path.insert(0, str(scratch))
    error: dict[str, Any] | None = None
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as left:
        if left.code not in (None, 0):
            error = describe_error(left, str(script))
    except BaseException as raised:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        error = describe_error(raised, str(script))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    wire.send(sock, {"error": error})


def printed(ended: Ended) -> list[str]:
    """What the script printed, as bounded lines; the end is what is kept of a long output."""
    text = ended.log
    lines = [printable(line) for line in text[-MAX_PRINTED:].splitlines()]
    cut = len(text) - MAX_PRINTED if len(text) > MAX_PRINTED else 0
    more = [f"… {cut} characters before this are left out"] if cut else []
    lost = [f"… {ended.dropped} bytes after this were not kept"] if ended.dropped else []
    return [*more, *lines, *lost]
