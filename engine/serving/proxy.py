"""The way of a request: memories are put into its latest user turn, then its bytes go on and the reply's come back.

Rules
    - Whatever fails here, the request goes on without a new note, and X-Mage-Memories says `bypassed`; its earlier
      turns keep theirs, which the upstream has in its cache. Only what is the client's own mistake (a key, a task
      type, a body that is too large) is refused.
    - No byte of a reply is changed or held back, and no redirect followed: a key goes to the upstream alone.
    - A client that hangs up ends the upstream's call. What the upstream breaks off is broken off here, too.
    - Each request that was opened in the log is closed there once, whatever becomes of it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, cast, get_args
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

import httpx2

from mage_es.engine.seams.faults import shortened
from mage_es.engine.serving.exchange import Asker, Exchange, answer, texts_of
from mage_es.engine.serving.live import LiveRun, Prepared, Wish
from mage_es.engine.serving.metrics import Counters
from mage_es.engine.serving.refusals import Refused, body_of, speaks_anthropic
from mage_es.engine.serving.sessions import is_retry
from mage_es.engine.serving.shapes import ends_of, put, read
from mage_es.engine.serving.tenants import CREDENTIALS, Guest
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import Event
from mage_es.events.vocabulary.serving import RequestShape

SHAPES: Mapping[str, RequestShape] = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}
CONNECT_S = 10.0
_KEPT_ALIVE_S = 4.0
"""Less than the five seconds after which servers close an idle connection, so that none is used as it closes."""
_THREADS = 4
_HOPS = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te"),
    *(b"trailer", b"transfer-encoding", b"upgrade"),
}
"""Headers that are about one connection."""
_OURS = {*_HOPS, b"host", b"content-length", b"expect", b"x-session-id"}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_Headers = list[tuple[bytes, bytes]]


class Allowance(NamedTuple):
    """What a proxy waits for and holds."""

    retrieval_s: float = 0.05
    """After so long a request goes on without memories."""
    stall_s: float = 600.0
    """Longest wait for the upstream's next byte: an answer that is not streamed says nothing before its end."""
    body_s: float = 30.0
    """Longest wait for the next piece of a request."""
    most_body: int = 64 * 2**20
    """Bytes of a request that memories could go into; any other is passed on piece by piece."""


DEFAULT_ALLOWANCE = Allowance()


