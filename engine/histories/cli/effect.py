"""`mage-es effect`: what memories are worth, in three numbers that are never mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable, shortened
from mage_es.cli.paying import ASKING, YesOption, agrees_to, calls_made
from mage_es.cli.session import repeatable
from mage_es.cli.settings import Settings
from mage_es.cli.tables import ID_DIGITS
from mage_es.engine.config import MOST

if TYPE_CHECKING:
    from mage_es.engine.histories.effect import EffectReport
    from mage_es.engine.worth.worth import EffectRow, PairedEffect, SplitEffect

EXAMPLES = examples(
    "mage-es effect RUN",
    "mage-es effect RUN --memory 5c0f0e8a --yes",
    "mage-es effect RUN --kind principle --max-usd 1",
)


@takes(*ASKING)
def effect(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    memory: Annotated[str, typer.Option(metavar="ID", help="Only this memory, by its id or the first digits.")] = "",
    kind: Annotated[str, typer.Option(metavar="KIND", help="All memories of a kind together, such as principle.")] = "",
    task_type: Annotated[
        str, typer.Option("--type", metavar="TYPE", help="All memories of a task type together.")
    ] = "",
    top: Annotated[
        int,
        typer.Option(
            min=1, max=MOST, help="How many memories to measure, starting with those that most questions saw."
        ),
    ] = 20,
    yes: YesOption = False,
) -> None:
    """Measure what memories are worth: questions asked again without them, the coin of `--coin`, and an association.

    Only asking again costs calls. The price is printed first: nothing is spent without `--yes`, a limit, or a yes at
    the terminal; then the other two numbers are printed. What was asked again is on record, and paid for once.
    """
    from mage_es.engine.histories.effect import effect as measure
    from mage_es.engine.run.runtime import Runtime

    found = settings.find_run(run)
    which: dict[str, Any] = {"memory": memory, "kind": kind, "task_type": task_type, "top": top}
    report = measure(found, **which, runtime=Runtime(prices=settings.prices()))
    if not report.rows:
        out.report(report, f"No prompt of {found.id} showed a memory, so there is nothing to measure.")
        return
    if pays := agrees_to(report.left, out, settings, yes=yes):
        with repeatable(out, settings) as runtime:
            report = measure(found, **which, reask=True, data_dir=settings.data_dir, runtime=runtime)
    pooled = [table("Kinds and types, as the coin has too few tosses for single memories", report.pooled)]
    parts = pooled if report.pooled else []
    notes = _notes(report)
    if report.left.calls and not pays:
        notes.append("Nothing was asked again: --yes asks, and so does a limit, --max-usd or --max-calls.")
    out.report(report, table(f"What memories of {found.id} are worth, in points", report.rows), *parts, *notes)
    first = report.rows[0]
    ahead = (
        ("show", first.name[:ID_DIGITS], found.id) if first.of == "memory" else ("list", found.id, "--sort", "effect")
    )
    out.next(settings.again("memory", *ahead, names=("runs_dir",)))


def table(title: str, rows: tuple[EffectRow, ...]) -> TextTable:
    columns = ("what", "kind", "asked again without", "coin", "association, not effect", "text")
    return TextTable(title, columns, [_row(each) for each in rows])


def _row(row: EffectRow) -> tuple[str, ...]:
    name = row.name[:ID_DIGITS] if row.of == "memory" else f"{row.of} {row.name}"
    kind = row.kind if row.status in ("", "active") else f"{row.status} {row.kind}"
    numbers = _paired(row.paired), _split(row.coin, tossed="tossed"), _split(row.association)
    return name, kind, *numbers, shortened(row.text)


def _paired(found: PairedEffect | None) -> str:
    if found is None:
        return "-"
    if found.points is None:
        return f"0 of {found.questions} asked"
    counted = f"{found.points:+.1f}, {found.won} won, {found.lost} lost of {found.pairs}"
    if found.low is None:
        return f"{counted}; {found.interval_in_words()}"
    return f"{counted}, 95 % {found.interval_in_words()}, p {found.p:.2g}"


def _split(found: SplitEffect, *, tossed: str = "") -> str:
    if tossed and not found.with_it + found.without:
        return "never tossed"
    sides = f"{found.with_it} and {found.without}"
    if found.points is None or found.low is None or found.high is None:
        return f"too few: {sides} of {found.least} each"
    return f"{found.points:+.1f}, 95 % {found.low:+.1f} to {found.high:+.1f} ({sides})"


def _notes(report: EffectReport) -> list[str]:
    notes = [
        "Asked again without: the other cases of each prompt stay. Association: those who saw it minus those who did "
        "not, which also differ in how near they are to it."
    ]
    if report.made:
        notes.append(f"{calls_made(report.made)}.")
    if report.made and report.unclear:
        notes.append(f"{report.unclear} prompts could not be made as they were asked, or got no answer.")
    if report.temperature:
        notes.append(f"The temperature is {report.temperature:g}: part of each difference is chance in the replies.")
    return notes
