"""The verb `memory`: look at what a run has learned, take something out of use, bring it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from mage_es.engine.commands import Curate
from mage_es.engine.config import parse
from mage_es.engine.decide import decide
from mage_es.engine.opening import first_event
from mage_es.engine.reports import MemoryItem, MemoryList, MemoryReport
from mage_es.engine.rules.quarantine import status_of
from mage_es.engine.runs import Run, clock
from mage_es.engine.setting import Setting
from mage_es.events.errors import UsageError
from mage_es.events.log import Log
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import (
    ActionRecipeHarvested,
    AnswerJudged,
    BundleTrimmed,
    Event,
    MemoryQuarantined,
    MemoryReleased,
    MemorySuperseded,
    PatternPruned,
    QuestionPlanned,
    RunStarted,
    tag_of,
)
from mage_es.projections.fold import State, fold
from mage_es.projections.lance import MemoryTables
from mage_es.projections.snapshots import latest_snapshot

LEAST_PREFIX = 4
"""Digits of an id that are enough where they are those of one thing only."""

_TEXT_WIDTH = 120


def memories(run: Run, *, at: str) -> MemoryList:
    """Return everything that a run has learned by a marker, in order of birth. Raises `UsageError` for the marker."""
    _, state = _folded(run, at)
    items = sorted(_items(state), key=lambda item: (item.iteration, item.kind, item.memory_id))
    return MemoryList(run_id=run.id, marker=at, items=tuple(items))


def memory(run: Run, name: str, *, at: str) -> MemoryReport:
    """Return one of them in full, with what became of it and how often it stood in a prompt.

    `name` is an id or the beginning of one. Raises `UsageError` where that is no or more than one id.
    """
    reader, state = _folded(run, at)
    items = {item.memory_id: item for item in _items(state)}
    found = _named(name, items)
    asked, right = _use(reader, found, until=state.seq)
    return MemoryReport(
        run_id=run.id,
        marker=at,
        item=items[found],
        fields=_fields(state, found),
        prompts=asked,
        right=right,
        history=tuple(_history(reader, found, until=state.seq)),
    )


def curate(run: Run, name: str, *, action: Literal["quarantine", "release"], reason: str, by: str) -> MemoryReport:
    """Take something out of use, or bring it back, by an event at the end of the run's log.

    Raises:
        UsageError: `name` is no id, or it stands in quarantine already, or not at all.
        RunLocked: Another process is writing the run.
    """
    with Log.open(run.log_path, clock=clock) as log:
        reader, state = _folded(run, "latest")
        found = _named(name, {item.memory_id: item for item in _items(state)})
        ordinal = 1 + sum(1 for _ in _curations(reader, found))
        command = Curate(memory_id=found, action=action, reason=reason, by=by, ordinal=ordinal)
        for record in log.append(decide(_bare(first_event(reader)), state, command)):
            state.apply(record.event)
        if run.memory_path.exists():
            MemoryTables(run.memory_path).write(state.memory)
    return memory(run, found, at="latest")


def _folded(run: Run, at: str) -> tuple[LogReader, State]:
    reader = LogReader(run.log_path)
    seq = reader.resolve(at)
    return reader, fold(reader, until=seq, state=latest_snapshot(run.snapshots_path, reader, until=seq))


def _bare(started: RunStarted) -> Setting:
    """Return the setting without the benchmark's part, which curating does not need: the data may be elsewhere."""
    return Setting(
        config=parse(started.config),
        strategy_floor=started.strategy_floor,
        evolution=(),
        anchors=(),
        held_out=(),
        task_types=(),
        answer_format="",
    )