class UpstreamHealth(NamedTuple):
    """How the last request to the upstream fared, since when all did so, and when it was sent; times of day in UTC."""

    state: Literal["unknown", "answers", "fails"] = "unknown"
    since: str = ""
    last: str = ""
    problem: str = ""

    def after(self, problem: str) -> UpstreamHealth:
        """Return how it is after a request that had a problem, or "" for none."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        state: Literal["answers", "fails"] = "fails" if problem else "answers"
        return UpstreamHealth(state, self.since if self.state == state else now, now, problem)


class Proxy:
    """Passes requests on to one upstream, `http://host:port`."""

    def __init__(self, upstream: str, runs: Mapping[str, LiveRun], metrics: Counters, allowance: Allowance) -> None:
        self._url = httpx2.URL(upstream)
        self._runs, self._metrics, self._allowance = runs, metrics, allowance
        waits = {"connect": CONNECT_S, "read": allowance.stall_s, "write": allowance.stall_s, "pool": CONNECT_S}
        self._extensions = {"timeout": waits}
        # The transport alone: a client would keep the cookies of one tenant for the next, and look into redirects.
        pool = httpx2.Limits(max_connections=None, max_keepalive_connections=1000, keepalive_expiry=_KEPT_ALIVE_S)
        self._transport = httpx2.AsyncHTTPTransport(limits=pool, proxy=_way_out(self._url))
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="mage-notes")
        self.upstream = UpstreamHealth()
        self._openings = set[asyncio.Future[tuple[Prepared, bytes]]]()

    async def aclose(self) -> None:
        """Wait for what is being recorded, and close all connections."""
        if self._openings:
            await asyncio.wait(self._openings, timeout=CONNECT_S)
        self._pool.shutdown(wait=False, cancel_futures=True)
        await self._transport.aclose()

    async def pass_on(self, guest: Guest, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request under /v1/. Raises `Refused` before anything was sent."""
        path, method, given = scope["path"], scope["method"], scope["headers"]
        if method not in _METHODS or not _is_plain(path):
            raise Refused(400 if method in _METHODS else 405, f"{method} {path!r:.100} is not passed on.")
        shape = SHAPES.get(path) if method == "POST" else None
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        target = self._url.raw_path.rstrip(b"/") + scope["raw_path"] + query
        onward = _Onward(method, target, _passed_on(given, guest), None)
        exchange = Exchange(send, shape)
        client, outcome = Asker(receive, self._allowance.body_s), ""
        try:
            if shape:
                await self._infer(guest, shape, onward, client, exchange, texts_of(given))
            else:
                framing = {name: value for name, value in given if name in (b"content-length", b"transfer-encoding")}
                if framing:
                    # Of both the chunks count, as in the server under us: a length beside them would be another's end.
                    length = [] if b"transfer-encoding" in framing else list(framing.items())
                    onward = onward._replace(headers=[*onward.headers, *length], body=client.pieces())
                else:
                    await client.whole(0)
                await self._relay(onward, client, exchange, anthropic=speaks_anthropic(path, texts_of(given)))
        except asyncio.CancelledError:
            if not client.is_gone:
                raise
            exchange.leave()
        except Refused as refused:
            exchange.status, outcome = refused.status, "refused"
            raise
        finally:
            client.close()
            self._metrics.count(
                run=guest.run,
                route=shape or "other",
                status=exchange.status,
                outcome=outcome or exchange.outcome,
                treatment=exchange.treatment,
            )

    async def _infer(
        self, guest: Guest, shape: RequestShape, onward: _Onward, client: Asker, exchange: Exchange, given: _Texts
    ) -> None:
        """Put memories into a request, pass it on, and close it in the log."""
        wish = given.get("x-mage-memory", "on")
        if wish not in get_args(Wish):
            raise Refused(400, f"X-Mage-Memory is {wish!r:.40}: it may be on, off or shadow.")
        body = await client.whole(self._allowance.most_body)
        received = time.perf_counter()
        going = _Going(body)
        opening = asyncio.ensure_future(self._opened(guest, shape, going, given))
        self._openings.add(opening)
        opening.add_done_callback(self._openings.discard)
        try:
            await asyncio.wait({opening}, timeout=self._allowance.retrieval_s)
            told = [(b"x-mage-memories", b"bypassed")]
            if opening.done() and (error := opening.exception()) is None:
                prepared, body = opening.result()
                exchange.treatment = prepared.opened.treatment
                told = _told(prepared)
            elif opening.done() and isinstance(error, Refused):
                raise error
            else:
                exchange.treatment, body = "bypassed", going.body
                if late := going.pass_by():
                    self._runs[guest.run].bypass(late)
                    # Where it cannot be recorded, there is no such inference.
                    told = [*told, *([] if opening.done() else _named_after(late))]
            exchange.overhead_s = time.perf_counter() - received
            told.append((b"x-mage-overhead-ms", f"{1000 * exchange.overhead_s:.2f}".encode()))
            onward = onward._replace(body=body)
            await self._relay(onward, client, exchange, anthropic=shape == "messages", told=told)
        except asyncio.CancelledError:
            if client.is_gone:
                exchange.leave()
            raise
        finally:
            self._close(guest.run, opening, exchange, time.perf_counter() - received)

    async def _opened(self, guest: Guest, shape: RequestShape, going: _Going, given: _Texts) -> tuple[Prepared, bytes]:
        """Return what is put into a request once that is on record, and its new body."""
        live, body = self._runs[guest.run], going.body
        wish, session = cast(Wish, given.get("x-mage-memory", "on")), given.get("x-session-id", "")

        def found() -> tuple[Prepared, bytes, Future[Sequence[Event]]]:
            task_type, reading = given.get("x-mage-task-type"), read(shape, body)
            ends = ends_of(shape, body) if reading.turns else ()
            if wish != "off":
                going.body = put(body, ends, live.earlier_notes(reading, session=session, key=guest.name))
            try:
                prepared = live.prepare(
                    reading,
                    shape,
                    session=session,
                    key=guest.name,
                    memory=wish,
                    task_type=task_type,
                    is_retry=is_retry(given),
                )
            except UsageError as error:
                raise Refused(400, str(error)) if task_type else error from None
            if going.prepare(prepared):
                live.bypass(prepared)
            return prepared, put(body, ends, prepared.notes), live.submit(prepared)

        # In a thread, since an embedder may wait for a server, and what is late must not hold up other streams.
        prepared, added, recording = await asyncio.get_running_loop().run_in_executor(self._pool, found)
        await asyncio.wrap_future(recording)
        return prepared, added

    def _close(
        self, run: str, opening: asyncio.Future[tuple[Prepared, bytes]], exchange: Exchange, latency_s: float
    ) -> None:
        """Close a request in the log, now or as soon as it is opened there."""
        usage = exchange.usage()
        self._metrics.observe(run, exchange.overhead_s)

        def settle(opened: asyncio.Future[tuple[Prepared, bytes]]) -> None:
            error = None if opened.cancelled() else opened.exception()
            if opened.cancelled() or error:
                if not isinstance(error, Refused):
                    self._metrics.count_unrecorded(run)
                return
            closed = usage.closing(
                opened.result()[0].opened.inference,
                "bypassed" if exchange.treatment == "bypassed" else exchange.outcome,
                status=exchange.status,
                problem=exchange.problem,
                latency_s=latency_s,
                overhead_s=exchange.overhead_s,
            )
            self._runs[run].close_inference(closed)

        opening.add_done_callback(settle)

    async def _relay(
        self, onward: _Onward, client: Asker, exchange: Exchange, *, anthropic: bool, told: _Headers | None = None
    ) -> None:
        """Pass a request on and its reply back. What the upstream does wrong is the exchange's `problem`."""
        extensions = {**self._extensions, "target": onward.target}
        request = httpx2.Request(
            onward.method, self._url, headers=onward.headers, content=onward.body, extensions=extensions
        )
        own = told or []
        try:
            response = await self._transport.handle_async_request(request)
            if response.status_code not in range(200, 600):
                raise httpx2.RemoteProtocolError(f"its status is {response.status_code}")
        except httpx2.TransportError as error:
            status = 504 if isinstance(error, httpx2.ReadTimeout | httpx2.WriteTimeout) else 502
            exchange.problem = shortened(f"{type(error).__name__}: {error}")
            self.upstream = self.upstream.after(exchange.problem)
            client.rest()
            await answer(exchange.send, status, body_of(status, _UNANSWERED[status], anthropic=anthropic), own)
            return
        status = response.status_code
        self.upstream = self.upstream.after(f"It answered with the status {status}." if status >= 500 else "")
        try:
            await exchange.start(status, [*_passed_back(response.headers.raw), *own])
            async for piece in response.stream:  # type: ignore[union-attr]
                await exchange.pass_back(piece)
            client.rest()
            await exchange.finish()
        except httpx2.TransportError as error:
            exchange.problem = shortened(f"{type(error).__name__}: {error}")
            self.upstream = self.upstream.after(exchange.problem)
            if isinstance(error, httpx2.ReadTimeout) and exchange.is_event_stream:
                said = body_of(504, _UNANSWERED[504], anthropic=anthropic)
                await exchange.pass_back(b"\n\nevent: error\ndata: " + said + b"\n\n")
            # Not finished: the server under us closes the connection, so that the client sees a reply that is cut.
        finally:
            await response.aclose()


