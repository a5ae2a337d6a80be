"""The routes of served runs.

A request is let in by its key, which names the run; then it is passed on, or answered from that run alone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_args
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.routing import Route

from mage_es.engine.commands import Curation
from mage_es.engine.served.tenants import Refused
from mage_es.engine.serving.door import Door, Guest
from mage_es.engine.serving.exchange import Asker, Incoming, answer, texts_of
from mage_es.engine.serving.journal import NotRecorded
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.metrics import Counters
from mage_es.engine.serving.proxy import DEFAULT_ALLOWANCE, Allowance, Proxy
from mage_es.engine.serving.refusals import body_of, speaks_anthropic
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.events.errors import Conflict, NotFound, PrerequisiteError, UsageError
from mage_es.events.vocabulary import Event, FeedbackGiven, InferenceClosed, InferenceOpened

if TYPE_CHECKING:  # the extra `otel` need not be installed
    from mage_es.engine.run.telemetry import Outbox

_MOST_FEEDBACK = 2**20
"""Most bytes of a feedback request."""
_PROBES = ("/healthz", "/readyz")
_UNLIMITED = (*_PROBES, "/metrics", "/v1/feedback", "/v1/inferences/", "/v1/memories/")
"""Routes that cost the upstream nothing. Feedback in particular must not wait for the rate limit of the requests that
it is about."""
_LONGEST_PATH = 200
_RETRY_S = 5
"""Seconds after which a client may retry what could not be recorded."""
_FAILED = "The server failed to handle this request. Its output says why."
_GUEST = "mage.guest"
"""The key under which a request's scope keeps its sender."""
_Endpoint = Callable[[Guest, Any, Any, Any], Awaitable[None]]
_logger = logging.getLogger(__name__)


