"""A model server on this machine that answers from a script: what tests, the demo and rehearsals of a run talk to.

It speaks the wire formats of chat completions (`/v1/chat/completions`) and of Anthropic's messages (`/v1/messages`),
both streamed too, and can do what real servers do on a bad day: refuse, stall, break off, leave usage out, or send what
is no JSON. It is no model: whatever it is asked, it answers what the script says.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from kgb_gym.envs.tokens import count, count_cached

CHAT, MESSAGES, MODELS = "/v1/chat/completions", "/v1/messages", "/v1/models"
CHUNK = 400
"""Characters of each streamed piece."""


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    path: str
    body: Mapping[str, Any]
    """The JSON object that was sent."""
    key: str | None
    """The key that came with it."""
    index: int
    """Counts the server's requests, from 0."""

    @property
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        """The conversation."""
        return tuple(self.body.get("messages") or ())

    @property
    def text(self) -> str:
        """All that the conversation says, in one text."""
        return "\n".join(_content(m.get("content")) for m in self.messages)


@dataclass(frozen=True)
class Answer:
    """What the server does with one request."""

    text: str = ""
    finish_reason: str = "stop"
    """As chat completions say it: `stop`, `length`, …; translated for Anthropic's messages."""
    status: int = 200
    error: str = ""
    """What an answer with another status than 200 says."""
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: bool = True
    """Whether the answer reports its usage."""
    cached: int = 0
    """Prompt tokens that are said to come from a cache."""
    reasoning: str = ""
    tool_calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    """Native tool calls: names and arguments."""
    delay_s: float = 0.0
    """Seconds before the answer."""
    drip_s: float = 0.0
    """Seconds between two bytes of the body; 0: all at once."""
    body: bytes | None = None
    """Sent in place of everything above, as it is."""
    cut_after: int | None = None
    """The connection breaks after so many bytes of the body."""


Script = Callable[[Request], Answer]


class LoopbackServer:
    """Listens on a free port of 127.0.0.1 until it is closed."""

    def __init__(self, script: Script, *, key: str | None = None, models: Sequence[str] = ("stand-in",)) -> None:
        """
        Args:
            script: gives the answer to each request; called from many threads.
            key: requests with another key are refused with 401; None: any will do.
            models: the models that there are; requests for another are refused with 404. Empty: any will do.
        """
        self._script, self._key, self._models = script, key, tuple(models)
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        """Everything that was asked so far."""
        server = self

        class Handler(_Handler):
            loopback = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL for OpenAI's SDK."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """The base URL for Anthropic's SDK."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        """Stop listening. May be called twice."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def answer(self, path: str, body: Mapping[str, Any], key: str | None) -> Answer:
        """The answer to one request: the script's, unless the key or the model is wrong."""
        if self._key is not None and key != self._key:
            return Answer(status=401, error="Incorrect API key provided")
        if self._models and body.get("model") not in self._models:
            return Answer(status=404, error=f"The model `{body.get('model')}` does not exist")
        with self._lock:
            request = Request(path, body, key, len(self.requests))
            self.requests.append(request)
        return self._script(request)

    def listed(self) -> dict[str, Any]:
        """What `/v1/models` answers."""
        return {"object": "list", "data": [{"id": m, "object": "model"} for m in self._models]}


