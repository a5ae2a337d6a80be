"""`mage-es memory review`: what waits for a person's decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable, shortened, visible
from mage_es.cli.settings import Settings
from mage_es.cli.tables import ID_DIGITS

if TYPE_CHECKING:
    from mage_es.engine.upkeep.review import Waiting

EXAMPLES = examples("mage-es memory review RUN-served", "mage-es memory review RUN-served --whole")
SHOWN_CHARACTERS = 600
"""Characters shown of a text, unless all are requested."""


@takes("runs_dir")
def review(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    whole: Annotated[bool, typer.Option("--whole", help="Show all of each text.")] = False,
) -> None:
    """List the proposals of clients that no anchor could judge: they stay out of prompts until a person approves them.

    Characters that are invisible or reorder text are shown as their numbers.
    """
    from mage_es.engine.upkeep.review import review as read_review

    found = read_review(settings.find_run(run))
    waiting = [each for each in found.proposals if each.status == "waiting"]
    approved = len(found.proposals) - len(waiting)
    sentence = (
        f"Proposals to {found.run_id}: {len(waiting)} waiting, {approved} approved, {found.untried} not tried yet, "
        f"{len(found.refused)} refused."
    )
    rows = [
        (each.memory_id[:ID_DIGITS], each.key or "-", each.why, _line(each.question) or "not on record")
        for each in found.refused
    ]
    refused = [TextTable("Refused, for good", ("id", "key", "why", "question"), rows)] if rows else []
    out.report(found, *(_waiting(each, whole=whole) for each in found.proposals), *refused, sentence)
    if waiting:
        name = waiting[0].memory_id[:ID_DIGITS]
        ways = (("memory", word, name, found.run_id, "--reason", "...") for word in ("approve", "reject"))
        out.next(*(settings.again(*way) for way in ways))
    elif found.proposals or found.untried:
        out.next(settings.again("publish", found.run_id))


def _line(text: str) -> str:
    return shortened(visible(text), 100)


def _waiting(each: Waiting, *, whole: bool) -> str:
    """Return a proposal as text for the person who decides on it. Lines of its texts begin with a bar, so that no text
    can look like one of ours."""
    texts = {
        "question": each.question,
        "wrong answer": each.wrong_answer,
        "reasoning": each.reasoning,
        "answer": each.answer,
    }
    gold = ", whose answers are gold," if each.is_gold else ""
    lines = [
        f"{each.memory_id[:ID_DIGITS]}  {each.status}  {each.outcome}  {visible(each.task_type)}",
        f"  proposed by the key {each.key or '(none)'}{gold} at {each.proposed}, tried in {each.marker}",
        f"  {'waited' if each.status == 'approved' else 'waits'} because: {each.why}",
        f"  leak check: holds {each.leak:.0%} of the {each.leak_split} question that it is most like"
        if each.leak_split
        else "  leak check: like no anchor and no held-out question",
    ]
    for name, text in texts.items():
        if text:
            shown = text if whole else text[:SHOWN_CHARACTERS]
            cut = len(text) - len(shown)
            lines.append(f"  {name} ({len(text)} characters):")
            lines += [f"    | {line}" for line in visible(shown).split("\n")]
            lines += [f"    + {cut} more characters: --whole shows them"] if cut else []
    lines.append(
        f"  nearest anchors (a cosine of {each.floor:.2f} is near enough to judge it):" if each.anchors else ""
    )
    for anchor in each.anchors:
        seen = "asked with it" if anchor.is_shown else "not asked with it"
        answered = f"{'right' if anchor.was_right else 'wrong'} before, {'right' if anchor.is_right else 'wrong'} now"
        lines.append(f"    {anchor.similarity:.2f}  {seen}, {answered}: {_line(anchor.question)}")
    return "\n".join(line for line in lines if line)
