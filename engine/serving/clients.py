"""The official clients of OpenAI and Anthropic, with memories in what they send: the proxy without a separate process.

Theory of operation
    A client keeps its own HTTP client, wrapped in a class of ours with the same connections, settings and state, but
    with a `send` that goes through a desk. There memories are put into the request's bytes and recorded before it is
    sent, and the reply's bytes are read as they pass. So streams, tools, retries and raw responses remain the SDK's own
    work.

    As in the proxy, our code never makes a request fail: one that is late, or cannot be recorded, is sent unchanged.
"""

from __future__ import annotations

import atexit
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache, partial
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeVar, cast

from mage_es.engine.seams.faults import shortened
from mage_es.engine.served.frozen import FrozenRun
from mage_es.engine.served.notes import Note, note_of
from mage_es.engine.serving.live import Learn, LiveRun, wish_of
from mage_es.engine.serving.replies import ReplyReader
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.engine.serving.sending import SeenThrough, httpx_of, seen_through
from mage_es.engine.serving.sessions import is_retry
from mage_es.engine.serving.shapes import Reading, read, spliced
from mage_es.events.errors import NotFound, UsageError
from mage_es.events.vocabulary import FeedbackGiven, InferenceClosed, RequestShape, Trust

SDK = TypeVar("SDK")
PATIENCE_S = 0.05
_PATHS: Mapping[str, Mapping[str, RequestShape]] = {
    "openai": {"/chat/completions": "chat", "/responses": "responses"},
    "anthropic": {"/v1/messages": "messages"},
}
"""Endings of the URLs whose requests get memories, by SDK. OpenAI's threads have messages of another kind."""
_CLIENTS = ("OpenAI", "AsyncOpenAI", "Anthropic", "AsyncAnthropic")
_MOST_KNOWN = 50_000
_known, _mutex = OrderedDict[str, str](), Lock()
"""The inference that each reply's id belongs to; empty if a server gave the same id twice."""


class OpenedRun(FrozenRun):
    """A frozen run that can put its memories into the requests of official clients.

    `given` is what its world was opened with; the recording run needs it again.
    """

    def __init__(self, frozen: FrozenRun, **given: Any) -> None:
        super().__init__(frozen.run, frozen.marker, frozen.world, frozen.state, frozen.bounds)
        self._given, self._live, self._served = given, cast("LiveRun | None", None), dict[str, Any]()

    def wrap(
        self,
        client: SDK,
        *,
        record: bool = True,
        learn: Learn = "log",
        trust: Trust = "full",
        holdback: float = 0.05,
        record_texts: bool = False,
        patience_s: float = 0.05,
        name: str | None = None,
    ) -> SDK:
        """Return a client of `openai` or `anthropic`, sync or async, that puts memories into what it sends.

        As with `mage-es serve`, a separate run beside this one records the requests: `name`, by default RUN-served. The
        first call opens it, and it stays locked until `close` or the end of the process; with `record=False` nothing is
        recorded. `learn` says what `feedback` may do and, with `propose`, `trust` whether its demonstrations are right
        answers (`gold`) or must be judged by anchors or a person (`full`). `holdback` is the share of sessions that get
        no memory, so that `mage-es gain` can measure what memory does. If memories are not ready, or not on record,
        within `patience_s` seconds, the request is sent without them. A request's headers (`extra_headers`) mean the
        same as to the proxy.

        Raises:
            UsageError: The client is of another kind, or the options differ from those of the first call.
            RunLocked: Another process serves the run.
        """
        _opened_up(client)
        if not record:
            return wrapped(client, self, patience_s=patience_s)
        options = {"learn": learn, "holdback": holdback, "record_texts": record_texts, "name": name}
        wanted = {**options, "trust": trust}
        if self._live is None:
            self._live, self._served = _served(self, **options, **self._given), wanted
        elif wanted != self._served:
            now = ", ".join(f"{each}={self._served[each]!r}" for each in wanted if wanted[each] != self._served[each])
            raise UsageError(
                f"{self._live.run.id} is being recorded with {now}, as the first call of wrap said: pass the same, or "
                "`close` this run before you wrap with other options."
            )
        return wrapped(client, self._live, patience_s=patience_s)

    def feedback(
        self, reply: object, *, value: object, metric: str = "right", idempotency_key: str = ""
    ) -> FeedbackGiven:
        """Record feedback on a reply, as the proxy's /v1/feedback does; durable when this returns.

        `reply` is anything that `inference_of` takes, or an id that it returned, in this process or an earlier one.
        `value` is a bool, a number in [0, 1], a text, or a demonstration: a dict with `answer` and perhaps `reasoning`,
        `wrong_answer` and `question`, which proposes a memory with `learn="propose"`. The latest feedback on a metric
        counts; the same `idempotency_key` twice counts once.

        Raises:
            UsageError: Nothing is being recorded, the run takes no feedback, or the value is not valid.
            NotFound: This run has no such reply.
            Conflict: The idempotency key was used for different feedback.
            NotRecorded: The log accepts nothing more.
        """
        live, said = self._about(reply, value, metric, idempotency_key)
        event = live.submit_feedback(said, trust=self._served["trust"]).result()[0]
        assert isinstance(event, FeedbackGiven)
        return event

    async def afeedback(
        self, reply: object, *, value: object, metric: str = "right", idempotency_key: str = ""
    ) -> FeedbackGiven:
        """Do what `feedback` does, without blocking the running loop."""
        live, said = self._about(reply, value, metric, idempotency_key)
        return await live.give_feedback(said, trust=self._served["trust"])

    def _about(self, reply: object, value: object, metric: str, idempotency_key: str) -> tuple[LiveRun, Feedback]:
        """Return the run that records, and feedback to give on one of its inferences."""
        if self._live is None:
            raise UsageError(
                f"Requests to {self.run.id} are not being recorded: call wrap with record=True first, and feedback "
                f"before close."
            )
        name = reply if isinstance(reply, str) else inference_of(reply)
        once = idempotency_key or secrets.token_hex(16)
        return self._live, Feedback(metric=metric, value=value, idempotency_key=once, inference_id=name)

    def close(self) -> None:
        """Close the run that records, if `wrap` started one; its clients then continue without memories."""
        if self._live is not None:
            self._live.close()
            self._live = None


