"""Two runs as the parents of a third, which begins with the memories of both (rules/merging.py).

Rules
    - The new run holds back what either run holds back, as an anchor or for exams. It takes no memory of the other that
      is about such a question, resembles one, or was made from the answer to one. A question that was an anchor of one
      run and held out by the other is an anchor: it may have decided what was kept. What a run learned from itself it
      does not hold back, even if it resembles a question that it does.
    - Guidance sees several questions when it writes. The logs of the runs, and of those that they continue, tell which,
      and the new log says it of each such memory that was taken: so it can be merged again without them.
    - Questions with the same text are one. If different ones have the same id, the second gets a new id; the runs are
      put into a canonical order first, so `merge A B` and `merge B A` give the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import NamedTuple

import msgspec

from mage_es.engine.askings.requests import Requests
from mage_es.engine.benchmarks.registry import reopening, title
from mage_es.engine.benchmarks.tasks import OWN_TASKS
from mage_es.engine.benchmarks.tasks.spec import parse as parse_tasks
from mage_es.engine.config import Config, difference, parse
from mage_es.engine.histories.rules.merging import (
    OTHER_KINDS,
    Memories,
    WhyLeft,
    drafts_of,
    is_of_one,
    merged,
    names_of,
    opening,
    remembered_in,
)
from mage_es.engine.rules.leaks import Guarded, hashes_of, id_of, texts_of
from mage_es.engine.rules.near_duplicates import normalise, question_hash
from mage_es.engine.rules.splits import Splits
from mage_es.engine.run.inheriting import Parent, added, asked_in, past_of, require_gold
from mage_es.engine.run.questions import grown, stored_questions, with_column_roles
from mage_es.engine.seams.benchmark import Benchmark, Question
from mage_es.events import vocabulary as v
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.segments.questions import named
from mage_es.projections.fold import State

_ASKED = (
    *("execution", "judge", "embedder", "search", "search_passages", "task_types", "bundle", "retrieval", "form"),
    *("route", "long_context", "strategy_floor", "reasoning_cap", "decompositions", "recall", "bandits"),
    *("principles_per_skill", "cascade_principles", "cascade_action_recipes", "cascade_plan", "cascade_frontier"),
    *("revisit_self", "answer_temperature", "max_tokens"),
)
"""The settings by which a question is asked and its answer read."""
_ALIKE = {"usual", "turns"}
"""Forms that differ only in a trial: a served run has the second where its parent had the first."""
_RECORDED = ("embedder_sha256", "task_type_source", "scorer_sha256", "templates", "data_sha256")
"""What else must be equal: fields of what a run recorded when it began."""


class Merger(NamedTuple):
    """What a merged run begins with: `parent` represents both, `learned` is what both learned together, `own` what each
    learned, in the order of `runs`, and `marks` say what was taken from each."""

    parent: Parent
    runs: tuple[_Run, _Run]
    learned: Memories
    own: Sequence[Memories]
    names: Sequence[v.Event]
    marks: Sequence[v.RunMerged] = ()


class _Run(NamedTuple):
    """A parent with what it learned, its questions, and what it keeps back; all ids but the keys of `ids` are those of
    the merged run. `made_of` has the questions that each memory was made of, but for those of which no log tells."""

    parent: Parent
    events: Sequence[v.Event]
    ids: Mapping[str, str]
    questions: Mapping[str, Question]
    guarded: Guarded
    kept: frozenset[str]
    """Hashes of the questions that it holds back; `guarded` finds near-repeats of those in its present splits."""
    made_of: Mapping[str, frozenset[str]]

    def keeps_back(self, texts: Iterable[str]) -> bool:
        texts = list(texts)
        is_kept = any(question_hash(normalise(text)) in self.kept for text in texts)
        return is_kept or self.guarded.likeness(texts).is_leak

    def kept_by(self, other: _Run) -> frozenset[str]:
        """Return the questions that it may have learned from and the other run holds back."""
        asked = self.side("evolution") - other.side("evolution")
        return frozenset(name for name in asked if other.keeps_back([self.questions[name].question]))

    def side(self, split: str) -> frozenset[str]:
        return frozenset(self.ids[name] for name in getattr(past_of(self.parent.event), split) if name in self.ids)


def require_mergeable(one: Parent, other: Parent) -> None:
    """Raise `UsageError` unless two runs ask the same kind of questions of the same model in the same way, and
    `PrerequisiteError` for a copy without gold answers."""
    names = [parent.event.parent for parent in (one, other)]
    if names[0] == names[1]:
        raise UsageError(f"Both runs are called {names[0]}: merge two different ones, or give a copy another name.")
    if different := list(_differences(one, other)):
        raise UsageError(
            f"{names[0]} and {names[1]} cannot be merged: {'; '.join(different)}. Merged runs must "
            "ask questions and read answers in the same way."
        )
    for parent in (one, other):
        require_gold(parent.event.parent, has_gold=parent.stored[1])


def _differences(one: Parent, other: Parent) -> Iterator[str]:
    runs = [parent.started for parent in (one, other)]
    if (benchmarks := [_kind(started.benchmark) for started in runs])[0] != benchmarks[1]:
        yield f"benchmark {benchmarks[0]} and {benchmarks[1]}"
    for name, before, after in difference(*(parse(started.config) for started in runs)):
        if name in _ASKED and {before, after} != _ALIKE:
            yield f"{name} {_word(before)} and {_word(after)}"
    # The tasks of a user may be two files; what else is in a data set is the same for both.
    is_own = runs[0].benchmark.startswith(OWN_TASKS)
    yield from (
        f"a different {name.replace('_', ' ')}"
        for name in _RECORDED
        if getattr(runs[0], name) != getattr(runs[1], name) and not (is_own and name == "data_sha256")
    )


def _word(value: object) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value) or "none"


def _kind(benchmark: str) -> str:
    """Return the part of a benchmark's name that two runs must share: for own tasks, everything but their location."""
    if not benchmark.startswith(OWN_TASKS):
        return title(benchmark)
    spec = parse_tasks(benchmark)
    options = {"scorer": spec.scorer, "labels": ",".join(spec.labels), "instruction": spec.instruction}
    return "own tasks with " + ", ".join(f"{name} {value!r}" for name, value in options.items() if value)


