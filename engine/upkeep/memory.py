"""The verb `memory`: list what a run has learned, quarantine something, release it, approve or reject a proposal."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec
from msgspec.structs import replace

from mage_es.engine.commands import Curation
from mage_es.engine.decide import decide
from mage_es.engine.rules.quarantine import OUT_OF_USE, QUARANTINED, status_of
from mage_es.engine.run.directory import Run, as_run, clock
from mage_es.engine.run.inheriting import is_served
from mage_es.engine.run.world import first_event, state_of
from mage_es.engine.upkeep.lineage import lineage_of
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.engine.worth.memories import (
    MemoryItem,
    MemoryReport,
    bare_setting,
    curations,
    deciders,
    full_id,
    ids_of,
    items_of,
    report_of,
)
from mage_es.engine.worth.proposals import require_learned
from mage_es.events.errors import RunLocked, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft
from mage_es.projections.fold import State


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """An item, in use or not, that was shown together with a memory in `prompts` prompts."""

    item: MemoryItem
    prompts: int


class CascadeReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What a cascade did or, with `only_look`, would do: the memory's current state; what was `derived` from it and
    goes out of use with it; what was derived and had been `out_before`; what was merely shown `together` with it and
    stays; how many items are of the next generation (`further`), which stay too; and how many recorded `answers` were
    shown any of what goes. `was_out`: the memory itself had already been in quarantine."""

    report: MemoryReport
    derived: tuple[MemoryItem, ...]
    out_before: tuple[MemoryItem, ...]
    together: tuple[Together, ...]
    further: int
    answers: int
    was_out: bool = False
    only_look: bool = False


class MemoryList(msgspec.Struct, frozen=True, kw_only=True):
    run_id: str
    marker: str
    items: tuple[MemoryItem, ...]


def memories(run: Run, *, at: str) -> MemoryList:
    """Return everything that a run has learned up to a marker, in order of birth. Raises `UsageError` for the
    marker."""
    reader, state = _folded(run, at)
    by = deciders(reader, until=state.seq)
    items = sorted(items_of(state), key=lambda item: (item.iteration, item.kind, item.memory_id))
    return MemoryList(
        run_id=run.id, marker=at, items=tuple(replace(item, by=by.get(item.memory_id, "")) for item in items)
    )


def memory(run: Run, name: str, *, at: str) -> MemoryReport:
    """Return an item in full, with its history and its use in prompts; `report_of` says what `name` may be."""
    reader, state = _folded(run, at, name)
    return report_of(run.id, at, reader, state, name)


@typed
def curate(run: Run | Path | str, name: str, *, action: Curation, reason: str, by: str = "user") -> MemoryReport:
    """Quarantine or release an item, approve or reject a proposal, by an event at the end of the run's log.

    Raises:
        UsageError: `name` is not an id, or the item's current status does not allow it.
        RunLocked: Another process is writing the run.
    """
    run = as_run(run)
    curate_all(run, [(name, reason)], action=action, by=by)
    return memory(run, name, at="latest")


acurate = in_thread(curate)


def curate_all(run: Run, items: Sequence[tuple[str, str]], *, action: Curation, by: str) -> None:
    """Record a decision on each item (id, reason), all or nothing, in one commit at the end of the run's log. Raises
    what `curate` raises."""
    with _writing(run, items[0][0], action) as log:
        log.append(decided(run, *_folded(run, "latest", *dict(items)), items, action=action, by=by))


@typed
def cascade(
    run: Run | Path | str, name: str, *, reason: str = "", by: str = "user", only_look: bool = False
) -> CascadeReceipt:
    """Quarantine an item and everything in use that was derived from it (upkeep/lineage.py), all or nothing; with
    `only_look`, change nothing.

    Raises what `curate` raises.
    """
    run = as_run(run)
    with nullcontext() if only_look else _writing(run, name, "quarantine") as log:
        reader, state = _folded(run, "latest", name)
        whole = full_id(name, ids_of(state))
        found = lineage_of(reader, state, whole)
        in_use = [each for each in found.derived if status_of(state, each) not in OUT_OF_USE]
        # Items taken out before stay out; those of their descendants still in use follow.
        was_out = status_of(state, whole) == QUARANTINED and bool(in_use)
        items = [(whole, reason)] if not was_out else []
        items += [(each, f"derived from {whole}: {reason}") for each in in_use]
        drafts = decided(run, reader, state, items, action="quarantine", by=by)
        if log:
            log.append(drafts)
    after = {item.memory_id: item for item in items_of(_folded(run, "latest")[1])}
    return CascadeReceipt(
        report=memory(run, whole, at="latest"),
        derived=tuple(after[each] for each in in_use),
        out_before=tuple(after[each] for each in found.derived if each not in in_use),
        together=tuple(Together(item=after[each], prompts=count) for each, count in found.together.items()),
        further=found.further,
        answers=found.answers,
        was_out=was_out,
        only_look=only_look,
    )


acascade = in_thread(cascade)


@contextmanager
def _writing(run: Run, name: str, action: Curation) -> Iterator[Log]:
    try:
        opened = Log.open(run.log_path, clock=clock)
    except RunLocked as error:
        if not is_served(LogReader(run.log_path)):
            raise
        raise RunLocked(
            f'{error} Its proxy takes this: POST {{"action": "{action}", "reason": "WHY"}} to /v1/memories/{name}'
        ) from None
    with opened as log:
        yield log


def decided(
    run: Run, reader: LogReader, state: State, items: Sequence[tuple[str, str]], *, action: Curation, by: str
) -> list[Draft]:
    """Return the events of the same decision on items (name, reason)."""
    setting = bare_setting(first_event(reader))
    try:
        commands = curations(reader, state, items, action=action, by=by)
        return [draft for command in commands for draft in decide(setting, state, command)]
    except UsageError as error:
        raise UsageError(f"{run.id}: {error}") from None


def _folded(run: Run, at: str, *names: str) -> tuple[LogReader, State]:
    """Return the log and the state at a marker. Raises `UsageError` for the marker, and for the name of something that
    was only proposed, or refused."""
    reader = LogReader(run.log_path)
    state = state_of(run, reader, until=reader.resolve(at))
    if names:
        require_learned(run.id, reader, state, *names)
    return reader, state