def in_turn(*answers: Answer | str) -> Script:
    """A script that gives one answer after the other, whoever asks; the last one for ever."""
    each = [Answer(a) if isinstance(a, str) else a for a in answers]
    return lambda request: each[min(request.index, len(each) - 1)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    loopback: LoopbackServer

    def do_GET(self) -> None:
        if self.path.partition("?")[0] == MODELS:
            self._send(200, json.dumps(self.loopback.listed()).encode())
        else:
            self._send(404, b'{"error": {"message": "no such path"}}')

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        path = self.path.partition("?")[0]
        try:
            body = json.loads(self.rfile.read(length))
        except ValueError:
            self._send(400, b'{"error": {"message": "the body is no JSON"}}')
            return
        if path not in (CHAT, MESSAGES):
            self._send(404, b'{"error": {"message": "no such path"}}')
            return
        bearer = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        answer = self.loopback.answer(path, body, self.headers.get("x-api-key") or bearer or None)
        if answer.delay_s:
            time.sleep(answer.delay_s)
        if answer.status != 200:
            error = {"type": "error", "error": {"type": f"status_{answer.status}", "message": answer.error}}
            self._send(answer.status, answer.body or json.dumps(error).encode(), answer)
        elif body.get("stream"):
            stream = _stream if path == CHAT else _message_stream
            self._send(200, b"".join(stream(body, answer)), answer, kind="text/event-stream")
        else:
            make = _chat if path == CHAT else _message
            self._send(200, answer.body if answer.body is not None else json.dumps(make(body, answer)).encode(), answer)

    def _send(self, status: int, body: bytes, answer: Answer | None = None, kind: str = "application/json") -> None:
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            for name, value in (answer.headers if answer else {}).items():
                self.send_header(name, value)
            self.end_headers()
            if answer is not None and answer.cut_after is not None:
                body, self.close_connection = body[: answer.cut_after], True
            if answer is not None and answer.drip_s:
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(answer.drip_s)
            else:
                self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has hung up

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _chat(body: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = _calls(answer)
    finish = "tool_calls" if answer.tool_calls else answer.finish_reason
    whole: dict[str, Any] = {
        "id": "chatcmpl-0", "object": "chat.completion", "created": int(time.time()), "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }  # fmt: skip
    if answer.usage:
        whole["usage"] = _usage(body, answer)
    return whole


def _stream(body: Mapping[str, Any], answer: Answer) -> Iterator[bytes]:
    head = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": int(time.time()), "model": body["model"]}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"

    yield chunk({"role": "assistant", "content": ""})
    for start in range(0, len(answer.text), CHUNK):
        yield chunk({"content": answer.text[start : start + CHUNK]})
    for index, call in enumerate(_calls(answer)):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, "tool_calls" if answer.tool_calls else answer.finish_reason)
    if answer.usage:
        last = {**head, "choices": [], "usage": _usage(body, answer)}
        yield b"data: " + json.dumps(last).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def _message(body: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    if answer.reasoning:
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": ""})
    if answer.text or not answer.tool_calls:
        blocks.append({"type": "text", "text": answer.text})
    for i, (name, arguments) in enumerate(answer.tool_calls):
        blocks.append({"type": "tool_use", "id": f"toolu_{i}", "name": name, "input": dict(arguments)})
    reasons = {"stop": "end_turn", "length": "max_tokens"}
    reason = "tool_use" if answer.tool_calls else reasons.get(answer.finish_reason, answer.finish_reason)
    whole: dict[str, Any] = {
        "id": f"msg_{id(answer)}", "type": "message", "role": "assistant", "model": body["model"], "content": blocks,
        "stop_reason": reason, "stop_sequence": None,
    }  # fmt: skip
    if answer.usage:
        counts = _usage(body, answer)
        whole["usage"] = {
            "input_tokens": counts["prompt_tokens"] - answer.cached,
            "cache_read_input_tokens": answer.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": counts["completion_tokens"],
        }
    return whole


def _message_stream(body: Mapping[str, Any], answer: Answer) -> Iterator[bytes]:
    whole = _message(body, answer)
    usage = whole.get("usage") or {"input_tokens": 0, "output_tokens": 0}

    def event(kind: str, **values: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()

    head = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield event("message_start", message=head)
    for index, block in enumerate(whole["content"]):
        if block["type"] == "tool_use":
            empty, delta = (
                {**block, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        else:
            name = block["type"]
            empty, delta = {**block, name: ""}, {"type": f"{name}_delta", name: block[name]}
        yield event("content_block_start", index=index, content_block=empty)
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=end, usage={"output_tokens": usage["output_tokens"]})
    yield event("message_stop")


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(dict(arguments))}}
        for i, (name, arguments) in enumerate(answer.tool_calls)
    ]


def _usage(body: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    prompt = sum(count_cached(_content(m.get("content"))) for m in body.get("messages") or ())
    written = count(answer.text) + count(answer.reasoning)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "prompt_tokens_details": {"cached_tokens": answer.cached},
    }


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(p.get("text") or "") for p in content if isinstance(p, dict))
    return ""
