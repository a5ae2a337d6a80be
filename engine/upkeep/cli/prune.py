"""`mage-es memory prune`: take memories out of use that a run's own record proves harmful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.cli.tables import ID_DIGITS

if TYPE_CHECKING:
    from mage_es.engine.upkeep.prune import PrunedMemory, PruneReport

EXAMPLES = examples("mage-es memory prune RUN --dry-run", "mage-es memory prune RUN")


@takes("runs_dir")
def prune(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go out of use.")] = False,
) -> None:
    """Take every memory out of use that is proved harmful, and say what this gains; `memory release` brings it back.

    The proof is in what `mage-es effect` asked again, or in the coin of `--coin`, after Holm's correction for all
    memories tested. No model is called; a memory with too little on record is left alone.
    """
    from mage_es.engine.upkeep.prune import prune as take_out

    found = settings.find_run(run)
    report = take_out(found, only_look=dry_run)
    table = [_table(report)] if report.pruned else []
    out.report(report, *table, report.in_words())
    if not report.pruned:
        ahead = ("effect",) if report.looked_at or report.too_few else ("runs", "show")
        out.next(settings.again(*ahead, report.run_id))
    elif dry_run:
        out.next(settings.again("memory", "prune", report.run_id))
    else:
        name = report.pruned[0].memory_id[:ID_DIGITS]
        out.next(
            settings.again("exam", report.run_id),
            settings.again("memory", "release", name, report.run_id, "--reason", "..."),
        )


def _table(report: PruneReport) -> TextTable:
    columns = ("id", "kind", "worth, in points", "95 %", "by", "p, corrected", "text")
    return TextTable(f"Proved harmful in {report.run_id}", columns, [_row(each) for each in report.pruned])


def _row(each: PrunedMemory) -> tuple[str, ...]:
    counted = " and ".join(map(str, each.n))
    return (
        each.memory_id[:ID_DIGITS],
        each.kind,
        f"{each.points:+.1f}",
        f"{each.low:+.1f} to {each.high:+.1f}",
        f"{each.by} ({counted})",
        f"{each.corrected:.2g}",
        each.text,
    )
