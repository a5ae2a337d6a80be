"""`mage-es memory`: look at what a run has learned, quarantine a memory, release it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from mage_es.cli.boxes import BESIDE, PROSE
from mage_es.cli.options import AtOption, RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable, clean, is_terminal
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError, nearest

if TYPE_CHECKING:
    from mage_es.engine.run.memories import MemoryItem, MemoryReport

LIST_EXAMPLES = examples("mage-es memory list", "mage-es memory list RUN --kind principle --status quarantined")
SHOW_EXAMPLES = examples("mage-es memory show 5c0f0e8a", "mage-es memory show 5c0f0e8a RUN --at iter-3")
QUARANTINE_EXAMPLES = examples('mage-es memory quarantine 5c0f0e8a --reason "it adds where it should subtract"')
RELEASE_EXAMPLES = examples('mage-es memory release 5c0f0e8a --reason "it was right after all"')

SHOWN_DIGITS = 12
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
STATUSES = ("active", "superseded", "quarantined", "pruned", "failed")

MemoryArgument = Annotated[
    str, typer.Argument(metavar="MEMORY", help="Id of a memory, recipe, pattern or tool, or its first digits.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="WORDS", help="The reason, recorded in the run's log.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Your name, recorded in the run's log.")]


@takes("runs_dir")
def list_all(
    run: RunArgument = None,
    *,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help=f"Only this kind: {', '.join(KINDS)}.")
    ] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help=f"Only this status: {', '.join(STATUSES)}.")
    ] = None,
    at: AtOption = "latest",
    settings: Settings,
    out: Output,
) -> None:
    """List what a run has learned, the oldest first.

    `met` counts how often the same thing was learned; it is stored once.
    """
    from mage_es.engine.verbs.memory import memories

    found = memories(settings.find_run(run), at=at)
    kinds = sorted({*KINDS, *(item.kind for item in found.items)})
    _must_be_known("--kind", kind, kinds)
    _must_be_known("--status", status, list(STATUSES))
    items = [item for item in found.items if _is_of(item.kind, kind) and status in (None, item.status)]
    out.report(
        {"run_id": found.run_id, "marker": found.marker, "items": items},
        _listing(f"Run {found.run_id} at {found.marker}", items),
        f"{len(items)} of {len(found.items)} memories",
    )
    ahead: tuple[str, ...] = ("memory", "list", found.run_id) if found.items else ("runs", "show", found.run_id)
    if items:
        ahead = ("memory", "show", items[0].memory_id[:SHOWN_DIGITS], found.run_id)
    out.next(settings.again(*ahead))


def _must_be_known(option: str, given: str | None, known: list[str]) -> None:
    if given is not None and given not in known:
        raise UsageError(f"{option}: {given!r} does not fit.{nearest(given, known)}")


def _is_of(kind: str, wanted: str | None) -> bool:
    return wanted is None or kind == wanted or kind.startswith(f"{wanted}/")


@takes("runs_dir")
def show_one(
    memory: MemoryArgument, run: RunArgument = None, *, settings: Settings, out: Output, at: AtOption = "latest"
) -> None:
    """Show one memory in full: its text, its origin and its history."""
    from mage_es.engine.verbs.memory import memory as read_memory

    report = read_memory(settings.find_run(run), memory, at=at)
    _tell(report, settings, out)


@takes("runs_dir")
def quarantine(
    memory: MemoryArgument, run: RunArgument = None, *, settings: Settings, out: Output, reason: Reason, by: By = "user"
) -> None:
    """Take a memory out of use; it stays stored and can be released.

    From now on no prompt quotes it, in exams of the latest state either.
    """
    _curate(memory, "quarantine", run=run, reason=reason, by=by, settings=settings, out=out)


@takes("runs_dir")
def release(
    memory: MemoryArgument, run: RunArgument = None, *, settings: Settings, out: Output, reason: Reason, by: By = "user"
) -> None:
    """Bring a memory back into use, unless a newer one replaced it."""
    _curate(memory, "release", run=run, reason=reason, by=by, settings=settings, out=out)


def _curate(
    memory: str,
    action: Literal["quarantine", "release"],
    *,
    run: str | None,
    reason: str,
    by: str,
    settings: Settings,
    out: Output,
) -> None:
    from mage_es.engine.verbs.memory import curate

    _tell(curate(settings.find_run(run), memory, action=action, reason=reason, by=by), settings, out)


def _tell(report: MemoryReport, settings: Settings, out: Output) -> None:
    rows = [(name, _shown(value)) for name, value in report.fields.items()]
    prompts = "1 prompt" if report.prompts == 1 else f"{report.prompts} prompts"
    used = f"Quoted in {prompts} of the run; {report.right} of them led to a right answer."
    (with_it, shown), (without, left_out) = report.coin
    tossed = f"The coin: {with_it} of {shown} right with it, {without} of {left_out} without." if left_out else ""
    item = _table(f"Run {report.run_id} at {report.marker}", [report.item])
    out.report(
        report,
        item,
        TextTable("", ("field", "value"), rows),
        used,
        *filter(None, [tossed]),
        *report.origin,
        *report.history,
    )
    is_out = report.item.status == "quarantined"
    name = report.item.memory_id[:SHOWN_DIGITS]
    way = ("memory", "release" if is_out else "quarantine", name, report.run_id, "--reason", "...")
    out.next(settings.again(*way), settings.again("exam", report.run_id))


def _shown(value: object) -> str:
    if isinstance(value, str | int | float):
        return str(value) or "-"
    return msgspec.json.encode(value, enc_hook=str).decode() if value else "-"


def _listing(title: str, items: list[MemoryItem]) -> TextTable:
    """Return the whole table, or on a narrow terminal one line for each memory."""
    whole, room = _table(title, items), shutil.get_terminal_size().columns - 1
    others = [max(map(len, column)) for column in zip(whole.columns, *whole.rows, strict=True)][:-1]
    if not is_terminal() or sum(others) + PROSE + BESIDE * len(whole.columns) <= room:
        return whole
    widths = (*ONE_LINE, max(room - sum(ONE_LINE) - BESIDE * (len(ONE_LINE) + 1), PROSE))
    rows = []
    for item in items:
        kind = item.kind if item.status == "active" else f"{item.status} {item.kind}"
        cells = map(_cut, (kind, item.skill or item.task_type, item.text), widths[1:])
        rows.append((item.memory_id[: widths[0]], *cells))
    return TextTable(f"{title}, shortened: mage-es memory show ID has the rest", ("id", "kind", "skill", "text"), rows)


def _cut(cell: str, width: int) -> str:
    line = " ".join(clean(cell).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _table(title: str, items: list[MemoryItem]) -> TextTable:
    rows = [
        (
            item.memory_id[:SHOWN_DIGITS],
            item.kind,
            item.status,
            item.task_type,
            item.skill,
            f"iter-{item.iteration}" if item.iteration >= 0 else "start",
            str(item.met),
            item.text,
        )
        for item in items
    ]
    return TextTable(title, ("id", "kind", "status", "task type", "skill", "since", "met", "text"), rows)
