"""A server for one person's browser: on this machine's loopback, behind an address that cannot be guessed.

Rules
    - Only GET, and only what is listed: the application and the chunks of the runs, by their names. A request never
      becomes a path of the file system.
    - Chunks are scripts, which a page of any origin may include. So the address holds a secret, other origins are
      recognised by `Sec-Fetch-Site` and `Host`, and browsers are asked to pass none of it on.
    - The list of runs is rebuilt when it is asked for. A run that grows is read again when its index is asked for:
      when its page is loaded.
    - The address of a chunk names what it was made from, so a browser keeps it and asks once. Anything that shows texts
      of subjects is not kept.
    - A log that takes long to read is read in the background; meanwhile its index says how much has been.
"""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from mage_es.engine.run.directory import Run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.viewing.card import card_of
from mage_es.engine.viewing.chunks import Viewed, script
from mage_es.engine.viewing.export import runs_chunk, static, words_chunk
from mage_es.events.errors import MageError

LOOPBACK = "127.0.0.1"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
_ONCE, _KEPT = "no-store", "private, max-age=31536000, immutable"
_TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_PATIENCE = 30
"""Seconds after which a silent connection is closed."""
_AT_ONCE = 0.5
"""Seconds that a page waits for a log before it is shown how much of it has been read."""

_Look = Callable[[str, Run, Callable[[float], None]], Viewed]
"""Builds what a page sees of a run, given its name, and meanwhile reports the share of its log read so far."""


class Viewer(ThreadingHTTPServer):
    """The server of the runs that `runs` lists, each of which is read when its page is first asked for.

    `words` are explained where they are shown. Raises `OSError` if the port is taken; 0 means any free one.
    """

    daemon_threads = True

    def __init__(
        self,
        runs: Callable[[], Mapping[str, Run]],
        look: _Look,
        *,
        port: int = 0,
        prices: Prices | None = None,
        words: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.secret = secrets.token_urlsafe(16)
        self._list, self._look, self._prices, self._words = runs, look, prices or Prices(), words or {}
        self._runs = runs()
        self._readings, self._lock = dict[str, _Reading](), threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about a browser that left before it got its answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/{self.secret}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost"))

    def content(self, name: str, stamp: str = "") -> tuple[bytes, str]:
        """Return what is at an address below the secret one, and how long it may be kept. `stamp` is that of the index
        from which a chunk is requested. Raises `KeyError` for anything else, and for a chunk of a run that has changed
        since.
        """
        if not name.startswith("data/"):
            return static(name or "index.html"), _ONCE
        chunk = name.removeprefix("data/").removesuffix(".js")
        if not name.endswith(".js"):
            raise KeyError(name)
        if chunk == "runs":
            self._runs = self._list()
            return runs_chunk(self._runs), _ONCE
        if chunk == "words":
            return words_chunk(self._words), _ONCE
        run, _, part = chunk.rpartition("/")
        if part == "card":
            return script(chunk, card_of(self._runs[run], self._prices)), _ONCE
        reading = self._reading(run, anew=part == "index")
        if part == "index":
            try:
                reading.made.result(_AT_ONCE)
            except TimeoutError:
                return script(chunk, {"reading": reading.share}), _ONCE
            reading.was_shown = True
        viewed = reading.made.result()
        if stamp and stamp != viewed.stamp:
            raise KeyError(name)
        is_kept = stamp and not viewed.is_private and part != "verify-0"
        return viewed.chunk(chunk), _KEPT if is_kept else _ONCE

    def _reading(self, run: str, *, anew: bool) -> _Reading:
        """Return the reading of a run; with `anew`, a new one if its log has grown since the last one was shown."""
        with self._lock:
            found = self._readings.get(run)
            if found is None or found.has_failed or (anew and found.was_shown and found.made.result().is_behind):
                found = self._readings[run] = _Reading(partial(self._look, run, self._runs[run]))
            return found


class _Reading(threading.Thread):
    """A log being read: the share read so far, and the result."""

    def __init__(self, look: Callable[[Callable[[float], None]], Viewed]) -> None:
        super().__init__(daemon=True)
        self.share, self.was_shown = 0.0, False
        self.made = Future[Viewed]()
        self._look = look
        self.start()

    @property
    def has_failed(self) -> bool:
        return self.made.done() and self.made.exception() is not None

    def run(self) -> None:
        try:
            self.made.set_result(self._look(self._hear))
        except Exception as error:  # for the threads that wait for it
            self.made.set_exception(error)

    def _hear(self, share: float) -> None:
        self.share = share


class _Handler(BaseHTTPRequestHandler):
    server: Viewer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise a body may wait 40 ms for the browser to confirm the headers
    server_version, sys_version = "mage-es", ""
    timeout = _PATIENCE

    def do_GET(self) -> None:
        path, _, stamp = self.path.partition("?")
        name = unquote(path, errors="replace")
        secret, slash, rest = name.removeprefix("/").partition("/")
        if self.headers.get("Host") not in self.server.hosts:
            return self._say(HTTPStatus.MISDIRECTED_REQUEST, "This server answers to its own address only.")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return self._say(HTTPStatus.FORBIDDEN, "Another page asked for this.")
        if not slash or not secrets.compare_digest(secret.encode(), self.server.secret.encode()):
            return self._say(HTTPStatus.NOT_FOUND, "Open the address that `mage-es view` printed.")
        try:
            found, keeps = self.server.content(rest, stamp)
        except KeyError:
            return self._say(HTTPStatus.NOT_FOUND, "There is nothing at this address.")
        except (MageError, OSError) as error:
            return self._say(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        return self._send(HTTPStatus.OK, found, _TYPES[(rest or "index.html").rpartition(".")[2]], keeps)

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, f"{text}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, content: bytes, kind: str, keeps: str = _ONCE) -> None:
        self.send_response(status)
        own = {"Content-Type": kind, "Content-Length": str(len(content)), "Cache-Control": keeps}
        for header, value in {**_HEADERS, **own}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer any other method, and anything that is not HTTP, in the same form."""
        self.close_connection = True
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self._say(status, status.phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: addresses hold the secret."""
