"""The three APIs on loopback, as far as their official clients need them; keeps the very bytes that it got."""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

from tests.engine.serving.upstream import REPLIES, events

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
            kind, sent = "text/event-stream", b"".join(events(path))
        else:
            sent = json.dumps(REPLIES.get(path, REPLIES["/v1/messages"])).encode()
        if path in REPLIES:
            sent = sent.replace(REPLIES[path]["id"].encode(), f"reply-{number}".encode())
        self.server.sent.append(sent)
        self.send_response(status)
        told = {"content-type": kind, "content-length": len(sent), "x-request-id": "req-1", "request-id": "req-1"}
        for name, value in told.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