def merger_of(one: Parent, other: Parent) -> Merger:
    """Return what a run with two parents begins with. Raises `UsageError` if the same question has different answers in
    them."""
    first, second = sorted((one, other), key=_place)
    runs = _runs(first, second)
    kept = [run.kept_by(its) for run, its in zip(runs, reversed(runs), strict=True)]
    pairs = zip(runs, reversed(runs), kept, strict=True)
    own = [Memories(remembered_in(run.events), dict(_left_out(run, its, theirs))) for run, its, theirs in pairs]
    anchors, held_out = (runs[0].side(split) | runs[1].side(split) for split in ("anchors", "held_out"))
    learned_from = (runs[0].side("evolution") - kept[0]) | (runs[1].side("evolution") - kept[1])
    spent = [parent.event.usd_micro for parent in (one, other)]
    event = v.RunInherited(
        events=0,
        iteration=max(first.event.iteration, second.event.iteration),
        parent=f"{one.event.parent} + {other.event.parent}",
        path="",
        seq=0,
        head_seq=0,
        head_chain="",
        digests=(),
        evolution=tuple(sorted(learned_from - anchors - held_out)),
        anchors=tuple(sorted(anchors)),
        held_out=tuple(sorted(held_out - anchors)),
        resembling=(),
        calls=one.event.calls + other.event.calls,
        usd_micro=-1 if min(spent) < 0 else sum(spent),
    )
    events = chain.from_iterable(run.events for run in runs)
    names = list(names_of(_without_examples(each, learned_from) for each in events))
    found = Merger(first._replace(event=event, drafts=()), runs, merged(*own), own, names)
    return _with_drafts(found)


