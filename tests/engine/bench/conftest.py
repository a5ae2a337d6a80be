"""A web server on loopback that honours ranges and can break off in the middle."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Files:
    """What is served: content and ETag by path; what comes in its place, or after how many bytes a response ends."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.tag = '"v1"'
        self.has_ranges = True
        self.cuts: list[int] = []
        self.errors: list[int] = []
        self.retry_after = ""
        self.requests: list[tuple[str, str]] = []
        self.url = ""


@pytest.fixture
def server() -> Iterator[Files]:
    """A running server; `requests` collects (path, Range header)."""
    files = Files()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            files.requests.append((self.path, wanted))
            if files.errors:
                self.send_response(files.errors.pop(0))
                if files.retry_after:
                    self.send_header("Retry-After", files.retry_after)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if self.path not in files.content:
                self.send_error(404)
                return
            whole, start = files.content[self.path], 0
            if wanted and files.has_ranges and self.headers.get("If-Range") == files.tag:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(whole):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
            else:
                self.send_response(200)
            body = whole[start:]
            self.send_header("Content-Length", str(len(body)))
            if files.tag:
                self.send_header("ETag", files.tag)
            self.end_headers()
            self.wfile.write(body[: files.cuts.pop(0)] if files.cuts else body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        files.url = f"http://127.0.0.1:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield files
        listening.shutdown()
        thread.join()