def wrapped(client: SDK, source: LiveRun | FrozenRun, *, patience_s: float = PATIENCE_S) -> SDK:
    """Return a copy of an SDK's client whose requests get memories; both share their connections.

    A `LiveRun` records each inference, a `FrozenRun` none. A request that is not ready within `patience_s` seconds is
    sent without memories.

    Raises `UsageError` for anything but a client of the two SDKs, and for one already wrapped.
    """
    sdk, inner = _opened_up(client)
    notes = _Recorded(source) if isinstance(source, LiveRun) else _Unrecorded(source)
    return cast(SDK, cast(Any, client).copy(http_client=seen_through(inner, _Desk(notes, _PATHS[sdk], patience_s))))


def _opened_up(client: object) -> tuple[str, Any]:
    """Return a client's SDK and its HTTP client."""
    homes = [(each.__module__.partition(".")[0], each.__name__) for each in type(client).__mro__]
    sdk = next((module for module, name in homes if module in _PATHS and name in _CLIENTS), None)
    if sdk is None:
        names = "openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic and anthropic.AsyncAnthropic"
        raise UsageError(
            f"{type(client).__name__} cannot be wrapped; {names} can. Send others through `mage-es serve`."
        )
    inner = cast(Any, client)._client
    if isinstance(inner, SeenThrough):
        raise UsageError(
            f"This {type(client).__name__} client is already wrapped: use it as it is. For another run, other options, "
            "or after `close`, wrap the client that it was made from."
        )
    return sdk, inner


def inference_of(response: object) -> str:
    """Return the id of the inference that a wrapped client's response, stream or error belongs to.

    A raw response, a stream and an error carry it in their header X-Mage-Inference; an error without a response, such
    as a timeout, in that of its request. A parsed reply is recognised by the id that the server gave it, as long as it
    is among the newest 50,000 of this process.

    Raises `NotFound` for anything else, and for an id that a server gave to several replies.
    """
    # OpenAI's streams with events of their own have the response under a name that is not public.
    parts = (getattr(response, name, None) for name in ("response", "_response", "request"))
    headers: Any = next((each.headers for each in (response, *parts) if hasattr(each, "headers")), {})
    if known := headers.get("x-mage-inference"):
        return str(known)
    name = getattr(response, "id", None)
    found = _known.get(name) if isinstance(name, str) else None
    if found:
        return found
    if found == "":
        raise NotFound(f"The server gave the id {name} to several replies. Ask for the header: with_raw_response.")
    if headers.get("x-mage-memories"):
        raise NotFound(
            "This request has no inference: it was sent without memories, since they were not ready within patience_s, "
            "or nothing records it."
        )
    raise NotFound(f"No wrapped client of this process got this {type(response).__name__}, or it was too long ago.")