def _place(parent: Parent) -> tuple[Sequence[str], str]:
    """Return the key that orders runs: what they learned, not when they learned it."""
    return [digest.value for digest in parent.event.digests], parent.event.head_chain


def questions_of(merger: Merger, base: Benchmark, config: Config) -> Benchmark:
    """Return the benchmark `base` with the questions of both runs."""
    joined = list({question.id: question for run in merger.runs for question in run.questions.values()}.values())
    if reopen := reopening(config.benchmark):
        columns = {column.role: column.name for column in merger.parent.started.columns}
        return with_column_roles(reopen(joined, base.data_sha256), columns)
    return grown(base, joined)


def within(merger: Merger, splits: Splits, resembling: Sequence[str]) -> Merger:
    """Return a merger without memories whose question is in no split of the new run: they could not be checked."""
    known = {name for split in splits.events for name in hashes_of(split)}
    astray: dict[str, WhyLeft] = {
        name: "question"
        for name, each in merger.learned.by_id.items()
        if each.memory.question
        and each.memory.phase != "serve"
        and question_hash(normalise(each.memory.question)) not in known
    }
    parent = merger.parent._replace(event=msgspec.structs.replace(merger.parent.event, resembling=tuple(resembling)))
    learned = merged(merger.learned, Memories({}, astray))
    return _with_drafts(merger._replace(parent=parent, learned=learned))


def _runs(first: Parent, second: Parent) -> tuple[_Run, _Run]:
    known, others = (stored_questions(each.reader, first.started.benchmark)[0] for each in (first, second))
    new, changed = added(known, others)
    if changed:
        raise UsageError(
            f"{len(changed)} questions have different answers in {first.event.parent} and {second.event.parent}: "
            f"{named(changed)}. One of the runs learned wrong answers: merge runs over tasks that agree."
        )
    by_text = {asked_in(question): question.id for question in reversed((*known, *new))}
    return (
        _run(first, known, {question.id: question.id for question in known}),
        _run(second, others, {question.id: by_text[asked_in(question)] for question in others}),
    )


def _run(parent: Parent, questions: Sequence[Question], ids: Mapping[str, str]) -> _Run:
    kept = past_of(parent.event).kept
    hashes = frozenset(question_hash(normalise(q.question)) for q in questions if q.id in kept)
    here = {ids[q.id]: msgspec.structs.replace(q, id=ids[q.id]) for q in questions}
    events = [_renamed(event, ids) for event in parent.learned()]
    run = _Run(parent, events, ids, here, Guarded(parent.reader.of(v.SplitCommitted)), hashes, {})
    return run._replace(made_of=_made_of(run))


def _renamed(event: v.Event, ids: Mapping[str, str]) -> v.Event:
    match event:
        case v.MemoryAppended():
            return msgspec.structs.replace(event, question_id=ids.get(event.question_id, event.question_id))
        case v.TaskTypeCreated():
            return msgspec.structs.replace(event, examples=tuple(ids[name] for name in event.examples))
    return event


def _without_examples(event: v.Event, learned_from: Collection[str]) -> v.Event:
    """Return an event without examples of a type that must not be learned from."""
    if not isinstance(event, v.TaskTypeCreated):
        return event
    return msgspec.structs.replace(event, examples=tuple(name for name in event.examples if name in learned_from))


def _left_out(run: _Run, other: _Run, kept: frozenset[str]) -> Iterator[tuple[str, WhyLeft]]:
    """Yield what must not be taken from a run, with the reason; `kept` are the questions that it learned from and the
    other run holds back."""
    for event in run.events:
        if isinstance(event, OTHER_KINDS):
            yield id_of(event), "kind"
        elif isinstance(event, v.MemoryAppended):
            if event.question_id in kept or other.keeps_back(texts_of(event)):
                yield event.memory_id, "question"
            elif not run.made_of.get(event.memory_id, kept).isdisjoint(kept):
                yield event.memory_id, "origin"


