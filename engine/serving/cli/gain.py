"""`mage-es gain`: what memory changed for the real sessions of a served run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings

if TYPE_CHECKING:
    from mage_es.engine.serving.gain import GainReport, GainRow

EXAMPLES = examples("mage-es gain RUN-served", "mage-es gain RUN-served --metric resolved --json")


@takes("runs_dir")
def gain(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    metric: Annotated[str | None, typer.Option("--metric", metavar="NAME", help="Only this metric.")] = None,
) -> None:
    """Print the live gain of a served run: sessions with memory against those that the coin held back.

    The unit is the session. If too few sessions of either side have a value, the table says how many more are needed
    instead of giving an interval.
    """
    from mage_es.engine.serving.gain import gain as gain_of

    report = gain_of(settings.find_run(run), metric=metric)
    parts = (
        [table("Memory minus holdback", report.gains)]
        if report.gains
        else ["No session of either side has a score yet."]
    )
    out.report(
        report,
        "\n".join((_summary(report), *_mishaps(report))),
        *parts,
        table("Cost and feedback", (report.said, *report.costs)),
    )
    out.next(settings.again("publish", report.run_id))


def table(title: str, rows: tuple[GainRow, ...]) -> TextTable:
    columns = ("measure", "task type", "memory", "holdback", "difference", "95 % interval", "sessions", "method")
    cells = [
        (
            *(row.measure, row.task_type, _number(row.mean_with_memory), _number(row.mean_held_back)),
            *(_number(row.difference, sign="+"), _interval(row), f"{row.with_memory} and {row.held_back}", row.method),
        )
        for row in rows
    ]
    return TextTable(title, columns, cells, keys=2)


def _summary(report: GainReport) -> str:
    if not report.sessions:
        return f"{report.run_id}: no coin was tossed for any session. Serve it with --holdback above 0 to compare."
    counted = "1 session" if report.sessions == 1 else f"{report.sessions} sessions"
    said = f"{report.run_id}: {counted}, {report.held_back} of them held back by the coin"
    if report.said.low is not None and report.said.high is not None and not report.said.low <= 0 <= report.said.high:
        return f"{said}. One side gives more feedback than the other, so the gain compares different people."
    return said


def _mishaps(report: GainReport) -> Iterator[str]:
    if report.bypassed:
        yield (
            f"{report.bypassed} of {report.requests} requests were sent without memories, which were not ready in "
            "time: a longer --retrieval-timeout or a faster embedder helps."
        )
    if report.cut:
        yield f"{report.cut} of {report.requests} requests were cut off because their process was killed."


def _number(value: float | None, *, sign: str = "") -> str:
    return "none" if value is None else format(value, f"{sign}.3f")


def _interval(row: GainRow) -> str:
    if row.low is None or row.high is None:
        return f"none: {row.missing} more needed"
    return f"{row.low:+.3f} to {row.high:+.3f}"
