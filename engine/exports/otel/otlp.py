"""Sending spans and verdicts: into files of OTLP as JSON lines, or to a collector.

Rules
    - A file has the form of the specification's file exporter: a line for each batch, one kind of data in each file.
    - A verdict is an event, which OpenTelemetry has as a log record with a name.
    - Messages and records of a span are JSON texts, as the conventions allow: tools read no other form.
"""

import base64
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv.attributes import service_attributes
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from mage_es import __version__
from mage_es.engine.exports.otel.openinference import openinference
from mage_es.engine.exports.otel.spans import EVALUATION, RECORDS, TraceSpan, TraceVerdict
from mage_es.events.errors import PrerequisiteError

SCOPE = InstrumentationScope("mage_es", __version__)
_BATCH = 128
PATIENCE_S, EXPORT_S = 5.0, 20.0
"""Longest wait for a collector to accept a batch: while a run is at work, and for an export."""
_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT, "server": SpanKind.SERVER}
_IDS = ("traceId", "spanId", "parentSpanId")
_STRUCTURED = {
    *(gen_ai.GEN_AI_SYSTEM_INSTRUCTIONS, gen_ai.GEN_AI_INPUT_MESSAGES, gen_ai.GEN_AI_OUTPUT_MESSAGES, RECORDS)
}


class Delivered(NamedTuple):
    """How many spans and verdicts (as log records) were written or sent."""

    spans: int
    verdicts: int


class Destination(Protocol):
    """Where data goes."""

    def spans(self, batch: Sequence[ReadableSpan]) -> None: ...

    def verdicts(self, batch: Sequence[ReadableLogRecord]) -> None: ...


def resource_of(run: str = "") -> Resource:
    """Return the resource of all data: this package, the run if there is only one, and the attributes in the standard
    variables OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES."""
    said = {service_attributes.SERVICE_NAME: "mage-es", service_attributes.SERVICE_VERSION: __version__}
    own = Resource({**said, **({"mage_es.run": run} if run else {})})
    return own.merge(OTELResourceDetector().detect())


def deliver(found: Iterable[TraceSpan | TraceVerdict], resource: Resource, to: Destination) -> Delivered:
    """Send spans and verdicts in batches."""
    counts, each = Counter[str](), iter(found)
    while batch := list(islice(each, _BATCH)):
        spans = [span_of(item, resource) for item in batch if isinstance(item, TraceSpan)]
        said = [event_of(item) for item in batch if isinstance(item, TraceVerdict)]
        if spans:
            to.spans(spans)
        if said:
            to.verdicts([ReadableLogRecord(record, resource, SCOPE) for record in said])
        counts += Counter(spans=len(spans), verdicts=len(said))
    return Delivered(counts["spans"], counts["verdicts"])


class OtlpFiles:
    """Files in an existing folder: `traces.jsonl` and `logs.jsonl`, each if there is such data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def spans(self, batch: Sequence[ReadableSpan]) -> None:
        self._append("traces.jsonl", encode_spans(batch))

    def verdicts(self, batch: Sequence[ReadableLogRecord]) -> None:
        self._append("logs.jsonl", encode_logs(batch))

    def _append(self, name: str, message: Message) -> None:
        line = msgspec.json.encode(_with_hex_ids(MessageToDict(message, use_integers_for_enums=True)))
        with (self._folder / name).open("ab") as file:
            file.write(line + b"\n")


class Collector:
    """A collector at an address such as http://localhost:4318. Some only know traces: `takes_verdicts` is whether
    it accepts events, too. Raises `PrerequisiteError` if it does not accept spans."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._spans, self._verdicts = exporters(endpoint, EXPORT_S)
        self.takes_verdicts = True

    def spans(self, batch: Sequence[ReadableSpan]) -> None:
        if problem := _problem_of(lambda: self._spans.export(batch)):
            raise PrerequisiteError(
                f"{self._endpoint} did not accept the data ({problem}). Give the address of a collector that speaks "
                f"OTLP "
                "over HTTP, such as http://localhost:4318."
            )

    def verdicts(self, batch: Sequence[ReadableLogRecord]) -> None:
        self.takes_verdicts = self.takes_verdicts and not _problem_of(lambda: self._verdicts.export(batch))


def _problem_of(send: Callable[[], Any]) -> str:
    """Send something; return why it was not accepted, or ""."""
    said = ["it gives no reason"]
    with warnings_of(said.append):
        result = send()
    return "" if result.name == "SUCCESS" else said[-1]


class _Handler(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage())


@contextmanager
def warnings_of(tell: Callable[[str], None]) -> Iterator[None]:
    """Pass the SDK's warnings within the block to a function, and nowhere else."""
    logger, handler = logging.getLogger("opentelemetry"), _Handler(tell)
    logger.addHandler(handler)
    propagated, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = propagated
        logger.removeHandler(handler)


def exporters(endpoint: str, patience_s: float) -> tuple[OTLPSpanExporter, OTLPLogExporter]:
    """Return the exporters to a collector; headers and certificates are those of the standard variables."""
    traces, logs = (f"{endpoint.rstrip('/')}/v1/{signal}" for signal in ("traces", "logs"))
    return OTLPSpanExporter(traces, timeout=patience_s), OTLPLogExporter(logs, timeout=patience_s)


def span_of(span: TraceSpan, resource: Resource) -> ReadableSpan:
    said = {
        name: msgspec.json.encode(value).decode() if name in _STRUCTURED else value
        for name, value in span.attributes.items()
    }
    return ReadableSpan(
        span.name,
        _context(span.trace_id, span.span_id),
        _context(span.trace_id, span.parent_id) if span.parent_id else None,
        resource,
        {**said, **openinference(span)},
        kind=_KINDS[span.kind],
        status=Status(StatusCode.ERROR) if span.error else Status(),
        start_time=1000 * span.begin_us,
        end_time=1000 * span.end_us,
        instrumentation_scope=SCOPE,
    )


def event_of(verdict: TraceVerdict) -> LogRecord:
    about = _context(verdict.trace_id, verdict.span_id)
    return LogRecord(
        timestamp=1000 * verdict.at_us,
        observed_timestamp=1000 * verdict.at_us,
        context=set_span_in_context(NonRecordingSpan(about), Context()),
        severity_number=SeverityNumber.INFO,
        attributes=verdict.attributes,
        event_name=EVALUATION,
    )


def _context(trace_id: bytes, span_id: bytes) -> SpanContext:
    ids = int.from_bytes(trace_id), int.from_bytes(span_id)
    return SpanContext(*ids, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _with_hex_ids(value: Any) -> Any:
    """Return a message with ids as OTLP writes them in JSON, where Protobuf has base64."""
    if isinstance(value, Mapping):
        return {
            name: base64.b64decode(part).hex() if name in _IDS else _with_hex_ids(part) for name, part in value.items()
        }
    return [_with_hex_ids(part) for part in value] if isinstance(value, list) else value
