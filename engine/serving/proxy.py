"""The path of a request: memories are inserted before its latest user turn, it is sent to the upstream, and the reply
is passed back byte for byte.

Rules
    - Whatever fails here, the request is sent without a new note, and X-Mage-Memories says `bypassed`; its earlier
      turns keep theirs, which the upstream has in its cache. Only the client's own mistakes (a key, a task type, a name
      or a body that is too large) are refused.
    - No byte of a reply is changed, and no redirect is followed: a key goes only to the upstream.
    - A request is sent once its additions are written, which survives the end of this process, and its reply is
      returned once they are durable: the disk and the upstream work at the same time. If the disk fails in between, or
      is slow, the reply is dropped and the request is sent again, without a new note.
    - If a client hangs up, the call to the upstream ends. If the upstream breaks off, so does the reply here.
    - Each request that was opened in the log is closed there exactly once, whatever happens to it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

import httpx2

from mage_es.engine.seams.faults import shortened
from mage_es.engine.served.tenants import Refused
from mage_es.engine.serving.door import Guest
from mage_es.engine.serving.exchange import Asker, Exchange, answer, texts_of, unpacked
from mage_es.engine.serving.headers import Headers, memory_headers, passed_back, passed_on, replaced
from mage_es.engine.serving.journal import NotRecorded, Recording
from mage_es.engine.serving.live import LONGEST_NAME, LiveRun, Prepared, wish_of
from mage_es.engine.serving.metrics import Counters
from mage_es.engine.serving.refusals import body_of, speaks_anthropic
from mage_es.engine.serving.sessions import is_retry
from mage_es.engine.serving.shapes import places_of, put, read, spliced
from mage_es.events.errors import MageError, UsageError
from mage_es.events.vocabulary import Event
from mage_es.events.vocabulary.serving import RequestShape

if TYPE_CHECKING:  # the extra `otel` need not be installed
    from mage_es.engine.run.telemetry import Outbox

SHAPES: Mapping[str, RequestShape] = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}
COUNTING = "/v1/messages/count_tokens"
CONNECT_S = 10.0
_PROBE_S = 2.0
_PROBE_EVERY = timedelta(seconds=1)
_KEPT_ALIVE_S = 4.0
"""Less than the five seconds after which servers close an idle connection, so that none is used as it closes."""
_THREADS = 4
_logger = logging.getLogger(__name__)
_MORE = "The option --max-body of the server allows more."
_NOWHERE = ("/v1/v1/", "/v1/feedback/", "/v1/inferences/", "/v1/memories/")
"""Beginnings of paths that no upstream has, but clients get by a wrong base URL or by a slash at the end."""
_WHERE = (
    "the APIs are at /v1/chat/completions, /v1/responses and /v1/messages, feedback at /v1/feedback. The base URL of "
    "an OpenAI client ends in /v1, that of an Anthropic client before it."
)
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Allowance(NamedTuple):
    """How long a proxy waits and how much it buffers."""

    retrieval_s: float = 0.05
    """Time after which a request is sent without memories."""
    stall_s: float = 600.0
    """Longest wait for the upstream's next byte: an answer that is not streamed says nothing before its end."""
    body_s: float = 30.0
    """Longest wait for the next piece of a request."""
    most_body: int = 64 * 2**20
    """Most bytes of a request. One that could get memories is buffered, any other is streamed."""


DEFAULT_ALLOWANCE = Allowance()


class UpstreamHealth(NamedTuple):
    """How the last request to the upstream went, since when requests have gone that way, and when it was sent; times in
    UTC."""

    state: Literal["unknown", "answers", "fails"] = "unknown"
    since: datetime | None = None
    last: datetime | None = None
    problem: str = ""

    def after(self, problem: str) -> UpstreamHealth:
        """Return the health after a request; `problem` is "" if it succeeded."""
        now = datetime.now(UTC)
        state: Literal["answers", "fails"] = "fails" if problem else "answers"
        return UpstreamHealth(state, self.since if self.state == state else now, now, problem)


