"""`mage-es log`: read the events of a run, one by one, also while it is written."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, clean, in_json
from mage_es.cli.settings import Settings
from mage_es.engine.config import MOST
from mage_es.events.errors import Interrupted

if TYPE_CHECKING:
    from mage_es.events.vocabulary import Record

SHOW_EXAMPLES = examples("mage-es log show seq:120", "mage-es log show iter-3 RUN --json")
TAIL_EXAMPLES = examples("mage-es log tail", "mage-es log tail RUN --follow -n 5", "mage-es log tail RUN --json")

POLL_SECONDS = 0.2
LINE = 200
"""Characters of a line of `log tail`; `log show` has the whole."""


@takes("runs_dir")
def show(
    marker: Annotated[str, typer.Argument(help="The event: seq:120, or a marker such as iter-3 or latest.")],
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
) -> None:
    """Show one record of the log with all its fields."""
    from mage_es.events.facts.plain import plain
    from mage_es.events.log import LogReader

    found = settings.find_run(run)
    reader = LogReader(found.log_path)
    seq = reader.resolve(marker)
    document = plain(next(reader.records(since=seq, until=seq)))
    out.report(document, "\n".join(_fields(document)))
    out.next(settings.again("log", "show", f"seq:{min(seq + 1, reader.head.seq)}", found.id))


@takes("runs_dir")
def tail(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue with new events until the run ends.")
    ] = False,
    last: Annotated[int, typer.Option("-n", min=0, max=MOST, help="Number of events to start with.")] = 20,
) -> None:
    """Show the last records of a run's log, one line each.

    Every record shown is on stable storage. With --json each line is a JSON document.
    """
    from mage_es.events.log import LogReader
    from mage_es.events.log import follow as follow_log

    found = settings.find_run(run)
    reader = LogReader(found.log_path)
    since = max(1, reader.head.seq - last + 1)
    again = settings.again("log", "show", "latest", found.id)
    try:
        records = (
            follow_log(found.log_path, since=since, wait=lambda: time.sleep(POLL_SECONDS))
            if follow
            else reader.records(since=since)
        )
        _print(records, as_json=out.as_json)
    except KeyboardInterrupt:
        out.say(f"Stopped following; the run itself goes on. Read on with: {again}")
        raise typer.Exit(Interrupted.exit_code) from None
    out.next(again)


def _print(records: Iterable[Record], *, as_json: bool) -> None:
    from mage_es.events.facts.plain import plain

    for record in records:
        line = in_json(plain(record)) if as_json else _line(plain(record))
        print(line, flush=True)


def _line(document: dict[str, object]) -> str:
    moment = str(document["ts"])[11:23]
    place = f"{'start' if document['iteration'] == -1 else 'iter-' + str(document['iteration'])}/{document['phase']}"
    start = f"{document['seq']:>7}  {moment}  {place:<17}  {document['type']:<18}  {document['stream']}  "
    event = document["event"]
    assert isinstance(event, dict)
    simple = ((name, value) for name, value in event.items() if isinstance(value, str | int | float) and value != "")
    said = " ".join(f"{name}={value}" for name, value in simple)
    line = clean((start + said)[: 4 * LINE]).replace("\n", " ")
    return line if len(line) <= LINE else line[: LINE - 3] + "..."


def _fields(document: dict[str, object], indent: str = "") -> Iterator[str]:
    """Yield the fields of a record in lines; a text of several lines goes below its name."""
    for name, value in document.items():
        if isinstance(value, dict):
            yield f"{indent}{name}"
            yield from _fields(value, indent + "  ")
        elif isinstance(value, list | tuple) and value:
            yield f"{indent}{name}"
            for item in value:
                inner = " ".join(f"{key}={of}" for key, of in item.items()) if isinstance(item, dict) else str(item)
                yield f"{indent}  - {inner}"
        elif isinstance(value, str) and "\n" in value:
            yield f"{indent}{name}"
            yield from (f"{indent}  | {line}" for line in value.splitlines())
        else:
            yield f"{indent}{name:<16} {'-' if value in ('', ()) else value}"
