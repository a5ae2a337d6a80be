"""Sending spans and verdicts: into files of OTLP as JSON lines, or to a collector.

Rules
    - A file has the form of the specification's file exporter: a line for each batch, one kind of data in each file.
    - A verdict is an event, which OpenTelemetry has as a log record with a name; metrics are histograms of the calls.
    - Messages and records of a span are JSON in a text, as the conventions allow: tools read no other form there.
"""

from __future__ import annotations

import base64
import dataclasses
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
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    InMemoryMetricReader,
    MetricReader,
    MetricsData,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes import error_attributes, server_attributes, service_attributes
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
    *(gen_ai.GEN_AI_SYSTEM_INSTRUCTIONS, gen_ai.GEN_AI_INPUT_MESSAGES, gen_ai.GEN_AI_OUTPUT_MESSAGES, RECORDS),
}
_MEASURED = (gen_ai.GenAiOperationNameValues.CHAT.value, gen_ai.GenAiOperationNameValues.EMBEDDINGS.value)
_TOLD = (
    *(gen_ai.GEN_AI_OPERATION_NAME, gen_ai.GEN_AI_PROVIDER_NAME, gen_ai.GEN_AI_REQUEST_MODEL),
    *(server_attributes.SERVER_ADDRESS, server_attributes.SERVER_PORT, error_attributes.ERROR_TYPE),
)
"""The attributes of a metric: few values each, since every combination is a separate series."""
# The conventions name these bounds.
_SECONDS = [0.01 * 2**power for power in range(14)]
_TOKENS = [float(4**power) for power in range(14)]


class Delivered(NamedTuple):
    """How many spans, verdicts (as log records) and series of metrics were written or sent."""

    spans: int
    verdicts: int
    series: int


class Destination(Protocol):
    """Where data goes."""

    def spans(self, batch: Sequence[ReadableSpan]) -> None: ...

    def verdicts(self, batch: Sequence[ReadableLogRecord]) -> None: ...

    def metrics(self, data: MetricsData) -> None: ...


def resource_of(run: str = "") -> Resource:
    """Return the resource of all data: this package, the run if there is only one, and what the standard variables
    OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES name."""
    said = {service_attributes.SERVICE_NAME: "mage-es", service_attributes.SERVICE_VERSION: __version__}
    own = Resource({**said, **({"mage_es.run": run} if run else {})})
    return own.merge(OTELResourceDetector().detect())


def deliver(found: Iterable[TraceSpan | TraceVerdict], resource: Resource, to: Destination) -> Delivered:
    """Send spans and verdicts in batches, then the metrics of them all."""
    held, counts, ends = InMemoryMetricReader(), Counter[str](), list[int]()
    meters, each = Meters(held, resource), iter(found)
    while batch := list(islice(each, _BATCH)):
        spans = [item for item in batch if isinstance(item, TraceSpan)]
        said = [item for item in batch if isinstance(item, TraceVerdict)]
        if spans:
            to.spans([span_of(span, resource) for span in spans])
        if said:
            to.verdicts([ReadableLogRecord(event_of(verdict), resource, SCOPE) for verdict in said])
        for span in spans:
            meters.note(span)
        counts += Counter(spans=len(spans), verdicts=len(said))
        ends += [us for span in spans for us in (span.begin_us, span.end_us)]
        ends = [min(ends), max(ends)] if ends else []
    series = 0
    if data := held.get_metrics_data():
        data = _at(data, *ends)
        series = sum(len(metric.data.data_points) for metric in data.resource_metrics[0].scope_metrics[0].metrics)
        to.metrics(data)
    return Delivered(counts["spans"], counts["verdicts"], series)


