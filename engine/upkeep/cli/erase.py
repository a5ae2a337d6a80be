"""`mage-es erase`: destroy a subject's key, and account for every trace of its texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable, agreed, counted
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.engine.upkeep.erase import ErasurePlan, ErasureReceipt

EXAMPLES = examples("mage-es erase RUN --subject ann", "mage-es erase RUN --subject ann --also exported --yes")


@takes("by", "runs_dir")
def erase(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    subject: Annotated[
        str, typer.Option(metavar="NAME", help="The subject's name, or the id that stands for it in the log.")
    ],
    reason: Annotated[str | None, typer.Option(metavar="WORDS", help="The reason, recorded in the run's log.")] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(metavar="PLACE", help="Search this folder or file too: an export, a page, a backup."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Erase without asking.")] = False,
) -> None:
    """Erase a subject: destroy its key, so that no copy of the log reveals its texts any more, and print a receipt.

    What was learned from its questions goes into quarantine. Files that can be rebuilt are deleted if they hold its
    texts unencrypted. The receipt lists every store that was searched, and what is left for you to do.
    """
    from mage_es.engine.upkeep.erase import REASON, plan_erasure
    from mage_es.engine.upkeep.erase import erase as erase_subject

    found = settings.find_run(run)
    plan = plan_erasure(found, subject=subject)
    if not plan.receipt:
        out.say("\n".join(_planned(plan)))
        if not yes and not agreed("Erase it, for good? [y/N] "):
            raise UsageError("Nothing was erased. Add --yes to erase it.")
    receipt = erase_subject(found, subject=subject, reason=reason or REASON, by=settings.by, also=also or [])
    out.report(receipt, *_tables(receipt))
    out.next(settings.again("verify", found.id))


def _planned(plan: ErasurePlan) -> list[str]:
    lines = [
        f"Subject {plan.subject_id} of {plan.run_id}: {_texts(plan.questions, plan.replies)}.",
        "Erasing it will destroy its key, so that no copy of the log, here or elsewhere, tells its texts any more, and "
        f"take {counted(len(plan.to_quarantine), 'thing')} learned from its questions out of use.",
    ]
    if plan.under_way:
        lines.append(
            f"The run cannot be resumed after that: {len(plan.under_way)} of these questions are under way. To keep it "
            "going, finish the iteration first."
        )
    if plan.beside:
        lines.append(f"It stays in other runs with a key of the same subject: {', '.join(plan.beside)}.")
    return lines


def _texts(questions: int, replies: int) -> str:
    return f"{counted(questions, 'question')} and {counted(replies, 'reply')} of models"


def _tables(receipt: ErasureReceipt) -> list[TextTable | str]:
    event = receipt.event
    rows = [(each.store, each.place, each.files, each.found, each.done, each.left or "-") for each in event.stores]
    again = "was erased already" if receipt.is_repeated else "is erased"
    columns = ("store", "place", "files", "in clear", "done", "what you must do")
    return [
        f"Subject {event.subject_id} of {receipt.run_id} {again}: {_texts(event.questions, event.replies)}; "
        f"{counted(event.quarantined, 'thing')} learned from its questions in quarantine.",
        TextTable("Where its texts were searched for", columns, rows),
        f"Receipt: event {receipt.seq} of the log, {receipt.path}",
    ]
