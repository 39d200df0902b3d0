"""The `kgb` command (DESIGN section 12).

Exit code 0: success; 1: a submission that fails, or a run with failures; 2: wrong use; 130: interrupted. With
`--json`, standard output holds one JSON value and nothing else; everything said to a person goes to standard error.
Modules are imported when a command needs them, so that `kgb list` doesn't wait for torch.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Entry point of the `kgb` script."""
    from kgb_gym.cli.app import app
    from kgb_gym.cli.errors import WrongUse

    try:
        app(prog_name="kgb")
    except WrongUse as error:
        print(f"kgb: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read our output has seen enough (`kgb list | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
