"""`mage-es log`: read the last events of a run, even while it is being written."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, clean, in_json
from mage_es.cli.settings import Settings
from mage_es.engine.config import MOST
from mage_es.events.errors import Interrupted

if TYPE_CHECKING:
    from mage_es.events.vocabulary import Record

EXAMPLES = examples("mage-es log", "mage-es log RUN --follow -n 5", "mage-es log RUN --json")

POLL_SECONDS = 0.2
LINE = 200
"""How many characters of a line to show; `show seq:N` shows all."""
SHORT = 64
"""Values with more characters than this come last in a line."""


@takes("runs_dir")
def log(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue with new events until the run ends.")
    ] = False,
    last: Annotated[int, typer.Option("-n", min=0, max=MOST, help="Number of events to start with.")] = 20,
) -> None:
    """Show the last events of a run, one line each.

    Every event shown is on stable storage. With --json each line is a JSON document.
    """
    from mage_es.events.log import LogReader
    from mage_es.events.log.following import follow as follow_log

    found = settings.find_run(run)
    reader = LogReader(found.log_path)
    since = max(1, reader.head.seq - last + 1)
    again = settings.again("show", f"seq:{reader.head.seq}", found.id)
    try:
        records = (
            follow_log(found.log_path, since=since, wait=lambda: time.sleep(POLL_SECONDS))
            if follow
            else reader.records(since=since)
        )
        _print(records, as_json=out.as_json)
    except KeyboardInterrupt:
        out.say(f"Stopped following; the run itself continues. Read on with: {again}")
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
    simple = [(name, value) for name, value in event.items() if isinstance(value, str | int | float) and value != ""]
    simple.sort(key=lambda field: len(str(field[1])) > SHORT)  # so only the end of a long text is cut from a long line
    said = " ".join(f"{name}={value}" for name, value in simple)
    line = clean((start + said)[: 4 * LINE]).replace("\n", " ")
    return line if len(line) <= LINE else line[: LINE - 3] + "..."