def _remember(reply: str, inference: str) -> None:
    with _mutex:
        _known[reply] = inference if _known.pop(reply, inference) == inference else ""
        if len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)


class _Opened(NamedTuple):
    """What goes into a request, and what the headers of its reply say; they name no inference if nothing is
    recorded."""

    notes: Mapping[int, Note]
    header_values: Mapping[str, str]
    waiting: str = ""
    """SHA-256 of the turn that waits for its first reply; empty if no turn does."""


class _Recorded:
    def __init__(self, live: LiveRun) -> None:
        self._live = live

    def open(self, reading: Reading, shape: RequestShape, given: Mapping[str, str]) -> _Opened:
        prepared = self._live.prepare(
            reading,
            shape,
            session=given.get("x-session-id", ""),
            memory=wish_of(given),
            task_type=given.get("x-mage-task-type"),
            is_retry=is_retry(given),
        )
        self._live.submit(prepared).result()
        return _Opened(prepared.notes, prepared.header_values, prepared.waiting)

    def earlier(self, reading: Reading, given: Mapping[str, str]) -> Mapping[int, Note]:
        if wish_of(given) == "off":
            return {}
        return self._live.earlier_notes(reading, session=given.get("x-session-id", ""))

    def close(self, closed: InferenceClosed) -> None:
        self._live.close_inference(closed)


def note_before(frozen: FrozenRun, text: str, is_first: bool, task_type: str | None = None) -> tuple[Note, str]:
    """Return the note for a turn that is not recorded, and why, if it is empty. `is_first`: the turn begins the
    conversation."""
    layout = frozen.layout_before(is_first=is_first)
    found = frozen.retrieved(text, task_type, layout=layout)
    return note_of(frozen.state, found.memories, layout), "far" if found.is_far else "bare" if found.is_bare else "none"


class _Unrecorded:
    """Each turn gets the note that its own text leads to, the same on every request. Nothing is recorded."""

    def __init__(self, frozen: FrozenRun) -> None:
        self._frozen = frozen
        self._note = lru_cache(maxsize=8_192)(partial(note_before, frozen))

    def open(self, reading: Reading, shape: RequestShape, given: Mapping[str, str]) -> _Opened:
        wish, task_type = wish_of(given), given.get("x-mage-task-type")
        if task_type is not None:
            self._frozen.require_task_type(task_type)
        turns = reading.turns if wish == "on" else ()
        notes = [self._note(turn.text.strip(), turn.is_first, task_type) for turn in turns]
        found = {number: note for number, (note, _) in enumerate(notes) if note.said}
        inserted: str = wish if wish != "on" else "none"
        if notes and reading.is_new:
            note, why = notes[-1]
            inserted = ",".join(note.memories) or why
        return _Opened(found, {"marker": self._frozen.marker, "memories": inserted})

    def earlier(self, reading: Reading, given: Mapping[str, str]) -> Mapping[int, Note]:
        return {}  # looking those up takes as long as looking up the new one

    def close(self, closed: InferenceClosed) -> None:
        """Nothing is recorded."""


class _Desk:
    """The desk that every request of a wrapped client goes through."""

    def __init__(self, notes: _Recorded | _Unrecorded, paths: Mapping[str, RequestShape], patience_s: float) -> None:
        self.notes, self.patience_s, self._paths = notes, patience_s, paths
        self.pool = ThreadPoolExecutor(4, thread_name_prefix="mage-notes")

    def passage(self, request: Any) -> _Passage | None:
        """Start preparing a request; return None if it is not part of a conversation."""
        shape = next((shape for end, shape in self._paths.items() if request.url.path.endswith(end)), None)
        if shape is None or request.method != "POST":
            return None
        try:
            body = request.content
        except RuntimeError:  # it is sent piece by piece, unlike JSON
            return None
        return _Passage(self, request, shape, body)


