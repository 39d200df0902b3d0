"""`verify [FILE]`: has a module judged, outside the reach of whoever calls it.

    verify kernel.py                    judges the module: every case of the suite; counts as a submission
    verify kernel.py --test '*float16*' checks chosen cases only; may be repeated, '*' is two cases a function
    verify kernel.py --compile          compiles what it launches, and runs nothing
    verify --spec | --cases             the specification again; the ids of the cases
    --json                              one JSON object instead of text

Exit status: 0 it passed, 1 it failed, 2 wrong use, 3 the judge can't be reached or the budget is used up.
Standard library alone: this file is copied into an agent's work folder.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from typing import Any

LONGEST = 1 << 20
"""Bytes of a module."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="verify", description="Have a module judged.")
    parser.add_argument("file", nargs="?", default="kernel.py")
    parser.add_argument("--test", action="append", metavar="CASES", help="check chosen cases only")
    parser.add_argument("--run", metavar="CASE", help="run one case and show what it gave; * for a small one")
    parser.add_argument("--profile", action="append", metavar="CASES", help="show launches, registers, times; * too")
    parser.add_argument("--compile", action="store_true", help="compile what it launches, and run nothing")
    parser.add_argument("--spec", action="store_true", help="print the specification again")
    parser.add_argument("--cases", action="store_true", help="print the ids of the cases")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    request: dict[str, Any] = {"secret": os.environ.get("KGB_VERIFY_SECRET", "")}
    if given.spec or given.cases:
        request |= {"do": "read_spec", "what": "cases" if given.cases else "spec"}
    else:
        try:
            with open(given.file, "rb") as file:
                data = file.read(LONGEST + 1)
        except OSError as error:
            print(f"verify: {given.file} can't be read: {error.strerror}", file=sys.stderr)
            return 2
        request["code"] = data.decode("utf-8", "surrogateescape")
        if given.test:
            request |= {"do": "test", "cases": [c for c in given.test if c != "*"]}
        elif given.run:
            request |= {"do": "run", "cases": [c for c in (given.run,) if c != "*"]}
        elif given.profile:
            request |= {"do": "profile", "cases": [c for c in given.profile if c != "*"]}
        else:
            request["do"] = "compile" if given.compile else "submit"
    try:
        answer = ask(os.environ.get("KGB_VERIFY_SOCKET", ""), request)
    except (OSError, ValueError) as error:
        print(f"verify: the judge can't be reached: {error}", file=sys.stderr)
        return 3
    print(json.dumps(answer) if given.json else answer["message"])
    return int(answer["exit"])


def ask(address: str, request: dict[str, Any]) -> dict[str, Any]:
    """Send one request, and wait for its answer however long it takes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(address)
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as stream:
            line = stream.readline()
    if not line:
        raise ValueError("it has hung up: the time or the budget is used up")
    answer: dict[str, Any] = json.loads(line)
    return answer


if __name__ == "__main__":
    sys.exit(main())