class _Curating(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do with a memory, and why."""

    action: Curation
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


class App:
    """The routes of served runs, as an ASGI application: `asgi`. `runs` has each run by its name, and `hosts` are the
    names under which /mcp is reached. `say`, if given, gets a line for each request, and `outbox` a trace."""

    def __init__(
        self,
        door: Door,
        upstream: str,
        runs: Mapping[str, LiveRun],
        *,
        allowance: Allowance = DEFAULT_ALLOWANCE,
        hosts: Sequence[str] = (),
        say: Callable[[str], None] | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        self._say, self._outbox = say, outbox
        self._door, self._runs, self._allowance = door, runs, allowance
        self.metrics = Counters(lambda: {name: live.health for name, live in runs.items()})
        self.proxy = Proxy(upstream, runs, self.metrics, allowance, outbox)
        own: Mapping[str, _Endpoint] = {
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/metrics": self._counts,
            "/mcp": self._tools,
            "/v1/feedback": self._feedback,
            "/v1/inferences/{name}": partial(self._explain, "inferences"),
            "/v1/memories/{name}": partial(self._explain, "memories"),
            "/v1/{rest:path}": self._passed_on,
            "/{rest:path}": _unknown,
        }
        self.asgi = Starlette(routes=[Route(path, _Guarded(self, do)) for path, do in own.items()])
        try:
            from mage_es.engine.serving.mcp import AgentView, McpApp, shown_by
        except ImportError:  # the extra is not installed
            self._mcp = None
        else:
            local = ("localhost:*", "127.0.0.1:*", "[::1]:*")
            names = [*local, *hosts, *(f"{name}:*" for name in hosts)]

            def shown(scope: Any) -> AgentView:
                guest: Guest = scope[_GUEST]
                view = shown_by(runs[guest.run], key=guest.name, trust=guest.trust)
                return view._replace(note=self._tracer(guest.run, scope))

            self._mcp = McpApp(shown, hosts=names)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests within the block; at its end, wait for what is still being recorded."""
        async with self._mcp.run() if self._mcp else nullcontext():
            try:
                yield
            finally:
                await self.proxy.aclose()

    async def answered(self, endpoint: _Endpoint, scope: Any, receive: Any, send: Any) -> None:
        """Admit a request and answer it; a refusal has the form that its API uses for errors."""
        headers, guest = texts_of(scope["headers"]), Guest()
        entry, incoming = _AccessLine(send, scope), Incoming(receive)
        send = entry.send
        try:
            guest = self._admitted(headers, scope["path"])
            if not scope["path"].startswith(_UNLIMITED):
                self._door.require_rate(guest, now=time.monotonic())
            await endpoint(guest, scope, incoming.receive, send)
        except Refused as refused:
            # The run is "" if its key reaches none.
            self.metrics.refused.labels(guest.run, str(refused.status)).inc()
            body = body_of(refused.status, refused.message, anthropic=speaks_anthropic(scope["path"], headers))
            more = [(name.encode(), value.encode()) for name, value in refused.headers.items()]
            closing = [*more, (b"connection", b"close")]
            await answer(send, refused.status, body, closing, before_end=incoming.pass_over)
        except Exception:  # the server below us would not report it
            _logger.exception("%s %s failed", scope["method"], quote(scope["path"])[:_LONGEST_PATH])
            if entry.is_begun:
                raise
            body = body_of(500, _FAILED, anthropic=speaks_anthropic(scope["path"], headers))
            await answer(send, 500, body, [(b"connection", b"close")])
        finally:
            if self._say:
                self._say(entry.line(guest.name))

    def _admitted(self, headers: Mapping[str, str], path: str) -> Guest:
        try:
            return self._door.admit(headers)
        except Refused as refused:
            if path in _PROBES and refused.status == 401:  # a probe has no key, and sees no run
                return Guest()
            raise

    async def _passed_on(self, guest: Guest, scope: Any, receive: Any, send: Any) -> None:
        _require_run(guest)
        await self.proxy.pass_on(guest, scope, receive, send)

    async def _feedback(self, guest: Guest, scope: Any, receive: Any, send: Any) -> None:
        """Record what a client says about an inference or a session."""
        _require_run(guest)
        if scope["method"] != "POST":
            raise Refused(405, "Feedback must be sent with POST.")
        body = await Asker(scope, receive, self._allowance.body_s).whole(_MOST_FEEDBACK)
        with _valid("The feedback"):
            said = msgspec.json.decode(body, type=Feedback)
        with _refusals():
            event = await self._runs[guest.run].give_feedback(said, key=guest.name, trust=guest.trust)
        await answer(send, 200, msgspec.json.encode(event))
        self.metrics.count(run=guest.run, route="feedback", status=200, outcome="answered", treatment="none")
        if self._outbox:
            self._outbox.feedback(guest.run, event, time.time_ns() // 1000)

    def _tracer(self, run: str, scope: Any) -> Callable[..., None]:
        """Return a function that sends the collector, if there is one, what a tool call recorded: a search, or feedback
        on one."""
        outbox = self._outbox
        if outbox is None:
            return lambda *events: None
        ids = outbox.begin(texts_of(scope["headers"]))

        def note(*events: Event) -> None:
            now_us = time.time_ns() // 1000
            match events:
                case InferenceOpened() as opened, InferenceClosed() as closed if ids:
                    outbox.request(ids, run, "", "search", opened, closed, now_us, row=self._runs[run].row)
                case [FeedbackGiven() as said]:
                    outbox.feedback(run, said, now_us)

        return note

    async def _explain(self, what: str, guest: Guest, scope: Any, receive: Any, send: Any) -> None:
        """Explain one of the key's own inferences or a memory, or decide on a memory."""
        _require_run(guest)
        live, name = self._runs[guest.run], scope["path_params"]["name"]
        if what == "memories" and scope["method"] == "POST":
            await self._curate(guest, live, name, scope, receive)
        elif scope["method"] not in ("GET", "HEAD"):
            remedy = "GET reads it, and POST decides on it" if what == "memories" else "GET reads it"
            raise Refused(405, f"{scope['method']} does nothing to what is on record here: {remedy}.")
        find: Callable[[str], object] = partial(live.memory, curates=guest.curates)
        if what == "inferences":
            find = partial(live.inference, key=guest.name)
        with _refusals():
            report = await asyncio.to_thread(find, name)
        await answer(send, 200, msgspec.json.encode(report))
        self.metrics.count(run=guest.run, route=what, status=200, outcome="answered", treatment="none")

    async def _curate(self, guest: Guest, live: LiveRun, name: str, scope: Any, receive: Any) -> None:
        if not guest.curates:
            raise Refused(403, "This key may not decide on memories: `curates = true` in the file of keys allows it.")
        body = await Asker(scope, receive, self._allowance.body_s).whole(_MOST_FEEDBACK)
        with _valid("The body", f" Give a reason, and one of these actions: {', '.join(get_args(Curation))}."):
            said = msgspec.json.decode(body, type=_Curating)
        with _refusals():
            await live.curate(name, action=said.action, reason=said.reason, by=guest.name or "a local client")

    async def _healthz(self, guest: Guest, scope: Any, receive: Any, send: Any) -> None:
        """Report the state of the runs that the guest may see; a run that cannot record keeps serving, so this never
        fails."""
        await answer(send, 200, self._health(guest)[1])

    async def _readyz(self, guest: Guest, scope: Any, receive: Any, send: Any) -> None:
        """Report the same, but with status 503 while the upstream fails or a run records nothing."""
        await self.proxy.probe()
        is_well, health = self._health(guest)
        await answer(send, 200 if is_well else 503, health)

    def _health(self, guest: Guest) -> tuple[bool, bytes]:
        health, upstream = {name: live.health._asdict() for name, live in self._runs.items()}, self.proxy.upstream
        is_well = upstream.state != "fails" and not any(each["problem"] for each in health.values())
        seen = {name: each for name, each in health.items() if guest.is_operator or name == guest.run}
        if not (seen or guest.is_operator):  # the text of a problem may name hosts or paths
            upstream = upstream._replace(problem="")
        report = {"status": "ok" if is_well else "degraded", "upstream": upstream._asdict(), "runs": seen}
        return is_well, msgspec.json.encode(report)

    async def _counts(self, guest: Guest, scope: Any, receive: Any, send: Any) -> None:
        text = self.metrics.text(None if guest.is_operator else guest.run)
        await answer(send, 200, text, kind=b"text/plain; version=0.0.4; charset=utf-8")

    async def _tools(self, guest: Guest, scope: Any, receive: Any, send: Any) -> None:
        """Answer a client of the Model Context Protocol."""
        _require_run(guest)
        if self._mcp is None:
            raise Refused(404, "/mcp needs a package on the server: python -m pip install 'mage-es[mcp]'")
        await self._mcp({**scope, _GUEST: guest}, receive, send)


class _AccessLine:
    """A line of the access log: who asked for what, and the outcome; without keys, texts or query strings."""

    def __init__(self, send: Any, scope: Any) -> None:
        self._send, self._scope, self._began = send, scope, time.perf_counter()
        self._status, self._headers = 0, dict[str, str]()

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], texts_of(message["headers"])
        await self._send(message)

    @property
    def is_begun(self) -> bool:
        return self._status > 0

    def line(self, key: str) -> str:
        """Return the line once the request is answered; status 0 means that the client hung up first."""
        scope, headers = self._scope, self._headers
        fields = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "key": key,
            "method": scope["method"],
            "path": quote(scope["path"])[:_LONGEST_PATH],
            "status": self._status,
            "ms": f"{1000 * (time.perf_counter() - self._began):.1f}",
            "ours_ms": headers.get("x-mage-overhead-ms", ""),
            "inference": headers.get("x-mage-inference", ""),
            "memories": headers.get("x-mage-memories", ""),
        }
        return " ".join(f"{name}={value}" for name, value in fields.items() if value != "")


