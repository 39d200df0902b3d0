"""Messages between judge, recorder, player and compiler: one JSON head and raw blobs over a stream socket.

Nothing that arrives is ever executed or unpickled. Every size is bounded by the reader, so that a hostile writer can
waste at most the bytes that the reader was ready to take.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import time
from collections.abc import Iterable
from typing import Any

HEAD = struct.Struct("<4sIQ")
MAGIC = b"KGB1"
MAX_HEAD = 64 << 20


class WireError(Exception):
    """The other side broke the protocol: wrong magic, too large, not JSON, or not an object."""


class Closed(Exception):
    """The other side is gone."""


class Late(Exception):
    """Nothing complete arrived before the deadline."""


def send(sock: socket.socket, head: dict[str, Any], blobs: Iterable[Any] = (), deadline: float | None = None) -> None:
    """Write one message.

    Args:
        sock: a connected stream socket.
        head: JSON-able; NaN and infinities must have been encoded.
        blobs: objects with the buffer protocol.
        deadline: `time.monotonic()` value after which `Late` is raised.

    Raises:
        Closed: the other side is gone.
        Late: the deadline has passed.
    """
    views = [memoryview(b).cast("B") for b in blobs]
    text = json.dumps({**head, "_blobs": [len(v) for v in views]}, allow_nan=False).encode()
    total = sum(len(v) for v in views)
    parts: list[Any] = [HEAD.pack(MAGIC, len(text), total), text, *views]
    for part in parts:
        _send_all(sock, memoryview(part).cast("B") if len(part) else memoryview(b""), deadline)


def receive(
    sock: socket.socket, *, max_head: int = MAX_HEAD, max_blobs: int = 1 << 40, deadline: float | None = None
) -> tuple[dict[str, Any], list[bytearray]]:
    """Read one message.

    Raises:
        WireError: it breaks the protocol or a bound.
        Closed: the other side is gone.
        Late: the deadline has passed.
    """
    magic, size, total = HEAD.unpack(_receive_exactly(sock, HEAD.size, deadline))
    if magic != MAGIC or size > max_head or total > max_blobs:
        raise WireError("malformed or oversized message")
    try:
        head = json.loads(bytes(_receive_exactly(sock, size, deadline)))
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {type(error).__name__}") from error
    sizes = head.pop("_blobs", None) if isinstance(head, dict) else None
    if not isinstance(sizes, list) or not all(type(s) is int and s >= 0 for s in sizes) or sum(sizes) != total:
        raise WireError("not a message")
    return head, [_receive_exactly(sock, s, deadline) for s in sizes]


def greet(sock: socket.socket) -> dict[str, Any]:
    """A worker's first exchange: say that it is ready, and return the first question.

    Whatever fails up to here is the harness's failure: nothing of the submission has been seen.
    """
    receive(sock)
    send(sock, {"ready": True})
    return receive(sock)[0]


def _send_all(sock: socket.socket, view: memoryview, deadline: float | None) -> None:
    while len(view):
        try:
            if deadline is not None:
                _wait(sock, select.POLLOUT, deadline)
                sent = sock.send(view[: 1 << 20], socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)
            else:
                sent = sock.send(view[: 1 << 20], socket.MSG_NOSIGNAL)
        except BlockingIOError:
            continue
        except OSError as error:
            raise Closed(str(error)) from error
        view = view[sent:]


def _receive_exactly(sock: socket.socket, size: int, deadline: float | None) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while len(view):
        try:
            if deadline is not None:
                _wait(sock, select.POLLIN, deadline)
            got = sock.recv_into(view, min(len(view), 1 << 20))
        except BlockingIOError:
            continue
        except OSError as error:
            raise Closed(str(error)) from error
        if not got:
            raise Closed("end of stream")
        view = view[got:]
    return data


def _wait(sock: socket.socket, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(sock, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(max(1, int(left * 1000))):
        raise Late("deadline passed")