class Proxy:
    """Passes requests on to one upstream, `http://host:port`; an `outbox` gets a trace of each."""

    def __init__(
        self,
        upstream: str,
        runs: Mapping[str, LiveRun],
        metrics: Counters,
        allowance: Allowance,
        outbox: Outbox | None = None,
    ) -> None:
        self._url = httpx2.URL(upstream)
        self._runs, self._metrics, self._allowance, self._outbox = runs, metrics, allowance, outbox
        waits = {"connect": CONNECT_S, "read": allowance.stall_s, "write": allowance.stall_s, "pool": CONNECT_S}
        self._extensions = {"timeout": waits}
        # Only the transport: a client would keep one tenant's cookies for the next, and follow redirects.
        pool = httpx2.Limits(max_connections=None, max_keepalive_connections=1000, keepalive_expiry=_KEPT_ALIVE_S)
        self._transport = httpx2.AsyncHTTPTransport(limits=pool, proxy=_way_out(self._url))
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="mage-notes")
        self.upstream = UpstreamHealth()
        self._openings = set[Recording]()
        self.unrecorded = 0
        """How many requests are not on record."""

    async def aclose(self) -> None:
        """Wait for what is being recorded, and close all connections."""
        await asyncio.to_thread(futures.wait, self._openings.copy(), CONNECT_S)
        self._pool.shutdown(wait=False, cancel_futures=True)
        await self._transport.aclose()

    async def probe(self) -> None:
        """Ask a failing upstream for its models, without a key; any status below 500 counts as an answer. A proxy that
        is not ready gets no requests, and would otherwise never learn that its upstream has recovered."""
        now = datetime.now(UTC)
        if self.upstream.state != "fails" or (self.upstream.last and now - self.upstream.last < _PROBE_EVERY):
            return
        target = self._url.raw_path.rstrip(b"/") + b"/v1/models"
        waits = dict.fromkeys(("connect", "read", "write", "pool"), _PROBE_S)
        request = httpx2.Request("GET", self._url, extensions={"timeout": waits, "target": target})
        try:
            response = await self._transport.handle_async_request(request)
            await response.aclose()
        except httpx2.TransportError as error:
            self.upstream = self.upstream.after(shortened(f"{type(error).__name__}: {error}"))
        else:
            self.upstream = self.upstream.after(_problem_of(response.status_code))

    async def pass_on(self, guest: Guest, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request under /v1/. Raises `Refused` before anything is sent."""
        path, method, given = scope["path"], scope["method"], scope["headers"]
        if method not in _METHODS or not _is_plain(path):
            raise Refused(400 if method in _METHODS else 405, f"{method} {path!r:.100} is not passed on.")
        guest.require_path(method, path)
        # As servers read it that forgive a slash too many: none of them is to answer such a request without memories.
        plain = "/".join(("", *filter(None, path.split("/"))))
        if f"{plain}/".startswith(_NOWHERE):
            raise Refused(404, f"There is nothing at {path!r:.100}: {_WHERE}")
        shape = SHAPES.get(plain) if method == "POST" else None
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        target = self._url.raw_path.rstrip(b"/") + scope["raw_path"] + query
        onward = _Onward(method, target, passed_on(given, guest), None)
        if method == "HEAD":  # a body that comes all the same would be the reply to the next client's request
            onward.headers.append((b"connection", b"close"))
        exchange = Exchange(send, shape)
        client, outcome = Asker(scope, receive, self._allowance.body_s, _MORE), ""
        try:
            client.require_length(self._allowance.most_body)
            if shape:
                await self._infer(guest, shape, onward, client, exchange, texts_of(given))
            elif (plain, method) == (COUNTING, "POST"):
                await self._count(guest, onward, client, exchange, texts_of(given))
            else:
                framing = {name: value for name, value in given if name in (b"content-length", b"transfer-encoding")}
                if guest.models and method not in ("GET", "HEAD"):
                    body = await client.whole(self._allowance.most_body)
                    guest.require_model(body)
                    onward = onward._replace(body=body)
                elif framing:
                    # If both are given, chunks count, as in the server below us: a length beside them would mean
                    # another end.
                    length = [] if b"transfer-encoding" in framing else list(framing.items())
                    onward = onward._replace(
                        headers=[*onward.headers, *length], body=client.pieces(self._allowance.most_body)
                    )
                else:
                    await client.whole(0)
                anthropic = speaks_anthropic(path, texts_of(given))
                async with aclosing(await self._reply_to(onward, exchange)) as reply:
                    await self._pass_back(reply, client, exchange, anthropic=anthropic)
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
            self._count_upstream(guest.run, shape or "other", exchange)

    def _count_upstream(self, run: str, route: str, exchange: Exchange) -> None:
        if exchange.replied_s:
            waits = {"begin": exchange.replied_s - exchange.sent_s}
            if exchange.outcome == "answered":
                waits["end"] = time.perf_counter() - exchange.sent_s
            for until, seconds in waits.items():
                self._metrics.upstream.labels(run, route, until).observe(seconds)
        self._metrics.count_tokens(run, exchange.usage())

    async def _infer(
        self, guest: Guest, shape: RequestShape, onward: _Onward, client: Asker, exchange: Exchange, given: _Texts
    ) -> None:
        """Put memories into a request, pass it on, and close it in the log."""
        try:
            wish_of(given)
        except UsageError as error:
            raise Refused(400, str(error)) from None
        if (size := len(given.get("x-session-id", ""))) > LONGEST_NAME:
            raise Refused(400, f"X-Session-Id has {size} characters: give at most {LONGEST_NAME}.")
        (onward, body), recording = await self._whole(guest, onward, client, given), Recording()
        received, anthropic = time.perf_counter(), shape == "messages"
        ids = self._outbox.begin(given) if self._outbox else None
        if self._outbox and ids:
            onward = onward._replace(headers=replaced(onward.headers, *self._outbox.parent_of(ids)))
        opening = _Opening(body, recording)
        self._openings.add(recording)
        recording.add_done_callback(self._openings.discard)
        # In a thread, since an embedder may wait for a server, which must not hold up other streams.
        self._pool.submit(self._open, guest, shape, opening, recording, given)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._allowance.retrieval_s):
                    await opening.written
            exchange.overhead_s = time.perf_counter() - received
            if (prepared := opening.prepared) and opening.is_written:
                exchange.treatment = prepared.opened.treatment
                async with aclosing(await self._reply_to(onward._replace(body=opening.body), exchange)) as reply:
                    is_durable = await self._is_durable(recording, exchange)
                    header_values = (
                        prepared.header_values
                        if is_durable
                        else self._bypassed(guest.run, opening, recording, exchange)
                    )
                    if is_durable or opening.body == opening.bare:
                        await self._pass_back(reply, client, exchange, anthropic=anthropic, header_values=header_values)
                        return
                self._metrics.sent_again.labels(guest.run).inc()
            else:
                header_values = self._bypassed(guest.run, opening, recording, exchange)
            async with aclosing(await self._reply_to(onward._replace(body=opening.bare), exchange)) as reply:
                await self._pass_back(reply, client, exchange, anthropic=anthropic, header_values=header_values)
        except asyncio.CancelledError:
            if client.is_gone:
                exchange.leave()
            raise
        finally:
            opening.end()
            self._close(guest.run, opening, recording, exchange, time.perf_counter() - received, shape, ids)

    async def _whole(self, guest: Guest, onward: _Onward, client: Asker, given: _Texts) -> tuple[_Onward, bytes]:
        """Return a request and its body, both without an encoding that can be undone: its turns are read and added
        to. Raises `Refused`."""
        most = self._allowance.most_body
        body = await client.whole(most)
        if encoding := given.get("content-encoding"):
            plain = await asyncio.to_thread(unpacked, body, encoding, most)
            if plain is not None:
                headers = [(name, value) for name, value in onward.headers if name != b"content-encoding"]
                onward, body = onward._replace(headers=headers), plain
        if guest.models:
            guest.require_model(body)
        return onward, body

    async def _count(self, guest: Guest, onward: _Onward, client: Asker, exchange: Exchange, given: _Texts) -> None:
        """Let the upstream count the tokens of a request as it would be sent, with its notes."""
        onward, body = await self._whole(guest, onward, client, given)
        header_values = _BYPASSED
        with suppress(TimeoutError):
            async with asyncio.timeout(self._allowance.retrieval_s):
                body, header_values = await asyncio.wrap_future(self._pool.submit(self._noted, guest, body, given))
        async with aclosing(await self._reply_to(onward._replace(body=body), exchange)) as reply:
            await self._pass_back(reply, client, exchange, anthropic=True, header_values=header_values)

    def _noted(self, guest: Guest, body: bytes, given: _Texts) -> tuple[bytes, _Texts]:
        """Return a request to count with its notes, and the headers that say so. Raises `Refused`."""
        try:
            notes = self._runs[guest.run].notes_for(
                read("messages", body),
                session=given.get("x-session-id", ""),
                key=guest.name,
                memory=wish_of(given),
                task_type=given.get("x-mage-task-type"),
            )
            counted = ",".join(name for note in notes.values() for name in note.memories)
            return spliced("messages", body, notes), {"memories": counted or "none"}
        except UsageError as error:
            raise Refused(400, str(error)) from None
        except Exception:  # whatever it is, the request is counted
            _logger.exception("A request to %s is counted without memories", guest.run)
            return body, _BYPASSED

    def _open(self, guest: Guest, shape: RequestShape, opening: _Opening, recording: Recording, given: _Texts) -> None:
        """Prepare the request to send, and record it; errors are reported through the recording."""
        if (body := opening.begin()) is None:  # other requests have kept all threads waiting for an embedder
            recording.fail(NotRecorded("No thread was free in time."))
            return
        live, session = self._runs[guest.run], given.get("x-session-id", "")
        wish, task_type = wish_of(given), given.get("x-mage-task-type")
        try:
            reading = read(shape, body)
            places = places_of(shape, body) if reading.turns else ()
            session = live.session_of(reading, session=session, key=guest.name, is_retry=is_retry(given))
            if wish != "off":
                opening.bare = put(body, places, live.earlier_notes(reading, session=session, key=guest.name))
            prepared = live.prepare(
                reading,
                shape,
                session=session,
                key=guest.name,
                memory=wish,
                task_type=task_type,
                is_retry=is_retry(given),
            )
            opening.body = put(body, places, prepared.notes)
            if opening.prepare(prepared):
                live.bypass(prepared)
            live.submit(prepared, recording)
        except UsageError as error:
            recording.fail(Refused(400, str(error)) if task_type else error)
        except MageError as error:  # reported by the journal or the embedder
            recording.fail(error)
        except Exception as error:  # whatever it is, the request is sent
            _logger.exception("A request to %s is sent without new memories", guest.run)
            recording.fail(error)

    async def _is_durable(self, recording: Recording, exchange: Exchange) -> bool:
        """Return whether a request is durably recorded, once that is known or late."""
        if not recording.done():
            began = time.perf_counter()
            with suppress(Exception):  # the recording keeps it
                async with asyncio.timeout(self._allowance.retrieval_s):
                    await asyncio.wrap_future(recording)
            exchange.overhead_s += time.perf_counter() - began
        return recording.done() and recording.exception() is None

    def _bypassed(self, run: str, opening: _Opening, recording: Recording, exchange: Exchange) -> _Texts:
        """Record that a request is sent without a new note; return the headers that say so. Raises `Refused`."""
        is_over = recording.done()
        if is_over and isinstance(error := recording.exception(), Refused):
            raise error
        exchange.treatment = "bypassed"
        header_values = _BYPASSED
        if late := opening.pass_by():
            self._runs[run].bypass(late)
            # If it cannot be recorded, there is no such inference.
            header_values = header_values if is_over else {**late.header_values, **header_values}
        return header_values

    def _close(
        self,
        run: str,
        opening: _Opening,
        recording: Recording,
        exchange: Exchange,
        latency_s: float,
        shape: RequestShape,
        ids: Any,
    ) -> None:
        """Close a request in the log, now or as soon as it is opened there."""
        usage, ended_us = exchange.usage(), time.time_ns() // 1000
        self._metrics.overhead.labels(run).observe(exchange.overhead_s)

        def settle(done: Future[Sequence[Event]]) -> None:
            error = done.exception()
            prepared = None if error else opening.prepared
            if isinstance(error, Refused):
                return
            closed = usage.closing(
                prepared.opened.inference if prepared else "",
                prepared.waiting if prepared else "",
                "bypassed" if exchange.treatment == "bypassed" else exchange.outcome,
                status=exchange.status,
                problem=exchange.problem,
                latency_s=latency_s,
                overhead_s=exchange.overhead_s,
                is_whole=exchange.outcome == "answered",
            )
            if prepared:
                closed = self._runs[run].close_inference(closed)
            else:
                self.unrecorded += 1
                self._metrics.unrecorded.labels(run).inc()
            if self._outbox and ids:
                opened = prepared and prepared.opened
                row = self._runs[run].row
                self._outbox.request(ids, run, str(self._url), shape, opened, closed, ended_us, row=row)

        recording.add_done_callback(settle)

    async def _reply_to(self, onward: _Onward, exchange: Exchange) -> httpx2.Response | _Unanswered:
        """Send a request on; return the upstream's reply, whose body is still to come."""
        exchange.sent_s, exchange.replied_s = time.perf_counter(), 0.0
        extensions = {**self._extensions, "target": onward.target}
        request = httpx2.Request(
            onward.method, self._url, headers=onward.headers, content=onward.body, extensions=extensions
        )
        try:
            response = await self._transport.handle_async_request(request)
            if response.status_code not in range(200, 600):
                await response.aclose()
                raise httpx2.RemoteProtocolError(f"its status is {response.status_code}")
        except httpx2.TransportError as error:
            status = 504 if isinstance(error, httpx2.ReadTimeout | httpx2.WriteTimeout) else 502
            unanswered = _Unanswered(status, shortened(f"{type(error).__name__}: {error}"))
            self.upstream = self.upstream.after(unanswered.problem)
            return unanswered
        exchange.replied_s, status = time.perf_counter(), response.status_code
        self.upstream = self.upstream.after(_problem_of(status))
        return response

    async def _pass_back(
        self,
        reply: httpx2.Response | _Unanswered,
        client: Asker,
        exchange: Exchange,
        *,
        anthropic: bool,
        header_values: _Texts | None = None,
    ) -> None:
        """Pass a reply back, with our headers. The upstream's errors become the exchange's `problem`."""
        own = (
            []
            if header_values is None
            else [*memory_headers(header_values), (b"x-mage-overhead-ms", b"%.2f" % (1000 * exchange.overhead_s))]
        )
        if isinstance(reply, _Unanswered):
            exchange.problem = reply.problem
            client.rest()
            said = body_of(reply.status, _UNANSWERED[reply.status], anthropic=anthropic)
            await answer(exchange.send, reply.status, said, own)
            return
        try:
            await exchange.start(reply.status_code, [*passed_back(reply.headers.raw), *own])
            async for piece in reply.stream:  # type: ignore[union-attr]
                await exchange.pass_back(piece)
            client.rest()
            await exchange.finish()
        except httpx2.TransportError as error:
            exchange.problem = shortened(f"{type(error).__name__}: {error}")
            self.upstream = self.upstream.after(exchange.problem)
            if isinstance(error, httpx2.ReadTimeout) and exchange.is_event_stream:
                said = body_of(504, _UNANSWERED[504], anthropic=anthropic)
                await exchange.pass_back(b"\n\nevent: error\ndata: " + said + b"\n\n")
            # Not finished: the server below us closes the connection, so that the client sees a truncated reply.


class _Unanswered(NamedTuple):
    """Stands in for a reply: the status for the client, and what went wrong."""

    status: int
    problem: str

    async def aclose(self) -> None:
        """Nothing is open; a reply has this method too."""


class _Opening:
    """A request on its way into the log, which one thread prepares and another waits for; made on the event loop.

    `bare` is its body without new additions, and `body` what is sent once these are `written`. The threads inform each
    other: one that it no longer waits, the other what was prepared. The second to do so knows both.
    """

    def __init__(self, body: bytes, recording: Recording) -> None:
        self.bare = self.body = body
        self.prepared: Prepared | None = None
        # Not the recording itself, which keeps its callbacks, and so this object.
        self.written = asyncio.wrap_future(recording.written)
        self._lock, self._is_late, self._is_over = threading.Lock(), False, False

    def begin(self) -> bytes | None:
        """Return the body to prepare, or None if it is too late."""
        with self._lock:
            return None if self._is_late or self._is_over else self.bare

    def end(self) -> None:
        """Let go of the bodies: this object may still wait a long time for a free thread."""
        with self._lock:
            self._is_over, self.bare, self.body = True, b"", b""

    @property
    def is_written(self) -> bool:
        return self.written.done() and not self.written.cancelled() and self.written.result()

    def prepare(self, prepared: Prepared) -> bool:
        """Hand over what was prepared; return whether the request has gone without it."""
        with self._lock:
            self.prepared = prepared
            return self._is_late

    def pass_by(self) -> Prepared | None:
        """Say that it is no longer awaited; return what has been prepared."""
        with self._lock:
            self._is_late = True
            return self.prepared


class _Onward(NamedTuple):
    """A request for the upstream."""

    method: str
    target: bytes
    headers: Headers
    body: bytes | AsyncIterator[bytes] | None


_Texts = Mapping[str, str]
_BYPASSED: _Texts = {"memories": "bypassed"}
_UNANSWERED = {
    502: "The server behind this proxy cannot be reached, or broke off before it answered.",
    504: "The server behind this proxy did not answer in time.",
}


def _problem_of(status: int) -> str:
    return f"It answered with the status {status}." if status >= 500 else ""


def _is_plain(path: str) -> bool:
    """Return whether a path stays under /v1/, however often servers decode it and whatever they take for a
    separator."""
    while (decoded := unquote(path)) != path:
        path = decoded
    steps = path.replace("\\", "/").split("/")
    return "#" not in path and not any(step.partition(";")[0] in (".", "..") for step in steps)


def _way_out(url: httpx2.URL) -> str | None:
    """Return the proxy that the environment names for an address."""
    proxies = getproxies()
    return None if proxy_bypass(url.host) else proxies.get(url.scheme) or proxies.get("all")