class _Passage:
    """One request in flight, and its outcome."""

    def __init__(self, desk: _Desk, request: Any, shape: RequestShape, body: bytes) -> None:
        self._desk, self._request, self._shape, self._body = desk, request, shape, body
        self._given = {name.lower(): value for name, value in request.headers.items()}
        self._received, self._overhead_s, self._status = time.perf_counter(), 0.0, 0
        self._opened: _Opened | None = None
        self._is_closed = False
        self.opening: Future[tuple[_Opened, bytes]] = desk.pool.submit(self._open)
        self.reader = ReplyReader(shape, "")

    def _open(self) -> tuple[_Opened, bytes]:
        body, reading = self._body, read(self._shape, self._body)
        # What is sent if the rest is not ready in time.
        self._body = spliced(self._shape, body, self._desk.notes.earlier(reading, self._given))
        opened = self._desk.notes.open(reading, self._shape, self._given)
        return opened, spliced(self._shape, body, opened.notes)

    def wait(self) -> None:
        wait([self.opening], self._desk.patience_s)

    def refused(self) -> Any:
        """Return the answer to a request whose own headers are wrong, else None."""
        error = self.opening.exception() if self.opening.done() else None
        if not isinstance(error, UsageError) or not {"x-mage-memory", "x-mage-task-type"} & self._given.keys():
            return None
        body = {"type": "invalid_request_error", "message": str(error)}
        kind = httpx_of(self._request).Response
        return kind(400, json={"type": "error", "error": body}, request=self._request)

    def onward(self) -> Any:
        """Return the request as it is to be sent."""
        body = self._body
        if self.opening.done() and self.opening.exception() is None:
            self._opened, body = self.opening.result()
        own = ("x-mage-", "x-session-id", "content-length")
        headers = [each for each in self._request.headers.raw if not each[0].decode("latin-1").lower().startswith(own)]
        self._overhead_s = time.perf_counter() - self._received
        old = self._request
        return type(old)(old.method, old.url, headers=headers, content=body, extensions=old.extensions)

    def answered(self, response: Any, tee: Callable[[Any, Any, Any], Any]) -> None:
        """Note the head of the reply, and read the rest as it passes."""
        self._status, headers = response.status_code, response.headers
        values = self._opened.header_values if self._opened else {"memories": "bypassed"}
        self.reader = ReplyReader(self._shape, headers.get("content-type", ""), headers.get("content-encoding", ""))
        for name, value in values.items():
            headers[f"x-mage-{name}"] = value
        response.stream = tee(httpx_of(self._request), response.stream, self)

    def close(self, outcome: Literal["answered", "left", "failed"], problem: str = "") -> None:
        """Record the outcome of the request; only the first one counts."""
        if self._is_closed:
            return
        self._is_closed = True
        latency_s, usage = time.perf_counter() - self._received, self.reader.usage()
        if outcome == "left" and self.reader.is_done:
            outcome = "answered"

        def settle(opening: Future[tuple[_Opened, bytes]]) -> None:
            if opening.cancelled() or opening.exception():
                return
            opened, _ = opening.result()
            if not (inference := opened.header_values.get("inference")):
                return
            closed = usage.closing(
                inference,
                opened.waiting,
                outcome if self._opened else "bypassed",
                status=self._status,
                problem=problem,
                latency_s=latency_s,
                overhead_s=self._overhead_s,
                is_whole=outcome == "answered",
            )
            self._desk.notes.close(closed)
            if usage.id:
                _remember(usage.id, inference)

        self.opening.add_done_callback(settle)

    def fail(self, error: BaseException) -> None:
        if self._opened and (inference := self._opened.header_values.get("inference")):
            self._request.headers["x-mage-inference"] = inference  # the SDK's error has no more than the request
        self.close("failed", shortened(f"{type(error).__name__}: {error}"))


def _served(frozen: FrozenRun, **options: Any) -> LiveRun:
    """Return the served run of a frozen one, open until the process ends or it is closed."""
    live = LiveRun.open(frozen.run, frozen.marker, bounds=frozen.bounds, **options)
    live.frozen(live.marker).warm()
    atexit.register(live.close)
    return live
