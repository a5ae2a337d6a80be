"""What a run has learned, according to its log: each memory, recipe, pattern and tool with its origin and use."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from mage_es.engine.askings.columns import uses_of
from mage_es.engine.commands import Curate, Curation
from mage_es.engine.config import SHOWN, parse
from mage_es.engine.rules.doubt import why_doubted
from mage_es.engine.rules.guard import GUARD
from mage_es.engine.rules.new_memories import CASE
from mage_es.engine.rules.quarantine import status_of
from mage_es.engine.rules.reproof import GATE
from mage_es.engine.rules.setting import Setting
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.events import vocabulary as v
from mage_es.events.errors import NotFound, UsageError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow
from mage_es.projections.patterns import PatternRow


class MemoryItem(msgspec.Struct, frozen=True, kw_only=True):
    """A memory, recipe, pattern or tool that a run learned. `text` is its lesson on one line; `by` is who last decided
    on its use, a person or a rule of the run, or ""."""

    memory_id: str
    kind: str
    task_type: str
    skill: str
    iteration: int
    status: str
    met: int
    text: str
    by: str = ""


class MemoryReport(msgspec.Struct, frozen=True, kw_only=True):
    """An item in full, its origin and history, the number of `prompts` that it was in, and how many were answered
    right. `coin` has (right, asked) for the questions for which the coin let it in, fitting the context or not, and for
    those for which it left it out."""

    run_id: str
    marker: str
    item: MemoryItem
    fields: dict[str, Any]
    origin: tuple[str, ...]
    prompts: int
    right: int
    coin: tuple[tuple[int, int], tuple[int, int]]
    history: tuple[str, ...]


CURATIONS: Sequence[type[Any]] = (
    v.MemoryQuarantined,
    v.MemoryReleased,
    v.MemorySuperseded,
    v.PatternPruned,
    v.ProposalReviewed,
)
"""The events that take something learned into or out of use."""
LEAST_PREFIX = 4
"""How many digits of an id suffice if they are unambiguous."""

_KINDS: Mapping[type[Any], str] = {
    v.ToolAuthored: "tool",
    PatternRow: "abstracted_pattern",
    v.ActionRecipeHarvested: "action_recipe",
}
_TEXT_WIDTH = 120
_SEPARATOR = " · "
"""Separates the lines of a text that is shown on one line."""


def report_of(run_id: str, marker: str, reader: LogReader, state: State, name: str) -> MemoryReport:
    """Return an item of a state in full, with its history and its use in prompts up to that state.

    `name` is an id or an unambiguous prefix of one. Raises `UsageError` otherwise.
    """
    return reported(run_id, marker, reader, *item_of(state, name), until=state.seq)


def reported(
    run_id: str, marker: str, reader: LogReader, item: MemoryItem, fields: dict[str, Any], *, until: int
) -> MemoryReport:
    """Return an item with its fields, as `item_of` finds them in the state after event `until`, as a report."""
    name = item.memory_id
    use, learners = uses_of(reader, [name], until=until).of(name), _learners(reader, item)
    return MemoryReport(
        run_id=run_id,
        marker=marker,
        item=replace(item, by=deciders(reader, until=until).get(name, "")),
        fields=fields,
        origin=(
            *(f"Learned in the run {run} or one that it continues ({path})" for run, path in learners.items()),
            *_origin(reader, fields, list(learners), until=until),
        ),
        prompts=len(use.shown),
        right=use.right.correct,
        coin=(use.coin, use.left),
        history=(*_probation(reader, name, until=until), *_history(reader, name, until=until)),
    )


def item_of(state: State, name: str) -> tuple[MemoryItem, dict[str, Any]]:
    """Return an item of a state with all its fields but the vector, and why other clients are not shown it, if that is
    so. `report_of` says what `name` may be."""
    found = full_id(name, ids_of(state))
    thing = thing_of(state, found)
    values = msgspec.structs.asdict(thing)
    values.pop("embedding", None)
    fields = {field: msgspec.to_builtins(value, enc_hook=str) for field, value in values.items()}
    if isinstance(thing, MemoryRow) and (why := why_doubted(state.memory, thing)):
        fields["doubt"] = why
    return item_in(state, found, thing), fields


def items_of(state: State) -> Iterator[MemoryItem]:
    return (item_in(state, name, thing) for name, thing in things_of(state))


def things_of(state: State) -> Iterator[tuple[str, Any]]:
    yield from ((row.memory_id, row) for row in state.memory.rows())
    yield from others_of(state)


def ids_of(state: State) -> Set[str]:
    """Return the ids of everything learned, in the order of the log."""
    return dict.fromkeys(chain(state.memory.ids(), (name for name, _ in others_of(state)))).keys()


def thing_of(state: State, name: str) -> Any:
    return state.memory.row(name) if name in state.memory else dict(others_of(state))[name]


def others_of(state: State) -> Iterator[tuple[str, Any]]:
    """Yield tools, patterns and recipes, each after its id."""
    yield from ((tool.tool_id, tool) for tool in state.tools.tools())
    yield from ((pattern.memory_id, pattern) for pattern in state.patterns.patterns())
    for recipe in state.recipes.recipes():
        yield recipe.recipe_id if isinstance(recipe, v.ActionRecipeHarvested) else recipe.memory_id, recipe


def sort_of(state: State, name: str) -> tuple[str, str, str]:
    """Return the outcome, the kind and the task type of a memory; of anything else what it is, "", and its task
    type."""
    if name in state.memory:
        return state.memory.sort_of(name)
    thing = thing_of(state, name)
    return _KINDS.get(type(thing), "retrieval_recipe"), "", thing.task_type


def kind_of(outcome: str, kind: str) -> str:
    """Return the kind of something learned as it is shown."""
    return f"{outcome}/{kind}" if kind else outcome


def one_line(text: str) -> str:
    """Return the beginning of a text on one line."""
    line = ""
    for each in text.splitlines():
        if len(line) > _TEXT_WIDTH:  # the rest is cut off
            break
        if words := " ".join(each.split()):
            line = f"{line}{_SEPARATOR}{words}" if line else words
    return line if len(line) <= _TEXT_WIDTH else line[: _TEXT_WIDTH - 3] + "..."


def item_in(state: State, name: str, thing: Any) -> MemoryItem:
    outcome, kind, task_type = sort_of(state, name)
    return MemoryItem(
        memory_id=name,
        kind=kind_of(outcome, kind),
        task_type=task_type,
        skill=thing.skill,
        iteration=thing.iteration,
        status=status_of(state, name) or "",
        met=thing.met if isinstance(thing, MemoryRow) else 1,
        text=one_line(text_of(thing)),
    )


def text_of(thing: Any) -> str:
    """Return what something learned says: its lesson, or what it is for."""
    match thing:
        case MemoryRow():
            return lesson_of(thing)
        case v.ToolAuthored():
            return f"{thing.name}: {thing.description}"
        case PatternRow():
            return thing.text
        case v.ActionRecipeHarvested():
            return f"{thing.achievement}: {', '.join(thing.actions)}"
        case _:
            return str(thing.query_template)


def lesson_of(memory: MemoryRow | v.MemoryAppended) -> str:
    """Return what a memory teaches: its reasoning, or else the answer to its question."""
    return memory.reasoning or f"{memory.question} → {memory.answer}"


def deciders(reader: LogReader, *, until: int) -> dict[str, str]:
    """Return who last decided on the use of each item, if anyone did."""
    decisions: Iterable[Any] = reader.of(v.MemoryQuarantined, v.MemoryReleased, v.ProposalReviewed, until=until)
    return {event.memory_id: event.by for event in decisions}


def curations(
    reader: LogReader, state: State, items: Iterable[tuple[str, str]], *, action: Curation, by: str
) -> list[Curate]:
    """Return the commands that act on items (name, reason). Raises what `report_of` raises, and `UsageError` for a `by`
    that is the name of a rule of the run."""
    if by in (GATE, GUARD):
        raise UsageError(f"The name {by!r} belongs to a rule of the run itself. Give another name.")
    known, decided = ids_of(state), Counter(event.memory_id for event in reader.of(*CURATIONS))
    found = [(full_id(name, known), reason) for name, reason in items]
    return [Curate(name, action, reason=reason, by=by, ordinal=1 + decided[name]) for name, reason in found]


def full_id(name: str, known: Collection[str]) -> str:
    """Return the id that `name` is or abbreviates. Raises `NotFound` if there is none, and `UsageError` for several."""
    if name in known:
        return name
    found = sorted(each for each in known if each.startswith(name)) if len(name) >= LEAST_PREFIX else []
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{len(found)} ids begin with {name}: {', '.join(found[:5])}. Use more digits.")
    raise NotFound(
        f"The run has learned nothing with the id {name}. `mage-es memory list` shows the ids; the first "
        f"{LEAST_PREFIX} digits are enough."
    )


def _learners(reader: LogReader, item: MemoryItem) -> dict[str, str]:
    """Return the path of each other run that learned an item: those that brought it to a merge, or the parent."""
    begun = inheritance(reader)
    if begun is None or item.iteration > begun.iteration:
        return {}
    marks = reader.of(v.RunMerged, until=last_inherited(reader))
    return {mark.parent: mark.path for mark in marks if item.memory_id in mark.memory_ids} or {begun.parent: begun.path}


def source_of(fields: Mapping[str, Any]) -> str:
    """Return who gave each part of an item: its right answer comes from the data, a reply from the learner, reasoning
    from its writer."""
    origin: Mapping[str, Any] = fields["origin"]
    writer, by, saw = origin["writer"], origin["by"], origin["saw"]
    given = f", given by {by}" if by else ""
    if fields.get("outcome") == "failure_memory" and fields.get("kind") == CASE:
        own = "Its question, right answer and reasoning" if fields["reasoning"] else "Its question and right answer"
        replied = f"; the wrong answer is the reply of {writer}" if fields["wrong_answer"] and writer else ""
        return f"{own} are the data's{given}{replied}"
    if not writer:
        return f"Written by no model{given}"
    return f"Written by {writer}, {'from its own replies' if saw == 'nothing' else f'which saw {SHOWN[saw]}'}{given}"


def _origin(reader: LogReader, fields: Mapping[str, Any], learners: Sequence[str], *, until: int) -> Iterator[str]:
    """Yield what an item was made from, one line each."""
    origin = fields["origin"]
    yield f"{source_of(fields)}; made of:"
    missing = set(origin["facts"])
    for record in reader.records({v.AnswerJudged, v.ModelCalled, v.FeedbackGiven}, until=until):
        if (fact := record.fact_id.hex()) in missing:
            missing.remove(fact)
            if isinstance(record.event, v.FeedbackGiven):
                gold = ", from a key whose answers are gold" if record.event.trust == "gold" else ""
                yield f"{v.tag_of(record.event)} on {record.event.inference} ({event_named(reader, record.seq)}){gold}"
            else:
                where = f"in iteration {record.iteration} ({event_named(reader, record.seq)})"
                yield f"{v.tag_of(record.event)} {record.event.subject} {where}"
    if missing and learners:
        yield f"and {len(missing)} more, such as {min(missing)}, which the log of {' or '.join(learners)} has"


def bare_setting(started: v.RunStarted) -> Setting:
    """Return the setting without the benchmark's part: curation does not need it, and its data may be missing."""
    return Setting(config=parse(started.config), evolution=(), anchors=(), held_out=(), task_types=(), answer_format="")


