"""`mage-es memory list`, `show`, and a command for each decision on what a run has learned."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from mage_es.cli.boxes import BESIDE, PROSE
from mage_es.cli.options import AtOption, RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable, counted, is_terminal, shortened
from mage_es.cli.settings import Settings
from mage_es.cli.tables import ID_DIGITS, mark_of
from mage_es.engine.config import MOST
from mage_es.events.errors import UsageError, nearest

if TYPE_CHECKING:
    from mage_es.engine.commands import Curation
    from mage_es.engine.worth.memories import MemoryItem, MemoryReport
    from mage_es.engine.worth.worth import Worth

LIST_EXAMPLES = examples(
    "mage-es memory list",
    "mage-es memory list RUN --kind principle --status quarantined",
    "mage-es memory list RUN --sort effect --top 10",
    "mage-es memory list RUN --sort harm --status active",
)
SHOW_EXAMPLES = examples("mage-es memory show 5c0f0e8a", "mage-es memory show 5c0f0e8a RUN --at iter-3")
QUARANTINE_EXAMPLES = examples(
    'mage-es memory quarantine 5c0f0e8a --reason "it adds where it should subtract"',
    "mage-es memory quarantine 5c0f0e8a --cascade --dry-run",
    'mage-es memory quarantine 5c0f0e8a --cascade --reason "its source was wrong"',
)
RELEASE_EXAMPLES = examples('mage-es memory release 5c0f0e8a --reason "it was right after all"')
APPROVE_EXAMPLES = examples('mage-es memory approve 5c0f0e8a RUN-served --reason "checked against the price list"')
REJECT_EXAMPLES = examples('mage-es memory reject 5c0f0e8a RUN-served --reason "it asks for money"')

ONE_LINE = (8, 14, 14)
"""Widths of id, kind and skill where each memory has one line; the text gets the rest."""

KINDS = (
    "success_memory",
    "failure_memory",
    "principle",
    "tool",
    "retrieval_recipe",
    "action_recipe",
    "abstracted_pattern",
)
STATUSES = ("active", "superseded", "quarantined", "waiting", "approved", "rejected", "pruned", "failed")
SORTS = ("age", "effect", "harm")
Worths = Mapping[str, "Worth | None"]
"""The best number about each memory, by its id."""

MemoryArgument = Annotated[
    str, typer.Argument(metavar="MEMORY", help="Id of a memory, recipe, pattern or tool, or its first digits.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="WORDS", help="The reason, recorded in the run's log.")]


@takes("runs_dir")
def list_all(
    run: RunArgument = None,
    *,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help=f"Only this kind: {', '.join(KINDS)}.")] = None,
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", help=f"Only this status: {', '.join(STATUSES)}.")
    ] = None,
    at: AtOption = "latest",
    sort: Annotated[
        str, typer.Option(metavar="|".join(SORTS), help="The order: age, most helpful (effect), most harmful (harm).")
    ] = "age",
    top: Annotated[int, typer.Option(min=1, max=MOST, help="How many to list.")] = 100,
    settings: Settings,
    out: Output,
) -> None:
    """List what a run has learned, the oldest first.

    `met` counts how often the same thing was learned; it is stored once. `--sort effect` lists the most valuable first,
    `--sort harm` the least valuable, by the best number on record (`mage-es effect`), with its interval and n: pairs,
    or questions on either side. What was asked again comes before what the coin says, that before an association, and
    memories with too few for any number come last. No model is called.
    """
    from mage_es.engine.upkeep.memory import memories
    from mage_es.engine.worth.worth import GROUNDS, effects

    _must_be_known("--sort", sort, list(SORTS))
    chosen = settings.find_run(run)
    found = memories(chosen, at=at)
    kinds = sorted({*KINDS, *(item.kind for item in found.items)})
    _must_be_known("--kind", kind, kinds)
    _must_be_known("--status", status, list(STATUSES))
    items = [item for item in found.items if _is_of(item.kind, kind) and status in (None, item.status)]
    worth = {} if sort == "age" else {name: row.best for name, row in effects(chosen).items()}
    if worth:
        sign = -1 if sort == "effect" else 1

        def order(item: MemoryItem) -> tuple[int, float]:
            best = worth.get(item.memory_id)
            return (GROUNDS.index(best.by), sign * best.points) if best else (len(GROUNDS), 0.0)

        items.sort(key=order)
    count, more = len(items), len(items[top:])
    items = items[:top]
    beside = f"; {more} more{' match' if count < len(found.items) else ''}: --top {count} lists all"
    worth = {item.memory_id: worth[item.memory_id] for item in items if item.memory_id in worth}
    document = {"run_id": found.run_id, "marker": found.marker, "items": items, "more": more}
    out.report(
        document if sort == "age" else {**document, "worth": worth},
        _listing(f"Run {found.run_id} at {found.marker}", items, None if sort == "age" else worth),
        f"{len(items)} of {counted(len(found.items), 'memory')}" + (beside if more else ""),
    )
    ahead: tuple[str, ...] = ("memory", "list", found.run_id) if found.items else ("runs", "show", found.run_id)
    if items:
        ahead = ("memory", "show", items[0].memory_id[:ID_DIGITS], found.run_id)
    out.next(settings.again(*ahead))


def _must_be_known(option: str, given: str | None, known: list[str]) -> None:
    if given is not None and given not in known:
        raise UsageError(f"{option}: {given!r} is not valid.{nearest(given, known)}")


def _is_of(kind: str, wanted: str | None) -> bool:
    return wanted is None or kind == wanted or kind.startswith(f"{wanted}/")


@takes("runs_dir")
def show_one(
    memory: MemoryArgument, run: RunArgument = None, *, settings: Settings, out: Output, at: AtOption = "latest"
) -> None:
    """Show one memory in full: its text, its origin and its history."""
    from mage_es.engine.upkeep.memory import memory as read_memory

    report = read_memory(settings.find_run(run), memory, at=at)
    _tell(report, settings, out)


@takes("by", "runs_dir")
def quarantine(
    memory: MemoryArgument,
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    reason: Annotated[
        str | None,
        typer.Option("--reason", metavar="WORDS", help="The reason, recorded in the run's log. Needed to take out."),
    ] = None,
    is_cascade: Annotated[
        bool, typer.Option("--cascade", help="Also what was derived from it; what was only shown with it is listed.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --cascade: only show what would go.")] = False,
) -> None:
    """Take a memory out of use; it stays stored and can be released.

    From now on no prompt quotes it, in exams of the latest state either. With `--cascade` what a model wrote from it,
    or from answers to prompts that showed it, goes out of use by the same commit; `--dry-run` lists it beforehand.
    """
    if dry_run and not is_cascade:
        raise UsageError("--dry-run shows what --cascade would take out: add --cascade.")
    if reason is None and not dry_run:
        raise UsageError("The log records why: add --reason WORDS.")
    if is_cascade:
        _cascade(memory, run=run, reason=reason or "", only_look=dry_run, settings=settings, out=out)
        return
    assert reason is not None
    _curate(memory, "quarantine", run=run, reason=reason, settings=settings, out=out)


@takes("by", "runs_dir")
def release(
    memory: MemoryArgument, run: RunArgument = None, *, settings: Settings, out: Output, reason: Reason
) -> None:
    """Bring a memory back into use, unless a newer one replaced it."""
    _curate(memory, "release", run=run, reason=reason, settings=settings, out=out)


@takes("by", "runs_dir")
def approve(
    memory: MemoryArgument, run: RunArgument = None, *, settings: Settings, out: Output, reason: Reason
) -> None:
    """Approve a proposal that waits for a review: the next publish takes it into use, if the guard passes it."""
    _curate(memory, "approve", run=run, reason=reason, settings=settings, out=out)


@takes("by", "runs_dir")
def reject(memory: MemoryArgument, run: RunArgument = None, *, settings: Settings, out: Output, reason: Reason) -> None:
    """Reject a proposal that waits for a review: it never comes into use, but stays in the log."""
    _curate(memory, "reject", run=run, reason=reason, settings=settings, out=out)


def _curate(memory: str, action: Curation, *, run: str | None, reason: str, settings: Settings, out: Output) -> None:
    from mage_es.engine.run.served import SUFFIX
    from mage_es.engine.upkeep.memory import curate

    found = settings.find_run(run)
    report = curate(found, memory, action=action, reason=reason, by=settings.by)
    name = report.item.memory_id[:ID_DIGITS]
    done = [f"{_DONE[action]} {name} in the run {found.id}."]
    served = f"{found.id}{SUFFIX}"
    if action in ("quarantine", "release") and found.path.with_name(served).is_dir():
        done.append(f"{served} has what it serves of its own: mage-es memory {action} {name} {served} --reason ...")
    _tell(report, settings, out, done=done)


def _cascade(memory: str, *, run: str | None, reason: str, only_look: bool, settings: Settings, out: Output) -> None:
    from mage_es.engine.upkeep.memory import cascade

    found = settings.find_run(run)
    receipt = cascade(found, memory, reason=reason, by=settings.by, only_look=only_look)
    name = receipt.report.item.memory_id[:ID_DIGITS]
    rows = [
        (each.item.memory_id[:ID_DIGITS], str(each.prompts), each.item.kind, each.item.text)
        for each in receipt.together
    ]
    title = f"Merely shown together with {name}, still in use unless taken out before"
    lists = [
        _table(f"Derived from {name}, {'to go' if only_look else 'out of use'} with it", receipt.derived),
        _table(f"Derived from {name}, out of use before", receipt.out_before),
        TextTable(title, ("id", "prompts", "kind", "text"), rows),
    ]
    derived = f"{len(receipt.derived)} derived from it"
    saw = f"{counted(receipt.answers, 'recorded answer')} saw any of it"
    verb = "Would quarantine" if only_look else "Quarantined"
    done = f"{verb} {name} in the run {found.id}, and {derived}. {saw}."
    if receipt.was_out:
        done = f"{verb} {derived} in the run {found.id}; {name} was in quarantine already. {saw}."
    stay = (
        [f"{receipt.further} more result from answers that saw what was derived: they stay."] if receipt.further else []
    )
    alone = ["Each comes back by a `mage-es memory release` of its own."] if receipt.derived else []
    out.report(receipt, done, *(each for each in lists if each.rows), *stay, *([] if only_look else alone))
    if only_look:
        gone = [each.memory_id for each in (*([] if receipt.was_out else [receipt.report.item]), *receipt.derived)]
        without = [word for each in gone for word in ("--without", each[:ID_DIGITS])]
        out.next(
            settings.again("what-if", found.id, *without, names=("runs_dir",)),
            settings.again("memory", "quarantine", name, found.id, "--cascade", "--reason", "..."),
        )
        return
    out.next(
        settings.again("memory", "release", name, found.id, "--reason", "..."),
        settings.again("memory", "list", found.id, "--status", "quarantined"),
    )


def _tell(report: MemoryReport, settings: Settings, out: Output, *, done: Sequence[str] = ()) -> None:
    rows = [(name, _cell(value)) for name, value in report.fields.items()]
    used = [f"Quoted in {counted(report.prompts, 'prompt')} of the run; {report.right} of them led to a right answer."]
    (with_it, shown), (without, left_out) = report.coin
    if left_out:
        used.append(f"The coin: {with_it} of {shown} right with it, {without} of {left_out} without.")
    item = _table(f"Run {report.run_id} at {report.marker}", [report.item])
    fields = TextTable("", ("field", "value"), rows)
    out.report(report, *done, item, fields, *used, *report.origin, *report.history)
    name, ways = report.item.memory_id[:ID_DIGITS], _WAYS.get(report.item.status, ("quarantine",))
    words = (("memory", word, name, report.run_id, "--reason", "...") for word in ways)
    last = ("publish", report.run_id) if report.item.status == "approved" else ("exam", report.run_id)
    out.next(*(settings.again(*each) for each in words), settings.again(*last))


_DONE: Mapping[Curation, str] = {
    "quarantine": "Quarantined",
    "release": "Released",
    "approve": "Approved",
    "reject": "Rejected",
}
_WAYS: Mapping[str, tuple[Curation, ...]] = {
    "quarantined": ("release",),
    "waiting": ("approve", "reject"),
    "approved": ("reject",),
    "rejected": (),
}
"""What can be done with a memory of a status."""


def _cell(value: object) -> str:
    if isinstance(value, str | int | float):
        return str(value) or "-"
    return msgspec.json.encode(value, enc_hook=str).decode() if value else "-"


def _listing(title: str, items: Sequence[MemoryItem], worth: Worths | None = None) -> TextTable:
    """Return the whole table, or on a narrow terminal one line for each memory. `worth` adds a column, in points."""
    whole, room = _table(title, items), shutil.get_terminal_size().columns - 1
    if worth is not None:
        values = [_worth(worth.get(item.memory_id)) for item in items]
        rows = [(*row[:1], each, *row[1:]) for row, each in zip(whole.rows, values, strict=True)]
        whole = whole._replace(columns=("id", "worth", *whole.columns[1:]), rows=rows)
    others = [max(map(len, column)) for column in zip(whole.columns, *whole.rows, strict=True)][:-1]
    if not is_terminal() or sum(others) + PROSE + BESIDE * len(whole.columns) <= room:
        return whole
    widths = (*ONE_LINE, max(room - sum(ONE_LINE) - BESIDE * (len(ONE_LINE) + 1), PROSE))
    rows = []
    for item in items:
        kind = item.kind if item.status == "active" else f"{item.status} {item.kind}"
        cells = map(shortened, (kind, item.skill or item.task_type, item.text), widths[1:])
        rows.append((item.memory_id[: widths[0]], *cells))
    return TextTable(f"{title}, shortened: mage-es memory show ID has the rest", ("id", "kind", "skill", "text"), rows)


def _worth(best: Worth | None) -> str:
    if best is None:
        return "-"
    n = " and ".join(map(str, best.n))
    return f"{best.points:+.1f} {best.by}, 95 % {best.low:+.1f} to {best.high:+.1f} (n {n})"


def _table(title: str, items: Sequence[MemoryItem]) -> TextTable:
    """Return items as a table, with a column for who decided on them if anyone did."""
    by = ("by",) if any(item.by for item in items) else ()
    rows = [
        (
            item.memory_id[:ID_DIGITS],
            item.kind,
            item.status,
            *([item.by] if by else []),
            item.task_type,
            item.skill,
            mark_of(item.iteration),
            str(item.met),
            item.text,
        )
        for item in items
    ]
    return TextTable(title, ("id", "kind", "status", *by, "task type", "skill", "since", "met", "text"), rows)