def _made_of(run: _Run) -> dict[str, frozenset[str]]:
    """Return the questions that each memory of a run was made of, by its id; without those of which no log tells."""
    memories = [event for event in run.events if isinstance(event, v.MemoryAppended)]
    found = {memory.memory_id: frozenset({memory.question_id}) for memory in memories if is_of_one(memory)}
    written = {memory.memory_id: memory.origin.facts for memory in memories if memory.memory_id not in found}
    asked = run.side("evolution")
    # As a brief has them, in JSON.
    texts = {
        name: msgspec.json.encode(run.questions[new].question).decode()[1:-1]
        for name, new in run.ids.items()
        if new in asked
    }
    wanted, facts = {fact for made in written.values() for fact in made}, dict[str, Set[str] | None]()
    for log in _logs(run.parent.reader):
        requests = Requests(log)
        for record in log.records({v.AnswerJudged, v.ModelCalled}, since=1) if wanted else ():
            if (name := record.fact_id.hex()) in wanted:
                facts[name] = _about(record.event, requests, texts)
        for each in chain.from_iterable(mark.made_of for mark in log.of(v.RunMerged, since=1)):
            found[each.memory_id] = found.get(each.memory_id, frozenset()) | {
                run.ids[name] for name in each.question_ids
            }
    for name, made in written.items():
        about = [facts.get(fact) for fact in made]
        if about and None not in about:
            found[name] = frozenset(run.ids[each] for names in about for each in names or ())
    return found


def _logs(reader: LogReader) -> Iterator[LogReader]:
    """Yield a run's log and those of the runs that it continues, the newest first."""
    yield reader
    while reader.past:
        reader = reader.past.reader
        yield reader


def _about(event: v.Event, requests: Requests, texts: Mapping[str, str]) -> Set[str] | None:
    """Return which of the questions with these `texts` a verdict or a reply is about; None if what was sent is not on
    record."""
    match event:
        case v.AnswerJudged(question_id=name):
            return {name} & texts.keys()
        case v.ModelCalled(tier="guidance", sent=sent):
            if (request := requests.request(sent)) is None:
                return None
            # A brief has its cases by id, earlier memories by their text.
            return {name for name, text in texts.items() if f'"{name}"' in request.text or text in request.text}
        case v.ModelCalled(about=about):
            return {about, about.rpartition("/")[0]} & texts.keys()
    return None


def _with_drafts(merger: Merger) -> Merger:
    """Return a merger whose parent has the drafts of what it learned, with their counts."""
    marks = [_mark(run, own, merger.learned) for run, own in zip(merger.runs, merger.own, strict=True)]
    drafts: list[v.Draft] = [*map(opening, (*marks, *merger.names)), *drafts_of(merger.learned)]
    state = State()
    for draft in drafts:
        state.apply(draft.event)
    event = msgspec.structs.replace(merger.parent.event, events=len(drafts), digests=state.digests())
    return merger._replace(parent=merger.parent._replace(event=event, drafts=drafts), marks=marks)


def _mark(run: _Run, own: Memories, learned: Memories) -> v.RunMerged:
    about = {
        name: getattr(run.parent.event, name)
        for name in ("parent", "path", "iteration", "seq", "head_seq", "head_chain")
    }
    others = {name for name, reason in own.out.items() if reason == "kind"}
    left = sorted((own.by_id.keys() - learned.by_id.keys()) | others)
    taken = sorted(own.by_id.keys() & learned.by_id.keys())
    written = [name for name in taken if name in run.made_of and not is_of_one(own.by_id[name].memory)]
    return v.RunMerged(
        **about,
        memory_ids=tuple(taken),
        left_out=tuple(v.LeftOut(memory_id=name, reason=learned.out[name]) for name in left),
        made_of=tuple(v.MadeOf(memory_id=name, question_ids=tuple(sorted(run.made_of[name]))) for name in written),
    )