class OtlpFiles:
    """Files in an existing folder: `traces.jsonl`, `logs.jsonl` and `metrics.jsonl`, each if there is such data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def spans(self, batch: Sequence[ReadableSpan]) -> None:
        self._append("traces.jsonl", encode_spans(batch))

    def verdicts(self, batch: Sequence[ReadableLogRecord]) -> None:
        self._append("logs.jsonl", encode_logs(batch))

    def metrics(self, data: MetricsData) -> None:
        self._append("metrics.jsonl", encode_metrics(data))

    def _append(self, name: str, message: Message) -> None:
        line = msgspec.json.encode(_with_hex_ids(MessageToDict(message, use_integers_for_enums=True)))
        with (self._folder / name).open("ab") as file:
            file.write(line + b"\n")


class Collector:
    """A collector at an address such as http://localhost:4318. Some only know traces: `refused` are the other kinds of
    data, `verdicts` or `metrics`, that it did not accept. Raises `PrerequisiteError` if it does not accept spans."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._spans, self._verdicts, self._metrics = exporters(endpoint, EXPORT_S)
        self.refused: list[str] = []

    def spans(self, batch: Sequence[ReadableSpan]) -> None:
        if problem := _problem_of(lambda: self._spans.export(batch)):
            raise PrerequisiteError(
                f"{self._endpoint} did not accept the data ({problem}). Give the address of a collector that speaks "
                f"OTLP "
                "over HTTP, such as http://localhost:4318."
            )

    def verdicts(self, batch: Sequence[ReadableLogRecord]) -> None:
        if "verdicts" not in self.refused and _problem_of(lambda: self._verdicts.export(batch)):
            self.refused.append("verdicts")

    def metrics(self, data: MetricsData) -> None:
        if _problem_of(lambda: self._metrics.export(data)):
            self.refused.append("metrics")


def _problem_of(send: Callable[[], Any]) -> str:
    """Send something; return why it was not accepted, or ""."""
    said = ["it gives no reason"]
    with warnings_of(said.append):
        result = send()
    return "" if result.name == "SUCCESS" else said[-1]


class Meters:
    """Histograms of calls: seconds, and tokens by their type."""

    def __init__(self, reader: MetricReader, resource: Resource) -> None:
        self._provider = MeterProvider([reader], resource, shutdown_on_exit=False)  # which it keeps for the reader
        meter = self._provider.get_meter(SCOPE.name, SCOPE.version)
        self._seconds = meter.create_histogram(
            gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION,
            "s",
            "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._tokens = meter.create_histogram(
            gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE,
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )

    def note(self, span: TraceSpan) -> None:
        """Measure a span if it is a call."""
        said = span.attributes
        if said.get(gen_ai.GEN_AI_OPERATION_NAME) not in _MEASURED:
            return
        kept = {name: said[name] for name in _TOLD if name in said}
        self._seconds.record((span.end_us - span.begin_us) / 1e6, kept)
        for kind, name in (
            (gen_ai.GenAiTokenTypeValues.INPUT, gen_ai.GEN_AI_USAGE_INPUT_TOKENS),
            (gen_ai.GenAiTokenTypeValues.OUTPUT, gen_ai.GEN_AI_USAGE_OUTPUT_TOKENS),
        ):
            if name in said:
                self._tokens.record(said[name], {**kept, gen_ai.GEN_AI_TOKEN_TYPE: kind.value})


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


def exporters(endpoint: str, patience_s: float) -> tuple[OTLPSpanExporter, OTLPLogExporter, OTLPMetricExporter]:
    """Return the exporters to a collector; headers and certificates are those of the standard variables."""
    traces, logs, metrics = (f"{endpoint.rstrip('/')}/v1/{signal}" for signal in ("traces", "logs", "metrics"))
    return (
        OTLPSpanExporter(traces, timeout=patience_s),
        OTLPLogExporter(logs, timeout=patience_s),
        OTLPMetricExporter(metrics, timeout=patience_s),
    )


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


def _at(data: MetricsData, begin_us: int, end_us: int) -> MetricsData:
    """Return metrics with the times of the calls instead of the times of measurement."""

    def changed(points: Iterable[Any]) -> list[Any]:
        times = {"start_time_unix_nano": 1000 * begin_us, "time_unix_nano": 1000 * end_us}
        return [dataclasses.replace(point, **times, exemplars=[]) for point in points]

    replace = dataclasses.replace
    [of_resource] = data.resource_metrics
    [of_scope] = of_resource.scope_metrics
    metrics = [
        replace(each, data=replace(each.data, data_points=changed(each.data.data_points))) for each in of_scope.metrics
    ]
    return MetricsData([replace(of_resource, scope_metrics=[replace(of_scope, metrics=metrics)])])


def _with_hex_ids(value: Any) -> Any:
    """Return a message with ids as OTLP writes them in JSON, where Protobuf has base64."""
    if isinstance(value, Mapping):
        return {
            name: base64.b64decode(part).hex() if name in _IDS else _with_hex_ids(part) for name, part in value.items()
        }
    return [_with_hex_ids(part) for part in value] if isinstance(value, list) else value