def _items(state: State) -> Iterator[MemoryItem]:
    for row in state.memory.rows():
        kind = f"{row.outcome}/{row.kind}" if row.kind else row.outcome
        text = row.question or row.reasoning
        yield _item(state, row.memory_id, kind, row, text=text, met=row.met)
    for tool in state.tools.tools():
        yield _item(state, tool.tool_id, "tool", tool, text=f"{tool.name}: {tool.description}")
    for pattern in state.patterns.patterns():
        yield _item(state, pattern.memory_id, "abstracted_pattern", pattern, text=pattern.text)
    for recipe in state.recipes.recipes():
        if isinstance(recipe, ActionRecipeHarvested):
            text = f"{recipe.achievement}: {', '.join(recipe.actions)}"
            yield _item(state, recipe.recipe_id, "action_recipe", recipe, text=text)
        else:
            yield _item(state, recipe.memory_id, "retrieval_recipe", recipe, text=recipe.query_template)


def _item(state: State, name: str, kind: str, thing: Any, *, text: str, met: int = 1) -> MemoryItem:
    line = " ".join(text.split())
    return MemoryItem(
        memory_id=name,
        kind=kind,
        task_type=thing.task_type,
        skill=thing.skill,
        iteration=thing.iteration,
        status=status_of(state, name) or "",
        met=met,
        text=line if len(line) <= _TEXT_WIDTH else line[: _TEXT_WIDTH - 3] + "...",
    )


def _named(name: str, items: dict[str, MemoryItem]) -> str:
    if name in items:
        return name
    found = [known for known in sorted(items) if known.startswith(name)] if len(name) >= LEAST_PREFIX else []
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{len(found)} ids begin with {name}: {', '.join(found[:5])}. Give more digits.")
    raise UsageError(
        f"Nothing that the run learned is called {name}; give an id, or at least its first {LEAST_PREFIX} digits, "
        "as `mage-es memory list` shows them."
    )


def _fields(state: State, name: str) -> dict[str, Any]:
    """Return every field of what has this id, but its vector."""
    things: list[Any] = [*state.tools.tools(), *state.patterns.patterns(), *state.recipes.recipes()]
    if state.memory.count_of(name):
        things = [state.memory.row(name)]
    ids = ("memory_id", "tool_id", "recipe_id")
    thing = next(each for each in things if name in [getattr(each, field, None) for field in ids])
    values = msgspec.structs.asdict(thing)
    values.pop("embedding", None)
    return {field: msgspec.to_builtins(value) for field, value in values.items()}


def _use(reader: LogReader, name: str, *, until: int) -> tuple[int, int]:
    """Return how many prompts of the run something was shown in, and how many of those were answered right."""
    asked: set[tuple[int, str, str]] = set()
    right = 0
    for record in reader.records({QuestionPlanned, BundleTrimmed, AnswerJudged}, until=until):
        event = record.event
        if isinstance(event, QuestionPlanned):
            chosen = (member.memory_id for member in event.memories)
            if name in (*chosen, *event.principles, *event.action_recipes, event.tool_id, event.recipe_id):
                asked.add((event.iteration, event.purpose, event.question_id))
        elif isinstance(event, BundleTrimmed) and event.memory_id == name:
            asked.discard((event.iteration, event.purpose, event.question_id))
        elif isinstance(event, AnswerJudged) and (event.iteration, event.purpose, event.question_id) in asked:
            right += event.correct
    return len(asked), right


def _curations(reader: LogReader, name: str, until: int | None = None) -> Iterator[tuple[int, Event]]:
    types: set[type[Event]] = {MemoryQuarantined, MemoryReleased, MemorySuperseded, PatternPruned}
    for record in reader.records(types, until=until):
        if getattr(record.event, "memory_id", "") == name:
            yield record.seq, record.event


def _history(reader: LogReader, name: str, *, until: int) -> Iterator[str]:
    """Yield in words what became of something."""
    for seq, event in _curations(reader, name, until):
        match event:
            case MemoryQuarantined() | MemoryReleased():
                yield f"{tag_of(event)} by {event.by} (event {seq}): {event.reason}"
            case MemorySuperseded():
                yield f"{tag_of(event)} by {event.by} (event {seq})"
            case PatternPruned():
                yield f"{tag_of(event)} (event {seq}): {event.reason}"
