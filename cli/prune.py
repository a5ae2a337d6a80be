"""`mage-es memory prune`: take out of use what a run's own record proves harmful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings

if TYPE_CHECKING:
    from mage_es.engine.verbs.prune import PrunedMemory, PruneGain, PruneReport

EXAMPLES = examples("mage-es memory prune RUN --dry-run", "mage-es memory prune RUN")
_DIGITS = 12


@takes("runs_dir")
def prune(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go out of use.")] = False,
) -> None:
    """Take out of use every memory that is proved harmful, and say what that gains; it can be released.

    Proved by what `mage-es effect` asked again, or by the coin of `--coin`, after Holm's correction for all memories
    looked at. No model is called: a memory with too few of both is left alone.
    """
    from mage_es.engine.verbs.prune import prune as take_out

    found = settings.find_run(run)
    report = take_out(found, only_look=dry_run)
    table = [_table(report)] if report.pruned else []
    out.report(report, *table, in_words(report))
    if not report.pruned:
        out.next(settings.again("effect", report.run_id))
    elif dry_run:
        out.next(settings.again("memory", "prune", report.run_id))
    else:
        name = report.pruned[0].memory_id[:_DIGITS]
        out.next(
            settings.again("exam", report.run_id),
            settings.again("memory", "release", name, report.run_id, "--reason", "..."),
        )


def in_words(report: PruneReport) -> str:
    """Return what a prune found, did and gained, without its table."""
    more = " more" if report.looked_at else ""
    were = "was" if report.too_few == 1 else "were"
    left = f"{report.too_few}{more} {were} left alone: too few answers on record"
    left += f"; and {report.released}, since they were released." if report.released else "."
    looked_at = "1 memory" if report.looked_at == 1 else f"{report.looked_at} memories"
    if not report.pruned:
        return f"Nothing is proved harmful in {report.run_id}: {looked_at} looked at. {left}"
    done = "would go" if report.only_look else "went"
    counted = f"Of {looked_at} looked at in {report.run_id}, {len(report.pruned)} {done} out of use. {left}"
    return f"{counted} {_gained(report.gain)}"


def _table(report: PruneReport) -> TextTable:
    columns = ("id", "kind", "worth, in points", "95 %", "by", "p, corrected", "text")
    return TextTable(f"Proved harmful in {report.run_id}", columns, [_row(each) for each in report.pruned])


def _gained(gain: PruneGain) -> str:
    if gain.points is None:
        return (
            f"What that gains is not on record: none of the {gain.questions} questions that saw one was asked again "
            "without."
        )
    counted = f"{gain.before} of {gain.pairs} right as they were asked, {gain.after} without: {gain.points:+.1f} points"
    is_sure = gain.low is not None and gain.high is not None
    interval = (
        f" (95 % {gain.low:+.1f} to {gain.high:+.1f})" if is_sure else f" (too few for an interval of {gain.least})"
    )
    rest = gain.questions - gain.pairs
    missing = f" {rest} more questions were not asked again without all of them." if rest else ""
    return f"The same questions: {counted}{interval}.{missing} They chose what goes: an exam asks others."


def _row(each: PrunedMemory) -> tuple[str, ...]:
    counted = " and ".join(map(str, each.n))
    return (
        each.memory_id[:_DIGITS],
        each.kind,
        f"{each.points:+.1f}",
        f"{each.low:+.1f} to {each.high:+.1f}",
        f"{each.by} ({counted})",
        f"{each.corrected:.2g}",
        each.text,
    )
