"""The verb `export_otlp`: a run's log, and those of its exams, as traces and events of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mage_es.engine.askings.requests import Requests
from mage_es.engine.exports.event_files import new_folder
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.run.questions import stored_questions
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.log import LogReader

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mage_es.engine.exports.otel.live import QueuedOutbox
    from mage_es.engine.exports.otel.spans import TraceSpan, TraceVerdict


def sender() -> Callable[..., AbstractContextManager[QueuedOutbox]]:
    """Return what sends telemetry (engine/run/telemetry.py). Raises `PrerequisiteError` without the extra `otel`."""
    try:
        from mage_es.engine.exports.otel.live import sending
    except ImportError as error:
        raise PrerequisiteError(
            f"OpenTelemetry needs the package {error.name}: python -m pip install 'mage-es[otel]'"
        ) from error
    return sending


class OtlpReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was exported: events 1 to `until` of the run, and its `exams` up to then, as `spans` and `verdicts` (log
    records named gen_ai.evaluation.result). `to` is the folder or the collector, and `takes_verdicts` says whether it
    accepts verdicts."""

    run: str
    to: str
    until: int
    exams: int
    spans: int
    verdicts: int
    takes_verdicts: bool = True


@typed
def export_otlp(
    run: Run | Path | str, to: Path | None = None, *, endpoint: str = "", until: str = "latest", texts: bool = False
) -> OtlpReport:
    """Export a run in OpenTelemetry's form: into a folder, which is created, or to a collector (OTLP over HTTP).

    Without `texts` no question, prompt, reply or memory is exported; a subject's texts never are.

    Raises:
        UsageError: Both or neither of folder and endpoint are given, the folder is not empty, or there is no such
        marker.
        PrerequisiteError: The extra `otel` is missing, or the collector does not accept the data.
        LogDamaged: A log fails its checksums.
    """
    sender()
    from mage_es.engine.exports.otel.otlp import Collector, OtlpFiles, deliver, resource_of

    if bool(to) == bool(endpoint):
        raise UsageError("Give either a folder (--to FOLDER) or a collector (--endpoint http://localhost:4318).")
    found = as_run(run)
    reader = LogReader(found.log_path, opened=False)
    end = reader.resolve(until)
    exams = [each for each in exam_records(reader) if each.closed and each.seq <= end and each.is_there(found)]
    logs = [each.log(found, opened=False) for each in exams]
    everything = _traced(reader, logs, [each.opened.head_seq for each in exams], end, texts=texts)
    takes_verdicts = True
    if to is None:
        collector = Collector(endpoint)
        done = deliver(everything, resource_of(found.id), collector)
        takes_verdicts = collector.takes_verdicts
    else:
        with new_folder(to):
            done = deliver(everything, resource_of(found.id), OtlpFiles(to))
    return OtlpReport(
        run=found.id,
        to=str(to or endpoint),
        until=end,
        exams=len(exams),
        takes_verdicts=takes_verdicts,
        **done._asdict(),
    )


aexport_otlp = in_thread(export_otlp)


def _traced(
    reader: LogReader, exams: list[LogReader], heads: list[int], until: int, *, texts: bool
) -> Iterator[TraceSpan | TraceVerdict]:
    from mage_es.engine.exports.otel.spans import TraceTexts, traced

    shown = None
    if texts:
        questions, _ = stored_questions(reader, "")
        shown = TraceTexts(Requests(reader).request, {each.id: each.question for each in questions}, {})
    yield from traced(reader.log_id, reader.run, reader.records(until=until), shown)
    for exam, head in zip(exams, heads, strict=True):
        if shown:
            shown = shown._replace(request=Requests(exam, run=reader, head_seq=head).request)
        yield from traced(exam.log_id, exam.run, exam.records(), shown)