def event_named(reader: LogReader, seq: int) -> str:
    """Describe an event, with its log, if that is the one that this log continues."""
    log = reader
    while seq < 1 and log.past:
        seq, log = log.past.number(seq), log.past.reader
    return f"event {seq}" if log is reader else f"event {seq} of {log.run}"


def _probation(reader: LogReader, name: str, *, until: int) -> Iterator[str]:
    """Yield which runs brought an item to a merge, and the last count of coin tosses for each run's memories."""
    merges = reader.numbered(v.RunMerged, until=until)
    brought = {merged.parent: seq for seq, merged in merges if name in merged.memory_ids}
    counts = {count.parent: (seq, count) for seq, count in reader.numbered(v.ProbationCounted, until=until)}
    for run, begun in brought.items():
        summary = "not begun"
        if run in counts:
            seq, count = counts[run]
            sides = f"{count.shown_right} of {count.shown} right with it, {count.left_out_right} of {count.left_out}"
            state = "over" if count.is_over else "going on"
            summary = f"{state}: of what {run} brought, {sides} without ({event_named(reader, seq)})"
        yield f"Brought by {run} ({event_named(reader, begun)}); probation {summary}"


def _history(reader: LogReader, name: str, *, until: int) -> Iterator[str]:
    for seq, event in reader.numbered(*CURATIONS, until=until):
        if event.memory_id == name:
            what = event.verdict if isinstance(event, v.ProposalReviewed) else v.tag_of(event)
            by = "" if isinstance(event, v.PatternPruned) else f" by {event.by}"
            why = "" if isinstance(event, v.MemorySuperseded) else f": {event.reason}"
            yield f"{what}{by} ({event_named(reader, seq)}){why}"
