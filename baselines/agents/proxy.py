"""A proxy on this machine between an agent and its model: adds the key, counts the tokens, and is the only address that
the agent can reach.

The agent knows a secret of the episode in place of the key. What it sends is passed on as it is, and so is what comes
back, chunk by chunk; usage is read on the way, from JSON bodies and from event streams, of chat completions and of
Anthropic's messages alike.

Not covered: WebSockets, protocols other than those two, and a proxy of the environment's (`HTTPS_PROXY`) on the way out.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from kgb_gym.baselines.agents.usage import total
from kgb_gym.baselines.models import openai_chat
from kgb_gym.baselines.models.anthropic_messages import usage as anthropic_usage
from kgb_gym.baselines.models.errors import ModelRefused, ModelUnavailable
from kgb_gym.envs.tokens import Usage

CHUNK = 1 << 16
_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "host",
     "content-length", "accept-encoding"}
)  # fmt: skip
_KEYS = frozenset({"authorization", "x-api-key"})


class CountingProxy:
    """Listens on a free port of 127.0.0.1 until it is closed."""

    def __init__(self, upstream: str, *, secret: str, key: str | None, timeout_s: float = 600.0) -> None:
        """
        Args:
            upstream: the model server's base URL.
            secret: what the agent sends in place of a key.
            key: what is sent on in its place; None: what the agent sends, for agents with a log-in of their own.
            timeout_s: seconds that the server may be silent.
        """
        self.upstream = urlsplit(upstream.rstrip("/"))
        self.secret, self.key, self.timeout_s = secret, key, timeout_s
        self._lock = threading.Lock()
        self._counted: list[Usage] = []
        self._statuses: Counter[int] = Counter()
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that the agent may connect to."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """What the agent takes for the server; the upstream's path is kept to itself."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def usage(self) -> Usage | None:
        """Tokens of all answers so far; None before the first that reported any."""
        with self._lock:
            return total(self._counted) if self._counted else None

    def heard(self, status: int, usage: Usage | None) -> None:
        """Take down how the server answered one request."""
        with self._lock:
            self._statuses[status] += 1
            if usage is not None:
                self._counted.append(usage)

    def raise_if_unanswered(self) -> None:
        """Raise if the server was asked, and never gave an answer.

        Raises:
            ModelRefused: it refuses the key or the model.
            ModelUnavailable: it was out of reach, overloaded or broken.
        """
        with self._lock:
            statuses = dict(self._statuses)
        if not statuses or 200 in statuses:
            return
        said = ", ".join(f"{status} ({count} times)" for status, count in sorted(statuses.items()))
        if set(statuses) <= {401, 403, 404}:
            raise ModelRefused(f"the model's server refuses the agent: {said}. Check the key, --model and --base-url")
        raise ModelUnavailable(f"the agent had no answer from the model's server: {said}")

    def close(self) -> None:
        """Stop listening. May be called twice."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: CountingProxy

    def do_GET(self) -> None:
        self._pass_on(b"")

    def do_POST(self) -> None:
        self._pass_on(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _pass_on(self, body: bytes) -> None:
        proxy = self.owner
        sent = {self.headers.get("x-api-key"), (self.headers.get("authorization") or "").removeprefix("Bearer ")}
        if proxy.key is not None and proxy.secret not in sent:
            self._refuse(401, "the key is not the episode's")
            return
        try:
            connection = self._connect()
            connection.request(self.command, proxy.upstream.path + self.path, body or None, self._headers())
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.owner.heard(502, None)
            self._refuse(502, f"the model's server can't be reached: {type(error).__name__}")
            return
        try:
            self._bring_back(response, body)
        except (OSError, http.client.HTTPException):
            self.close_connection = True  # one of the two has hung up
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        upstream = self.owner.upstream
        kind = http.client.HTTPSConnection if upstream.scheme == "https" else http.client.HTTPConnection
        return kind(upstream.hostname or "", upstream.port, timeout=self.owner.timeout_s)

    def _headers(self) -> dict[str, str]:
        kept = {k: v for k, v in self.headers.items() if k.lower() not in _HOP}
        if (key := self.owner.key) is not None:
            named = {k.lower() for k in kept}
            kept = {k: v for k, v in kept.items() if k.lower() not in _KEYS}
            if "x-api-key" in named:
                kept["x-api-key"] = key
            if "authorization" in named:
                kept["authorization"] = f"Bearer {key}"
        return kept

    def _bring_back(self, response: http.client.HTTPResponse, body: bytes) -> None:
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        whole = bytearray()
        while chunk := response.read1(CHUNK):
            whole += chunk
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            self.wfile.flush()
        # Before the end is told: whoever has read it all must find it counted.
        if body:
            self.owner.heard(response.status, read_usage(bytes(whole)) if response.status == 200 else None)
        self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, status: int, message: str) -> None:
        text = json.dumps({"type": "error", "error": {"type": "proxy", "message": message}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def read_usage(body: bytes) -> Usage | None:
    """The usage that a response body reports: a JSON object, or an event stream whose events report it by and by."""
    found: dict[str, Any] = {}
    for event in _events(body):
        for holder in (event, event.get("message"), event.get("response")):
            if isinstance(holder, Mapping) and isinstance(given := holder.get("usage"), Mapping):
                found |= {k: v for k, v in given.items() if v is not None}
    if "input_tokens" in found or "output_tokens" in found:
        return anthropic_usage(found)
    return openai_chat.usage(found)


def _events(body: bytes) -> Iterator[Mapping[str, Any]]:
    text = body.decode("utf-8", "replace")
    lines = [line[5:] for line in text.splitlines() if line.startswith("data:")] or [text]
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, Mapping):
            yield event
