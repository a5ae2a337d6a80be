"""A server of pages: for one browser of this machine or, with a file of keys, for a team.

Rules
    - Only GET, and only what is listed: the application and the chunks of the runs, by their names. A request never
      becomes a path of the file system. The one POST is a login, which changes nothing here.
    - `access.py` decides who is asking and what they may see. Everything else looks to them as if it did not exist.
    - Chunks are scripts, which a page of any origin may include. So requests from other origins are recognised by
      `Sec-Fetch-Site`, and without keys also by `Host`: they may open a page but load nothing. Browsers are asked not
      to pass a page's address on, because it may hold a link.
    - The list of runs is rebuilt whenever it is requested. A growing run is read again when its index is requested,
      that is, when its page is loaded.
    - The address of a chunk identifies the data that it was made from, so a browser requests it once and caches it.
      Nothing that shows texts of subjects is cached.
    - A log that takes long to read is read in the background; meanwhile its index says how much has been read.
"""

from __future__ import annotations

import html
import re
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote

from mage_es.engine.run.directory import Run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.served.tenants import Refused, require_local
from mage_es.engine.viewing.access import COOKIE, Access, Visitor
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
_LOGIN_POLICY = _POLICY.replace("script-src 'self'", "script-src 'none'").replace(
    "form-action 'none'", "form-action 'self'"
)
_ONCE, _KEPT = "no-store", "private, max-age=31536000, immutable"
_TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_PAGES = ("", "index.html")
_LOGIN, _STYLE = "login", "app.css"
"""What everyone may see: the login page and the files that it needs."""
_MOST_LOGIN = 4096
"""Most bytes of a login."""
_SIZE = re.compile(r"[0-9]{1,6}")
_LINK_S = 7 * 86_400
"""How long a link made by a page is valid; `mage-es view --link` makes links with other spans."""
_ASKING = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>mage-es view</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="app.css">
<main class="alone">
<h1>mage-es view</h1>
<p>{says}</p>
{form}
</main>
"""
_FORM = """<form class="filters" method="post" action="login">
<label class="field wide"><span>Key</span><input type="password" name="key" required autofocus></label>
<button>Log in</button>
</form>"""
_PATIENCE = 30
"""Seconds after which a silent connection is closed."""
_AT_ONCE = 0.5
"""Seconds that a page waits for a log before it is shown how much of it has been read."""

_Look = Callable[[str, Run, Callable[[float], None]], Viewed]
"""Builds what a page sees of a run, given its name, and meanwhile reports the share of its log read so far."""


class Viewer(ThreadingHTTPServer):
    """The server of the runs that `runs` lists, each of which is read when its page is first asked for.

    `words` are explained where they are shown. Raises `UsageError` if other machines can reach `host` and `access` asks
    for no keys, and `OSError` if the port is taken; 0 means any free one.
    """

    daemon_threads = True

    def __init__(
        self,
        runs: Callable[[], Mapping[str, Run]],
        look: _Look,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        access: Access | None = None,
        prices: Prices | None = None,
        words: Mapping[str, str] | None = None,
    ) -> None:
        self.access = access or Access()
        require_local(host, self.access.ring)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)
        self._host = f"[{host}]" if ":" in host else host
        self._list, self._look, self._prices, self._words = runs, look, prices or Prices(), words or {}
        self._runs = runs()
        self._readings, self._lock = dict[str, _Reading](), threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about a browser that left before it got its answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """The address to open: with keys the login page, without them the address that holds the link."""
        place = f"http://{self._host}:{self.server_port}/"
        return place if self.access.ring else f"{place}{self.access.link('')[0]}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.server_port}" for name in (self._host, LOOPBACK, "localhost"))

    def content(self, name: str, visitor: Visitor, stamp: str = "") -> tuple[bytes, str]:
        """Return what is at an address for a visitor, and how long it may be kept. `stamp` is that of the index from
        which a chunk is requested. Raises `KeyError` for anything else, and for a chunk of a run that has changed
        since.
        """
        if not name.startswith("data/"):
            return static(name or "index.html"), _ONCE
        chunk = name.removeprefix("data/").removesuffix(".js")
        if not name.endswith(".js"):
            raise KeyError(name)
        if chunk == "runs":
            self._runs = self._list()
            return runs_chunk(filter(visitor.sees, self._runs), key=visitor.key), _ONCE
        if chunk == "words":
            return words_chunk(self._words), _ONCE
        run, _, part = chunk.rpartition("/")
        if not visitor.sees(run):
            raise KeyError(name)
        if part == "link" and visitor.key and run in self._runs:
            link, expires = self.access.link(run, _LINK_S)
            return script(chunk, {"link": link, "expires": expires}), _ONCE
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
        name = unquote(path, errors="replace").removeprefix("/")
        link, slash, rest = name.partition("/")
        link, name = (link, rest) if slash and link != "data" else ("", name)
        is_page = name in _PAGES
        if not self._is_own(is_page=is_page):
            return None
        try:
            if name == _STYLE:
                return self._send(HTTPStatus.OK, static(name), _TYPES["css"])
            if name == _LOGIN and not link and self.server.access.ring:
                return self._ask("Log in with one of this server's keys.", cookie="")
            found, keeps = self.server.content(name, self.server.access.admit(link, self._sent), stamp)
        except Refused as refused:
            if is_page and refused.status != HTTPStatus.NOT_FOUND:
                return self._ask(refused.message, HTTPStatus(refused.status), is_login=not link)
            return self._say(HTTPStatus(refused.status), refused.message)
        except KeyError:
            return self._say(HTTPStatus.NOT_FOUND, "There is nothing at this address.")
        except (MageError, OSError) as error:
            return self._say(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        return self._send(HTTPStatus.OK, found, _TYPES[(name or "index.html").rpartition(".")[2]], keeps)

    def do_POST(self) -> None:
        """Log in."""
        size = self.headers.get("Content-Length", "")
        body = self.rfile.read(int(size)) if _SIZE.fullmatch(size) and int(size) <= _MOST_LOGIN else None
        if self.path != f"/{_LOGIN}" or not self.server.access.ring:
            return self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)
        if body is None:
            return self.send_error(HTTPStatus.BAD_REQUEST)
        if not self._is_own(is_page=False):
            return None
        said = parse_qs(body.decode(errors="replace"))
        try:
            login = self.server.access.login(said.get("key", [""])[0].strip())
        except Refused as refused:
            return self._ask(refused.message, HTTPStatus(refused.status))
        return self._send(HTTPStatus.SEE_OTHER, b"", _TYPES["html"], more={"Location": "./", **self._cookie(login)})

    @property
    def _sent(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _is_own(self, *, is_page: bool) -> bool:
        """Return whether the request is not from a page of another origin, or only leads to a page; answer any
        other."""
        # What is left unread of a body must not be taken for the next request.
        self.close_connection |= "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        # With keys, a page that reaches this server under another host name has no cookie for that name.
        if not self.server.access.ring and self.headers.get("Host") not in self.server.hosts:
            self._say(HTTPStatus.MISDIRECTED_REQUEST, "This server answers to its own address only.")
            return False
        leads = is_page and self.headers.get("Sec-Fetch-Mode") == "navigate"
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and not leads:
            self._say(HTTPStatus.FORBIDDEN, "Another page asked for this.")
            return False
        return True

    def _ask(
        self, says: str, status: HTTPStatus = HTTPStatus.OK, *, is_login: bool = True, cookie: str | None = None
    ) -> None:
        """Answer with the page that says something and, with `is_login`, asks for a key."""
        page = _ASKING.format(says=html.escape(says), form=_FORM if is_login else "")
        more = {"Content-Security-Policy": _LOGIN_POLICY, **({} if cookie is None else self._cookie(cookie))}
        self._send(status, page.encode(), _TYPES["html"], more=more)

    def _cookie(self, login: str) -> dict[str, str]:
        """Return the header by which a browser keeps a login until it is closed or, if that is "", forgets it."""
        ends = "" if login else "; Max-Age=0"
        # The TLS proxy says whether it is HTTPS: over plain HTTP a browser would not keep a `Secure` cookie.
        safe = "; Secure" if self.headers.get("X-Forwarded-Proto") == "https" else ""
        return {"Set-Cookie": f"{COOKIE}={login}; HttpOnly; SameSite=Lax{safe}{ends}"}

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, f"{text}\n".encode(), "text/plain; charset=utf-8")

    def _send(
        self,
        status: HTTPStatus,
        content: bytes,
        kind: str,
        keeps: str = _ONCE,
        *,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        own = {"Content-Type": kind, "Content-Length": str(len(content)), "Cache-Control": keeps}
        if status == HTTPStatus.UNAUTHORIZED:
            own["WWW-Authenticate"] = "Bearer"
        for header, value in {**_HEADERS, **own, **(more or {})}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer any other method, and anything that is not HTTP, in the same form."""
        self.close_connection = True
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self._say(status, status.phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: addresses hold links."""
