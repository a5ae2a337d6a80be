"""`mage-es serve`: put what a run learned into the requests of an application."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mage_es.cli.interrupts import Interrupts
from mage_es.cli.options import AtOption, MinSimilarityOption, RunArgument, examples, similarity, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings

if TYPE_CHECKING:
    from mage_es.engine.verbs.serve import ServeReport

EXAMPLES = examples(
    "mage-es serve RUN --upstream http://localhost:8000",
    "mage-es serve RUN --at iter-9 --upstream https://api.openai.com --learn propose --record-texts",
    "mage-es serve RUN --upstream http://localhost:8000 --keys keys.toml --host 0.0.0.0",
)

UpstreamOption = Annotated[
    str, typer.Option("--upstream", metavar="URL", help="Server that answers, such as https://api.openai.com.")
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Run that records it. [default: RUN-served]")
]
KeysOption = Annotated[
    Path | None, typer.Option("--keys", metavar="FILE", help="Who may ask, and which run they reach.")
]
HoldbackOption = Annotated[
    float, typer.Option("--holdback", min=0.0, max=1.0, metavar="FRACTION", help="Sessions without memories.")
]
TextsOption = Annotated[
    bool, typer.Option("--record-texts", help="Record questions and replies, not only their hashes.")
]
LearnOption = Annotated[
    Literal["off", "log", "propose"],
    typer.Option("--learn", help="Feedback is refused, recorded, or may also propose memories."),
]
TimeoutOption = Annotated[
    float,
    typer.Option("--retrieval-timeout", min=1.0, metavar="MILLISECONDS", help="Then it goes on without memories."),
]

TypesOption = Annotated[
    str, typer.Option("--only-types", metavar="NAME,NAME", help="Only questions of these get memories. [default: all]")
]
TokensOption = Annotated[
    int,
    typer.Option("--max-note-tokens", min=0, metavar="N", help="Leave out the farthest memories above. 0: no limit."),
]
PublishOption = Annotated[
    float | None,
    typer.Option("--publish-every", min=1.0, metavar="MINUTES", help="Publish what clients said, again and again."),
]
BodyOption = Annotated[
    float, typer.Option("--max-body", min=0.001, metavar="MIB", help="Refuse requests that are larger.")
]
LogOption = Annotated[
    bool, typer.Option("--access-log", help="Print a line for each request: no keys, texts or query strings.")
]


@takes("runs_dir", "data_dir")
def serve(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    upstream: UpstreamOption,
    at: AtOption = "latest",
    name: NameOption = None,
    learn: LearnOption = "log",
    keys: KeysOption = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any that is free.")] = 8321,
    holdback: HoldbackOption = 0.05,
    record_texts: TextsOption = False,
    min_similarity: MinSimilarityOption = "auto",
    only_types: TypesOption = "",
    max_note_tokens: TokensOption = 0,
    retrieval_timeout: TimeoutOption = 50.0,
    publish_every: PublishOption = None,
    access_log: LogOption = False,
    max_body: BodyOption = 64.0,
) -> None:
    """Put what a run learned into the requests of an application.

    Point the base URL of an OpenAI or Anthropic client here: memories are put into the latest question, every other
    byte goes to the upstream and back as it is. What happens is recorded in a run of its own, RUN-served, so that the
    run itself stays as it is.
    """
    from mage_es.engine.verbs.serve import serve as serve_run

    found = settings.find_run(run)
    out.say(f"Opening {found.id} at {at} ...")
    with Interrupts() as interrupts:
        report = serve_run(
            str(found.path),
            upstream=upstream,
            at=at,
            name=name,
            learn=learn,
            keys=keys,
            host=host,
            port=port,
            holdback=holdback,
            record_texts=record_texts,
            min_similarity=similarity(min_similarity),
            task_types=[name.strip() for name in only_types.split(",") if name.strip()],
            max_note_tokens=max_note_tokens,
            retrieval_timeout_ms=retrieval_timeout,
            publish_every_s=60 * publish_every if publish_every else None,
            access_log=access_log,
            max_body_mib=max_body,
            runs_dir=settings.runs_dir,
            data_dir=settings.data_dir,
            begun=lambda report: _tell(out, report, texts=record_texts),
            stop=interrupts.asked,
            say=out.say,
        )
        served = report.runs[0].run_id
        out.report(report, f"Stopped. Everything is on record in {served}.")
        out.next(settings.again("verify", served, names=("runs_dir",)))


def _tell(out: Output, report: ServeReport, *, texts: bool) -> None:
    runs = ", ".join(f"{each.run_id} ({each.parent} at {each.marker})" for each in report.runs)
    recorded = "questions and replies with their texts" if texts else "ids, hashes and counts; no text of a question"
    low, high = min(each.floors[0] for each in report.runs), max(each.floors[1] for each in report.runs)
    least = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f} by task type"
    near = f"whose nearest memory has a cosine of at least {least}" if high else "of any kind"
    out.say(f"Serving {runs} at {report.address}, in front of {report.upstream}.")
    out.say(f"Memories: for questions {near} (--min-similarity).\nRecorded: {recorded}.")
    out.next(
        f"OPENAI_BASE_URL={report.address}/v1 or ANTHROPIC_BASE_URL={report.address} for your application",
        f"curl {report.address}/healthz",
    )