class _Going:
    """The body of a request as it goes on where nothing new is put into it in time.

    Two threads tell each other: one that it does not wait, the other what was prepared. The second to do so knows both.
    """

    def __init__(self, body: bytes) -> None:
        self.body = body
        self._lock, self._is_late = threading.Lock(), False
        self._prepared: Prepared | None = None

    def prepare(self, prepared: Prepared) -> bool:
        """Say what was prepared; return whether it comes too late."""
        with self._lock:
            self._prepared = prepared
            return self._is_late

    def pass_by(self) -> Prepared | None:
        """Say that it is not waited for; return what was prepared by then."""
        with self._lock:
            self._is_late = True
            return self._prepared


class _Onward(NamedTuple):
    """A request as it goes on to the upstream."""

    method: str
    target: bytes
    headers: _Headers
    body: bytes | AsyncIterator[bytes] | None


_Texts = Mapping[str, str]
_UNANSWERED = {
    502: "The server behind this proxy cannot be reached, or broke off before it answered.",
    504: "The server behind this proxy did not answer in time.",
}


def _named(headers: _Headers) -> set[bytes]:
    """Return the headers that a connection names as its own."""
    lists = (value for name, value in headers if name.lower() == b"connection")
    return {token.strip().lower() for value in lists for token in value.split(b",")}


def _passed_on(headers: _Headers, guest: Guest) -> _Headers:
    """Return the headers for the upstream, with its own key in place of the client's where there are keys."""
    left_out = _OURS | _named(headers)
    kept = [(name, value) for name, value in headers if name not in left_out and not name.startswith(b"x-mage-")]
    if guest.upstream_key is None:
        return kept
    kept = [(name, value) for name, value in kept if name.decode("latin-1") not in CREDENTIALS]
    if not guest.upstream_key:
        return kept
    value = f"Bearer {guest.upstream_key}" if guest.credential == "authorization" else guest.upstream_key
    return [*kept, (guest.credential.encode(), value.encode())]


def _passed_back(headers: _Headers) -> _Headers:
    left_out = _HOPS | _named(headers)
    lowered = ((name.lower(), value) for name, value in headers)
    return [(name, value) for name, value in lowered if name not in left_out and not name.startswith(b"x-mage-")]


def _told(prepared: Prepared) -> _Headers:
    """Return the headers that say what was put into a request."""
    opened = prepared.opened
    memories = ",".join(opened.memories) if opened.treatment == "memory" else opened.treatment
    return [*_named_after(prepared), (b"x-mage-memories", memories.encode())]


def _named_after(prepared: Prepared) -> _Headers:
    opened = prepared.opened
    marker = f"iter-{opened.marker}" if opened.marker >= 0 else "start"
    return [(b"x-mage-inference", opened.inference.encode()), (b"x-mage-marker", marker.encode())]


def _is_plain(path: str) -> bool:
    """Tell whether a path stays under /v1/, however often servers decode it and whatever they take for a separator."""
    while (decoded := unquote(path)) != path:
        path = decoded
    steps = path.replace("\\", "/").split("/")
    return "#" not in path and not any(step.partition(";")[0] in (".", "..") for step in steps)


def _way_out(url: httpx2.URL) -> str | None:
    """Return the proxy that the environment names for an address."""
    proxies = getproxies()
    return None if proxy_bypass(url.host) else proxies.get(url.scheme) or proxies.get("all")
