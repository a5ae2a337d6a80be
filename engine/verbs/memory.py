"""The verb `memory`: list what a run has learned, quarantine something, release it, approve or reject a proposal."""

from __future__ import annotations

import msgspec

from mage_es.engine.commands import Curation
from mage_es.engine.decide import decide
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.memories import MemoryItem, MemoryReport, bare_setting, curation, items_of, report_of
from mage_es.engine.run.world import first_event, state_of
from mage_es.engine.serving.opening import is_served
from mage_es.events.errors import RunLocked, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.projections.fold import State


class MemoryList(msgspec.Struct, frozen=True, kw_only=True):
    run_id: str
    marker: str
    items: tuple[MemoryItem, ...]


def memories(run: Run, *, at: str) -> MemoryList:
    """Return everything that a run has learned by a marker, in order of birth. Raises `UsageError` for the marker."""
    _, state = _folded(run, at)
    items = sorted(items_of(state), key=lambda item: (item.iteration, item.kind, item.memory_id))
    return MemoryList(run_id=run.id, marker=at, items=tuple(items))


def memory(run: Run, name: str, *, at: str) -> MemoryReport:
    """Return an item in full, with its history and its use in prompts; `report_of` says what `name` may be."""
    reader, state = _folded(run, at)
    return report_of(run.id, at, reader, state, name)


def curate(run: Run, name: str, *, action: Curation, reason: str, by: str) -> MemoryReport:
    """Quarantine or release an item, approve or reject a proposal, by an event at the end of the run's log.

    Raises:
        UsageError: `name` is not an id, or the item's current status does not allow it.
        RunLocked: Another process is writing the run.
    """
    try:
        opened = Log.open(run.log_path, clock=clock)
    except RunLocked as error:
        if not is_served(LogReader(run.log_path)):
            raise
        raise RunLocked(
            f'{error} Its proxy takes this: POST {{"action": "{action}", "reason": "WHY"}} to /v1/memories/{name}'
        ) from None
    with opened as log:
        reader, state = _folded(run, "latest")
        try:
            command = curation(reader, state, name, action=action, reason=reason, by=by)
            drafts = decide(bare_setting(first_event(reader)), state, command)
        except UsageError as error:
            raise UsageError(f"{run.id}: {error}") from None
        log.append(drafts)
    return memory(run, command.memory_id, at="latest")


def _folded(run: Run, at: str) -> tuple[LogReader, State]:
    reader = LogReader(run.log_path)
    return reader, state_of(run, reader, until=reader.resolve(at))
