"""The three APIs on loopback, as far as their official clients need them; keeps the very bytes that it got."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

_NUMBERS = itertools.count(1)


class Got(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes


class Api(ThreadingHTTPServer):
    """Replies "It is 7." with an id of its own, as JSON or a stream; it fails once with each of `fails`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[Got] = []
        self.sent: list[bytes] = []
        self.fails: list[int] = []
        self.same_id = False
        self.clients: list[Any] = []
        """Clients to close with it."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def api() -> Iterator[Api]:
    server = Api()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Api
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        path = self.path.partition("?")[0]
        self.server.got.append(Got(path, {name.lower(): value for name, value in self.headers.items()}, body))
        number = 0 if self.server.same_id else next(_NUMBERS)
        status, asked = (self.server.fails.pop(0) if self.server.fails else 200), json.loads(body)
        kind = "application/json"
        if status != 200:
            sent = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}).encode()
        elif asked.get("stream"):
            kind, sent = "text/event-stream", _stream(path, number)
        else:
            sent = json.dumps(_reply(path, number)).encode()
        self.server.sent.append(sent)
        self.send_response(status)
        told = {"content-type": kind, "content-length": len(sent), "x-request-id": "req-1", "request-id": "req-1"}
        for name, value in told.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _reply(path: str, number: int) -> dict[str, Any]:
    if path.endswith("/chat/completions"):
        choice = {"index": 0, "message": {"role": "assistant", "content": "It is 7."}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
        head = {"id": f"chat-{number}", "object": "chat.completion", "created": 1, "model": "m"}
        return {**head, "choices": [choice], "usage": usage}
    usage = {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15}
    if path.endswith("/responses"):
        part = {"type": "output_text", "text": "It is 7.", "annotations": []}
        message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
        head = {"id": f"resp-{number}", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
        rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return {**head, **rest, "output": [message], "usage": usage}
    head = {"id": f"msg-{number}", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    return {**head, "content": [{"type": "text", "text": "It is 7."}], "stop_sequence": None, "usage": usage}


def _stream(path: str, number: int) -> bytes:
    whole = _reply(path, number)
    if path.endswith("/chat/completions"):
        head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": "m"}
        chunks = [{**head, "choices": [{"index": 0, "delta": {"content": word}}]} for word in ("It is", " 7.")]
        chunks.append({**head, "choices": [], "usage": whole["usage"]})
        return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"
    if path.endswith("/responses"):
        begun = {**whole, "output": [], "status": "in_progress", "usage": None}
        where = {"item_id": "m", "output_index": 0, "content_index": 0, "logprobs": []}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {"type": "response.output_text.delta", "delta": "It is 7.", **where},
            {"type": "response.completed", "response": whole},
        ]
    else:
        events = [
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "It is 7."}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ]
    numbered = ({**event, "sequence_number": place} for place, event in enumerate(events))
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in numbered).encode()
