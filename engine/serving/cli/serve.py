"""`mage-es serve`: put what a run learned into the requests of an application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mage_es.cli.interrupts import Interrupts
from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import SERVING, Settings
from mage_es.cli.tables import benefit
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.engine.serving.serve import ServedAt, ServeReport
    from mage_es.events.vocabulary import Paired

EXAMPLES = examples(
    "mage-es serve RUN --upstream http://localhost:8000",
    "mage-es serve RUN --at iter-9 --upstream https://api.openai.com --learn propose --record-texts",
    "mage-es serve RUN --upstream http://localhost:8000 --keys keys.toml --host 0.0.0.0",
)


@takes(*SERVING, "sign", "otel_endpoint", "otel_texts", "runs_dir", "data_dir")
def serve(run: RunArgument = None, *, settings: Settings, out: Output) -> None:
    """Put what a run learned into the requests of an application.

    Point the base URL of an OpenAI or Anthropic client here: memories are inserted before the latest question, and
    every other byte passes to the upstream and back unchanged. What happens is recorded in a separate run, RUN-served,
    so that the run itself does not change. Each option is a setting: --port is MAGE_ES_SERVE_PORT, and serve_port in
    mage-es.toml.
    """
    from mage_es.engine.serving.serve import serve as serve_run

    found, wanted = settings.find_run(run), settings.serving
    if not wanted.upstream:
        raise UsageError(
            "Name the upstream server: --upstream http://localhost:8000, MAGE_ES_SERVE_UPSTREAM, or serve_upstream "
            "in mage-es.toml."
        )
    out.say(f"Opening {found.id} at {wanted.at} ...")
    with Interrupts() as interrupts:
        report = serve_run(
            str(found.path),
            wanted,
            signer=settings.signer(),
            telemetry=settings.telemetry(out.say),
            runs_dir=settings.runs_dir,
            data_dir=settings.data_dir,
            begun=lambda report: _tell(out, report, texts=wanted.record_texts),
            stop=interrupts.asked,
            say=out.say,
        )
        served = report.runs[0].run_id
        out.report(report, f"Stopped. {_recorded(report.unrecorded)} on record in {served}.")
        out.next(settings.again("verify", served, names=("runs_dir",)))


def _recorded(lost: int) -> str:
    if not lost:
        return "Everything is"
    counted = "1 request went" if lost == 1 else f"{lost} requests went"
    return (
        f"{counted} on without memories and without a record: too many came at once, or a part failed, as reported. "
        "Everything else is"
    )


def _tell(out: Output, report: ServeReport, *, texts: bool) -> None:
    runs = ", ".join(map(_named, report.runs))
    recorded = "questions and replies with their texts" if texts else "ids, hashes and counts; no text of a question"
    low, high = min(each.floors[0] for each in report.runs), max(each.floors[1] for each in report.runs)
    least = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f} by task type"
    near = f"to which a memory has a cosine of at least {least}" if high else "of any kind"
    out.say(f"Serving {runs} at {report.address}, in front of {report.upstream}.")
    out.say(f"Memories: for questions {near} (--min-similarity).\nRecorded: {recorded}.")
    if any(each.embedder == "hash" for each in report.runs):
        from mage_es.engine.serving.serve import HASH_WORDS

        out.say(HASH_WORDS)
    for each in report.runs:
        out.say(_benefit(each.benefit, each.stale))
    out.next(
        f"OPENAI_BASE_URL={report.address}/v1 or ANTHROPIC_BASE_URL={report.address} for your application",
        f"curl {report.address}/healthz",
    )


def _named(served: ServedAt) -> str:
    """Return a served run with its own marker, which its parent need not have, and where it began."""
    begun = f", begun from {served.parent}" if served.parent != served.run_id else ""
    return f"{served.run_id} (at {served.marker}{begun})"


def _benefit(records: Sequence[Paired], stale: int) -> str:
    """Return a line for each task type: what it is served, and how the anchors did."""
    table = benefit(records, stale)
    if isinstance(table, str):
        return table
    rows = (
        f"{name}: {learned} right with what was learned, {bare} with the bare prompt ({won} won, {lost} lost): "
        f"{served} is served"
        for name, learned, bare, won, lost, served, _ in table.rows
    )
    return "\n".join([*([f"{table.title}:"] if stale else []), *rows])
