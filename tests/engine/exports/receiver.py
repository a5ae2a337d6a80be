"""A receiver of OTLP over HTTP on loopback, and what files of OTLP hold, both as OpenTelemetry's own messages."""

import base64
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

_KINDS = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest}
_IDS = ("traceId", "spanId", "parentSpanId")
_JSON = ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.memory.records")
"""What a span has as JSON in a text."""


class Received:
    """Spans and log records, in the order in which they came."""

    def __init__(self) -> None:
        self.url = ""
        self.messages: dict[str, list[Any]] = {name: [] for name in _KINDS}
        self.bodies: list[bytes] = []

    @property
    def spans(self) -> list[Any]:
        return [s for m in self.messages["traces"] for r in m.resource_spans for c in r.scope_spans for s in c.spans]

    @property
    def logs(self) -> list[Any]:
        return [s for m in self.messages["logs"] for r in m.resource_logs for c in r.scope_logs for s in c.log_records]

    def named(self, beginning: str) -> list[Any]:
        """Return the spans whose names begin so."""
        return [span for span in self.spans if span.name.startswith(beginning)]


def said(item: Any) -> dict[str, Any]:
    """Return the attributes of a span, a log record or a data point as plain values."""
    return {name: json.loads(value) if name in _JSON else value for name, value in _plain(item.attributes).items()}


def _plain(pairs: Any) -> dict[str, Any]:
    def value_of(value: AnyValue) -> Any:
        kind = value.WhichOneof("value")
        if kind == "array_value":
            return [value_of(each) for each in value.array_value.values]
        return _plain(value.kvlist_value.values) if kind == "kvlist_value" else kind and getattr(value, kind)

    return {pair.key: value_of(pair.value) for pair in pairs}


def read_files(folder: Path) -> Received:
    """Read what a folder of OTLP files holds. Raises where a line is not OTLP, an unknown field included."""
    received = Received()
    for name, kind in _KINDS.items():
        path = folder / f"{name}.jsonl"
        for line in path.read_bytes().splitlines() if path.exists() else []:
            received.bodies.append(line)
            received.messages[name].append(ParseDict(_with_base64_ids(json.loads(line)), kind()))
    return received


def _with_base64_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: base64.b64encode(bytes.fromhex(part)).decode() if name in _IDS else _with_base64_ids(part)
            for name, part in value.items()
        }
    return [_with_base64_ids(part) for part in value] if isinstance(value, list) else value


@contextmanager
def receiving(status: int = 200, only: str = "") -> Iterator[Received]:
    """Run a receiver that answers with a status; if it takes `only` one kind of data, with 404 to the others."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            received.bodies.append(body)
            name = self.path.removeprefix("/v1/")
            received.messages[name].append(_KINDS[name].FromString(body))
            self.send_response(404 if only and name != only else status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield received
        finally:
            server.shutdown()
            thread.join()
