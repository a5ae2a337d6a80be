"""A provider that means harm: it replies, or fails, with whatever it is told to."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import MappingProxyType
from typing import Any, NamedTuple


class Said(NamedTuple):
    """What a request says: its path, its headers in small letters, its body (of a GET: empty)."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Reply(NamedTuple):
    """A status, a body that is sent as JSON unless it is bytes, and further headers."""

    status: int
    body: Any
    headers: Mapping[str, str] = MappingProxyType({})


Respond = Callable[[Said], Reply]


@contextmanager
def hostile(respond: Respond) -> Iterator[str]:
    """Serve on a loopback port while the block lasts; give the address, without `/v1`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            content = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, body, more = respond(Said(self.path, headers, json.loads(content) if content else {}))
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            always = {"content-type": "application/json", "content-length": str(len(sent))}
            for name, value in (always | dict(more)).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = handle_one

        def log_message(self, format: str, *arguments: Any) -> None:
            """Stay silent; every server writes a log otherwise."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def completion(text: str) -> Reply:
    """Return a chat completion."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    common = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "exec"}
    return Reply(200, {**common, "choices": choices, "usage": usage})


def message(text: str) -> Reply:
    """Return a reply of /v1/messages."""
    usage = {"input_tokens": 3, "output_tokens": 3}
    common = {"id": "msg_1", "type": "message", "role": "assistant", "model": "exec", "stop_sequence": None}
    return Reply(
        200, {**common, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    )


def embedding(texts: list[str]) -> Reply:
    """Return one vector for each text."""
    rows = [{"object": "embedding", "index": at, "embedding": _vector(text)} for at, text in enumerate(texts)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return Reply(200, {"object": "list", "data": rows, "model": "embed", "usage": usage})


def _vector(text: str) -> list[float]:
    return [1.0 + text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]


def failure(status: int, words: str) -> Reply:
    """Return an error in the form that both APIs have."""
    return Reply(status, {"type": "error", "error": {"type": "some_error", "message": words}})
