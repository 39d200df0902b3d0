"""The judge's end of the `verify` command: a Unix socket on which an agent asks, and a queue that a policy answers.

Each connection carries one JSON line there and one back. A request without the episode's secret is turned away.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import queue
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LONGEST = 8 << 20
"""Bytes of a request: a module of a mebibyte, each byte escaped."""
ASKING = frozenset({"submit", "test", "run", "profile", "compile", "read_spec"})


@dataclass(eq=False)
class Asked:
    """One request, waiting for its answer."""

    do: str
    """One of `ASKING`."""
    code: str = ""
    cases: tuple[str, ...] = ()
    what: str = "spec"
    answer: dict[str, Any] | None = None
    ready: threading.Event = field(default_factory=threading.Event)

    def reply(self, message: str, exit_status: int, **more: Any) -> None:
        """Answer it."""
        self.answer = {"message": message, "exit": exit_status, **more}
        self.ready.set()


class Bridge:
    """Listens at a path until it is closed."""

    def __init__(self, path: Path, secret: str) -> None:
        """
        Args:
            path: where the socket lies; at most about a hundred bytes.
            secret: what requests must carry.
        """
        self._secret = secret
        self.requests: queue.SimpleQueue[Asked] = queue.SimpleQueue()
        """What was asked and isn't answered yet."""
        self._open: set[Asked] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        self._socket.listen(16)
        threading.Thread(target=self._accept, daemon=True, name="kgb-bridge").start()

    def close(self) -> None:
        """Stop listening, and hang up on whoever waits. May be called twice."""
        with self._lock:
            self._closed = True
            waiting = list(self._open)
        for asked in waiting:
            asked.ready.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(30)
            with connection.makefile("rb") as stream:
                line = stream.readline(LONGEST + 1)
            answer = self._answer(line)
            if answer is not None:
                connection.sendall(json.dumps(answer).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any] | None:
        asked = self._read(line)
        if isinstance(asked, str):
            return {"message": f"verify: {asked}", "exit": 2}
        with self._lock:
            if self._closed:
                return None
            self._open.add(asked)
        self.requests.put(asked)
        asked.ready.wait()
        with self._lock:
            self._open.discard(asked)
        return asked.answer

    def _read(self, line: bytes) -> Asked | str:
        try:
            request = json.loads(line) if len(line) <= LONGEST else None
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            return "this is no request: use the `verify` command"
        if not hmac.compare_digest(str(request.get("secret", "")).encode(), self._secret.encode()):
            return "the secret is wrong: call it from the work folder's own environment"
        do, code, cases = request.get("do"), request.get("code", ""), request.get("cases", [])
        if do not in ASKING or not isinstance(code, str) or not isinstance(cases, list):
            return "this is no request: use the `verify` command"
        # Bytes that are no UTF-8 arrive as surrogates, which the judge calls a syntax error.
        return Asked(str(do), code, tuple(str(c) for c in cases), str(request.get("what", "spec")))
