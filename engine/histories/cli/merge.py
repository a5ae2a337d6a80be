"""`mage-es merge`: a new run with the memories of two others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings

if TYPE_CHECKING:
    from mage_es.engine.histories.merge import MergeReport

EXAMPLES = examples("mage-es merge monday tuesday --run-id week", "mage-es merge monday@iter-4 tuesday")
_REASONS = {"question": "question kept back", "origin": "made from one", "kind": "not a memory"}


@takes("runs_dir", "data_dir")
def merge(
    run: Annotated[str, typer.Argument(metavar="RUN[@MARKER]", help="A run, at a closed iteration.")],
    other: Annotated[str, typer.Argument(metavar="RUN[@MARKER]", help="Another over the same benchmark.")],
    *,
    settings: Settings,
    out: Output,
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="NAME", help="Name of the new run. [default: both names]")
    ] = None,
) -> None:
    """Make a run with the memories of two others over the same benchmark, and print what it takes. No model is called.

    The new run also holds back every question that either of them holds back for anchors or exams, and takes no memory
    about such a question from the other. The memories are on probation: while learning continues, a coin leaves each
    out of one prompt in five until those of its run do no harm. Mastery, bandits and gate start afresh.
    """
    from mage_es.engine.histories.merge import merge as merged
    from mage_es.engine.run.directory import moment_of

    moments = [moment_of(text, settings.runs_dir) for text in (run, other)]
    (one, marker), (two, until) = moments
    report = merged(one, two, at=(marker, until), run_id=run_id, runs_dir=settings.runs_dir, data_dir=settings.data_dir)
    splits = f"{report.evolution} questions to learn from, {report.anchors} anchors, {report.held_out} held out"
    summary = f"{report.run_id} has {report.memories} memories, {report.both} of them from both runs; {splits}."
    out.report(report, _table(report), summary)
    out.next(settings.again("evolve", "--from", report.run_id), settings.again("exam", report.run_id))


def _table(report: MergeReport) -> TextTable:
    rows = [
        (
            *(f"{each.run_id}@{each.marker}", each.taken, each.taken - report.both),
            *(each.left_out.get(reason, 0) for reason in _REASONS),
        )
        for each in report.parents
    ]
    columns = ("run", "taken", "only there", *(f"left out: {words}" for words in _REASONS.values()))
    return TextTable("Memories", columns, rows)