class _Guarded:
    """An endpoint that checks who asks."""

    def __init__(self, app: App, endpoint: _Endpoint) -> None:
        self._app, self._endpoint = app, endpoint

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app.answered(self._endpoint, scope, receive, send)


def _require_run(guest: Guest) -> None:
    if guest.is_operator:
        raise Refused(403, "The operator's key may read only /healthz and /metrics.")


async def _unknown(guest: Guest, scope: Any, receive: Any, send: Any) -> None:
    raise Refused(404, f"There is nothing at {scope['path']!r:.100}: paths begin with /v1/.")


@contextmanager
def _valid(what: str, remedy: str = "") -> Iterator[None]:
    """Refuse a body that cannot be decoded."""
    try:
        yield
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"{what} is not valid: {error}.{remedy}") from None


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn errors of a run into HTTP statuses."""
    try:
        yield
    except NotFound as error:
        raise Refused(404, str(error)) from None
    except Conflict as error:
        raise Refused(409, str(error)) from None
    except UsageError as error:
        raise Refused(400, str(error)) from None
    except NotRecorded as error:
        raise Refused(503, str(error), retry_after=_RETRY_S) from None
    except PrerequisiteError:  # already reported by the server; its text may name paths of this machine
        raise Refused(503, "A part of this server is out of order. Try again later.", retry_after=_RETRY_S) from None
