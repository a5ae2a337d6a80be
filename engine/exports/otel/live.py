"""What a process sends to a collector while it works.

Rules
    - Data waits in the SDK's queues. If a queue is full or the collector is down, data is lost, but nothing else waits
      or fails.
    - A request joins its client's trace if its `traceparent` names one. If the client does not sample that trace,
      nothing is sent, and the header is passed on unchanged.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from opentelemetry.sdk._logs import ReadWriteLogRecord
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mage_es.engine.exports.otel.otlp import PATIENCE_S, SCOPE, event_of, exporters, resource_of, span_of, warnings_of
from mage_es.engine.exports.otel.spans import (
    NO_TEXTS,
    TraceIds,
    TraceSpan,
    TraceVerdict,
    Tracing,
    Upstream,
    attributes_of,
    feedback_verdict,
    inference_spans,
)
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Telemetry
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import FeedbackGiven, InferenceClosed, InferenceOpened, RequestShape
from mage_es.projections.memory import MemoryRow

TRACEPARENT = b"traceparent"
_REMEMBERED = 2_048
"""How many inferences can still get feedback on their spans."""
_TURN_S = 0.5
"""Seconds after which a log is read again."""
_FLUSHED_AFTER = 256
"""The number of events whose spans certainly fit into the queues."""


class QueuedOutbox:
    """Data waiting to be sent to a collector; made by `sending`, which closes it. Any thread may call it."""

    def __init__(self, telemetry: Telemetry, run: str = "") -> None:
        self._resource, self._has_texts = resource_of(run), telemetry.texts
        spans, verdicts = exporters(telemetry.endpoint, PATIENCE_S)
        self._stops: tuple[Callable[[], None], ...] = (spans.shutdown, verdicts.shutdown)
        self._spans, self._verdicts = BatchSpanProcessor(spans), BatchLogRecordProcessor(verdicts)
        self._propagator, self._dice = TraceContextTextMapPropagator(), RandomIdGenerator()
        self._known: OrderedDict[tuple[str, str], TraceIds] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, found: Iterable[TraceSpan | TraceVerdict]) -> None:
        """Put spans and verdicts into the queues."""
        for item in found:
            if isinstance(item, TraceSpan):
                self._spans.on_end(span_of(item, self._resource))
            else:
                self._verdicts.on_emit(ReadWriteLogRecord(event_of(item), self._resource, SCOPE))

    def flush(self) -> None:
        """Wait until the queues have been sent, or given up on."""
        self._spans.force_flush()
        self._verdicts.force_flush()

    def begin(self, headers: Mapping[str, str]) -> TraceIds | None:
        """Return the ids of a request with these headers, None if its client does not sample its trace."""
        client = get_current_span(self._propagator.extract(headers)).get_span_context()
        if client.is_valid and not client.trace_flags.sampled:
            return None
        own = (self._dice.generate_span_id().to_bytes(8) for _ in range(3))
        if client.is_valid:
            return TraceIds(client.trace_id.to_bytes(16), client.span_id.to_bytes(8), *own)
        return TraceIds(self._dice.generate_trace_id().to_bytes(16), b"", *own)

    @staticmethod
    def parent_of(ids: TraceIds) -> tuple[bytes, bytes]:
        """Return the header that puts the upstream's spans below our chat span."""
        return TRACEPARENT, f"00-{ids.trace_id.hex()}-{ids.chat.hex()}-01".encode()

    def request(
        self,
        ids: TraceIds,
        run: str,
        address: str,
        shape: RequestShape,
        opened: InferenceOpened | None,
        closed: InferenceClosed,
        end_us: int,
        *,
        row: Callable[[str], MemoryRow],
    ) -> None:
        """Send the spans of a finished request to a served run, answered by an upstream at an address; a request that
        is not on record has no `opened`. `row` returns a memory that it was shown."""
        if shape == "search":
            ids = ids._replace(chat=ids.request)  # it calls no model, so feedback is about the call itself
        if opened:
            with self._lock:
                self._known[run, opened.inference] = ids
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        about = ids, opened, closed, end_us, Upstream(run, address)
        says = {name: attributes_of(row(name)) for name in opened.memories} if opened and self._has_texts else NO_TEXTS
        self.take(inference_spans(*about, shape=shape, has_texts=self._has_texts, says=says))

    def feedback(self, run: str, said: FeedbackGiven, at_us: int) -> None:
        """Send what a client said about an inference, as a verdict on its chat span if that is remembered."""
        ids = self._known.get((run, said.inference))
        self.take([feedback_verdict(ids, said, at_us, has_texts=self._has_texts)])

    @contextmanager
    def following(self, run: Run) -> Iterator[None]:
        """Send what a run records within the block, without texts, from a thread that reads its log."""
        reader, is_over = LogReader(run.log_path, opened=False), threading.Event()
        tracing = Tracing(reader.log_id, reader.run)
        for record in reader.records():
            deque(tracing.take(record), 0)  # recorded before: read only to know what later records belong to

        def follow() -> None:
            since, is_last = reader.head.seq + 1, False
            while not is_last:
                is_last = is_over.wait(_TURN_S)
                reader.refresh()
                for record in reader.records(since=since):
                    self.take(tracing.take(record))
                    if record.seq % _FLUSHED_AFTER == 0:
                        self.flush()
                self.flush()
                since = reader.head.seq + 1
            self.take(tracing.rest())

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join(PATIENCE_S)

    def close(self) -> None:
        """Send what is waiting, for a few seconds at most."""
        ends = (self._spans.shutdown, self._verdicts.shutdown)
        threads = [threading.Thread(target=end, daemon=True) for end in ends]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S / len(threads))
        for thread, stop in zip(threads, self._stops, strict=True):
            if thread.is_alive():  # nothing more is tried, so it soon ends
                stop()
                thread.join(PATIENCE_S)


@contextmanager
def sending(telemetry: Telemetry, say: Callable[[str], None], *, run: str = "") -> Iterator[QueuedOutbox]:
    """Send what is collected within the block; `say` gets only the first problem."""
    said = list[str]()

    def tell(problem: str) -> None:
        if not said:
            said.append(problem)
            say(f"{telemetry.endpoint} does not accept telemetry, so it is lost; everything else continues: {problem}")

    with warnings_of(tell):
        outbox = QueuedOutbox(telemetry, run)
        try:
            yield outbox
        finally:
            outbox.close()
