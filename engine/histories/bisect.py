"""The verb `bisect`: which iteration changed a metric or an answer, and which memory (rules/bisect.py).

Rules
    - A metric is read off the log, without a model. What its iteration changed is what `diff` knows. Anchors have a
      level only where all were measured (run/anchors.py): elsewhere the guard asked a few, different ones each time, so
      their level may move by that choice alone.
    - A question is asked as an exam at that moment would ask it: on the state that a replay to its marker gives, with
      frozen bandits. Nothing is learned from it.
    - Then it is asked with prompts between the last one before the flip and the first one after it: memories that only
      the former shows are removed one by one, then those that only the latter shows are added. So the answer flips
      because a memory appeared or disappeared, or because of something else that changed.
    - The price is known in advance, and replies on record cost nothing. New questions are recorded like those that
      `effect` asks again (askings/reasking.py), so that the same call continues after a stop, and is free later. A flip
      that took calls to find is recorded with the two prompts around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.agents.learner import course_of
from mage_es.engine.askings.reasking import (
    Replies,
    as_examined,
    asking_again,
    less,
    models_again,
    names_again,
    planned_on,
    reasked_course,
    replies_of,
)
from mage_es.engine.config import parse
from mage_es.engine.courses import Ask, Finish, Grade, advance, begin, catch_up
from mage_es.engine.histories.diff import DiffReport, diff
from mage_es.engine.histories.rules.bisect import bracket, crossings, most_asked, next_asked, one_by_one
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.run.asking_price import AskingPrice, Like, price_again
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.inheriting import is_served, last_inherited, require_closed
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World, first_event, reopen_world, require_ontology, require_scoring, state_of
from mage_es.engine.seams.benchmark import Benchmark, scored
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.model import Model
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.verbs.summary import IterationRow
from mage_es.engine.worth.memories import MemoryItem, item_in
from mage_es.events.errors import PrerequisiteError, UsageError, nearest
from mage_es.events.facts.private import ERASED, marked_private
from mage_es.events.log import LogReader
from mage_es.events.log.markers import Marker
from mage_es.events.log.markers import parse as parse_marker
from mage_es.events.vocabulary import AnswerFlipped, AnswerJudged, QuestionPlanned, QuestionsReasked, RunFinished
from mage_es.projections.fold import State, fold

METRICS = ("anchors", "accuracy", "mastery")
"""Right answers to the anchors, to new questions (of episodes: mean scores); the mean mastery of the skills."""
_TOLD = ("routing_arm", "search_arm", "template", "form", "skill", "guiding_skill", "tool_id", "recipe_id", "is_bare")
"""Fields of a plan that say how its prompt is made, besides its memories."""


class BisectMoment(msgspec.Struct, frozen=True, kw_only=True):
    """A closed iteration. `value` is the level of the metric, in [0, 1], or 1 for a right and 0 for a wrong answer;
    None if nothing is on record, or the question was not asked. `source` says how the answer to a question is known,
    `guard` what the guard decided. For the metric `anchors`, `measured` of `anchors` were measured; unless all were,
    there is no value."""

    marker: str
    value: float | None
    source: Literal["log", "record", "asked", "same prompt", ""]
    guard: str = ""
    measured: int = 0
    anchors: int = 0


class PromptChange(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that only one of two prompts shows, in the order in which they change; `right` is whether the answer was
    right once it had changed too, or None if that was not asked."""

    item: MemoryItem
    is_new: bool
    right: bool | None


class BisectReport(msgspec.Struct, frozen=True, kw_only=True):
    """When a `metric`, or the answer to a `question` (the other is ""), changed.

    `flips` are the markers by which it had changed sides, as far as known. For a metric this call found the first one,
    for an answer the one that took the fewest prompts: it flips between `before` and `after`. Without flips both ends
    agree. `change` is what the iteration of a metric's flip changed; `episodes` cannot be asked again. For a question,
    `prompt` has the memories that differ, and `cause` the id of the one that flips the answer, or "" if `rest` does:
    everything else that differs between the two prompts. `between` is whether the answer was right once the old
    memories were gone and everything else had changed, but no new memory was there yet; None if that was not asked.
    `asks` and `calls` were made by this call.
    """

    run_id: str
    metric: str
    question: str
    moments: tuple[BisectMoment, ...]
    flips: tuple[str, ...]
    before: str = ""
    after: str = ""
    change: DiffReport | None = None
    prompt: tuple[PromptChange, ...] = ()
    cause: str = ""
    rest: tuple[str, ...] = ()
    between: bool | None = None
    asks: int = 0
    calls: int = 0
    temperature: float = 0.0
    episodes: bool = False


@typed
def bisect_price(
    run: Run | Path | str,
    *,
    question: str,
    good: str = "",
    bad: str = "",
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    prices: Prices | None = None,
) -> AskingPrice:
    """Return the most that `bisect` with the same arguments can cost. No model is called. Raises what `bisect`
    raises."""
    run = as_run(run)
    search = _search(run, question, good, bad, data_dir, benchmark)
    search.wanted()
    own = search.reader.of(AnswerJudged, since=last_inherited(search.reader) + 1)
    return price_again([Like(search.reader, search.most(), own)], prices or Prices())


@typed
async def abisect(
    run: Run | Path | str,
    *,
    metric: str = "",
    question: str = "",
    good: str = "",
    bad: str = "",
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    execution: Model | None = None,
    judge: Model | None = None,
) -> BisectReport:
    """Return the first iteration between two markers after which a metric (`anchors`, `accuracy`, `mastery`) or the
    answer to a question, by its id, differs from that at the earlier one; for a question also the memory that flips it.

    `good` is the earlier marker (default: the first with a value) and `bad` the later one (the last); either may be the
    better. A metric costs nothing. A question calls models: `bisect_price` says how often at most.

    Raises:
        UsageError: Neither or both of metric and question are given, or it does not exist; a marker does not belong to
        a closed iteration, or has no value. For a question: questions are episodes, `execution` or `judge` is not the
        run's own, or dollars are limited and it has no price.
        PrerequisiteError: The run's world is missing, the model cannot be reached, or an answer has no verdict.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the same call continues.
    """
    run, runtime = as_run(run), runtime or Runtime()
    if bool(metric) == bool(question):
        raise UsageError(f"Give either a metric ({', '.join(METRICS)}) or a question.")
    if metric:
        return _by_metric(run, metric, good, bad)
    search = _search(run, question, good, bad, data_dir, benchmark)
    asks = calls = 0
    if link := search.wanted():
        models = models_again(search.world, first_event(search.reader), execution, judge)
        runtime.require_prices(models.names())
        async with asking_again(
            run, search.reader, search.world, models.by_tier(), runtime, "bisect", search.found
        ) as asking:

            async def ask(link: _Link) -> Finish | None:
                again, total = [as_examined(link.planned, link.seq)], asks + search.most()
                done = min(asks, total - 1)  # at the end, what is known already is only recorded
                [end] = await asking.answer(search.state(link.seq), again, done=done, total=total)
                return end

            while link:
                search.hear(link, await ask(link))
                asks += 1
                link = search.wanted()
            calls = asking.book.calls
            # Even if their replies are on record: `verify` checks what was found by what was asked, so both must be
            # there.
            for end in search.ends():
                await ask(end)
    return search.report(asks=asks, calls=calls)


bisect = blocking(abisect)


class _Moment(NamedTuple):
    """The end of a closed iteration, at event `seq`; the `name` of the first is start."""

    name: str
    marker: Marker
    seq: int


def _moments(run: Run, reader: LogReader) -> list[_Moment]:
    require_closed(run.id, reader)
    ends = [(marker, seq) for marker, seq in reader.markers().items() if marker.kind == "iteration"]
    if len(ends) < 2:
        # A merged run is finished at once.
        is_over = is_served(reader) or next(reader.of(RunFinished), None)
        ahead = f"evolve --from {run.id}" if is_over else f"resume {run.id}"
        raise UsageError(
            f"{run.id} has closed nothing but {ends[0][0]}, so nothing can have changed since: `mage-es {ahead}` "
            "continues it."
        )
    return [_Moment(str(marker) if place else "start", marker, seq) for place, (marker, seq) in enumerate(ends)]


def _between(moments: Sequence[_Moment], good: str, bad: str) -> tuple[int, int]:
    """Return the positions of two markers. Raises `UsageError` if one does not belong to a closed iteration, or if they
    are in the wrong order."""
    places = {str(each.marker): place for place, each in enumerate(moments)}
    places |= {"start": 0, "latest": len(moments) - 1}
    for given in (good, bad):
        parse_marker(given)
        if given not in places:
            raise UsageError(f"{given} is not the end of an iteration in this log.{nearest(given, list(places))}")
    if places[good] >= places[bad]:
        raise UsageError(f"{good} is not before {bad}: give the earlier moment as good, the later one as bad.")
    return places[good], places[bad]


def _by_metric(run: Run, metric: str, good: str, bad: str) -> BisectReport:
    if metric not in METRICS:
        raise UsageError(f"There is no metric {metric!r}.{nearest(metric, list(METRICS))}")
    reader = LogReader(run.log_path)
    first_event(reader)
    moments = _moments(run, reader)
    levels, rows = _levels(run, reader, moments, metric)
    counts = [_measured(row) if row and metric == "anchors" else (0, 0) for row in rows]
    valued = [place for place, level in enumerate(levels) if level is not None]
    if len(valued) < 2:
        why = ", which takes all anchors: the guard asked fewer at the others" if any(map(sum, counts)) else ""
        raise UsageError(f"{run.id} has fewer than two iterations with a value of {metric}{why}.")
    first, last = _between(moments, good or moments[valued[0]].name, bad or moments[valued[-1]].name)
    for place in (first, last):
        if levels[place] is None:
            why = " ({} of {} anchors were measured there)".format(*counts[place]) if counts[place][1] else ""
            raise UsageError(
                f"{metric} has no value at {moments[place].name}{why}: the first is at {moments[valued[0]].name}, the "
                f"last at {moments[valued[-1]].name}."
            )
    found = [first + place for place in crossings(levels[first : last + 1])]
    before = max((place for place in valued if found and place < found[0]), default=first)
    at = (moments[before].name, moments[found[0]].name) if found else ("", "")
    return BisectReport(
        run_id=run.id,
        metric=metric,
        question="",
        moments=tuple(
            BisectMoment(
                marker=moments[place].name,
                value=levels[place],
                source="log",
                guard=row.guard if (row := rows[place]) else "",
                measured=counts[place][0],
                anchors=counts[place][1],
            )
            for place in range(first, last + 1)
        ),
        flips=tuple(moments[place].name for place in found),
        before=at[0],
        after=at[1],
        change=diff(run, run, at=at) if found else None,
        episodes=any(row and row.fresh_score is not None for row in rows),
        temperature=parse(first_event(reader).config).answer_temperature,
    )


def _levels(
    run: Run, reader: LogReader, moments: Sequence[_Moment], metric: str
) -> tuple[list[float | None], list[IterationRow | None]]:
    """Return the level of a metric at each moment, and the row of the iteration that it ends."""
    rows = {row.iteration: row for row in summarise(run).rows}
    found = [rows.get(each.marker.number) for each in moments]
    if metric == "mastery":
        return list(_masteries(reader, [each.seq for each in moments])), found
    return [_level(row, is_anchor=metric == "anchors") if row else None for row in found], found


def _measured(row: IterationRow) -> tuple[int, int]:
    """Return how many anchors an iteration measured, and out of how many."""
    return row.anchor_total, row.anchor_total + row.anchors_unmeasured


def _level(row: IterationRow, *, is_anchor: bool) -> float | None:
    if is_anchor and row.anchors_unmeasured:
        return None
    score, right, asked = (
        (row.anchor_score, row.anchor_correct, row.anchor_total)
        if is_anchor
        else (row.fresh_score, row.fresh_correct, row.fresh_total)
    )
    return score if score is not None else right / asked if asked else None


def _masteries(reader: LogReader, seqs: Sequence[int]) -> Iterator[float | None]:
    state = State()
    for seq in seqs:
        state = fold(reader, until=seq, state=state)
        skills = state.graph.skills()
        yield sum(map(state.slots.mastery, skills)) / len(skills) if skills else None


class _Link(NamedTuple):
    """A prompt in the search: the plan of a question at a marker, at event `seq` of the run, without what is left out.
    `name` is the hash of the request, or the link's own name if a hash does not identify the prompt (several calls, or
    a look-up)."""

    marker: str
    seq: int
    planned: QuestionPlanned
    name: str


def _search(
    run: Run, question: str, good: str, bad: str, data_dir: Path | str | None, benchmark: Benchmark | None
) -> _Search:
    reader = LogReader(run.log_path)
    first_event(reader)
    moments = _moments(run, reader)
    first, last = _between(moments, good or "start", bad or "latest")
    world = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, frozen=True)
    require_scoring(world, "asking again")
    if is_sequential(world.benchmark):
        raise UsageError(
            f"The tasks of {world.benchmark.name} are episodes, played in its environment: so no prompt can be asked "
            f"again. Bisect a metric instead: --metric anchors."
        )
    if question not in world.questions:
        near = nearest(question, list(world.questions), rest=f"`mage-es view {run.id}` lists those that it asked.")
        raise UsageError(f"{run.id} has no question {question!r}.{near}")
    if world.questions[question].subject.startswith(ERASED):
        raise PrerequisiteError(f"{question} cannot be read here: its subject's key was destroyed, or is elsewhere.")
    return _Search(run, reader, world, question, moments[first : last + 1])


class _Search:
    """A search for the moment, and then for the memory, that flips the answer to a question."""

    def __init__(self, run: Run, reader: LogReader, world: World, question: str, moments: Sequence[_Moment]) -> None:
        self.run, self.reader, self.world, self.question = run, reader, world, question
        config = world.setting.config
        self._has_judge = bool(config.judge)
        self._replies: Replies = replies_of(run, reader, names_again(first_event(reader), config.judge))
        # Two, as the way from one prompt to another goes back and forth between two moments.
        self.state = lru_cache(maxsize=2)(lambda seq: state_of(run, reader, until=seq))
        self._known, self._asked = dict[str, bool](), set[str]()
        self._moments, self._steps = list[_Link](), list[_Link]()
        state = state_of(run, reader, until=moments[0].seq)
        for name, marker, seq in moments:
            state = fold(reader, until=seq, state=state)
            require_ontology(state, name)
            [planned] = planned_on(world, state, marker.number, [question])
            link = self._link(name, seq, state, planned, frozenset())
            self._moments.append(link)
            if link.name not in self._known:
                self._look_up(link, state)

    def _link(self, marker: str, seq: int, state: State, planned: QuestionPlanned, removed: frozenset[str]) -> _Link:
        planned = less(self.world, state, planned, removed) if removed else planned
        first = begin(course_of(self.world.setting, state, planned, self.world.questions[self.question]))
        is_all = isinstance(first, Ask) and first.about == self.question
        own = f"{marker}, {planned.prompt_sha256}, without {sorted(removed)}"
        return _Link(marker, seq, planned, first.request.sha256 if is_all and isinstance(first, Ask) else own)

    def wanted(self) -> _Link | None:
        """Return the prompt to ask next, or None once the search is over. Answers on record need no asking."""
        while (place := next_asked(self._row, self._known)) is not None or self._goes_on():
            if place is not None:
                link = self._links[place]
                if not self._look_up(link, self.state(link.seq)):
                    return link
        return None

    def most(self) -> int:
        """Return how many prompts at most still have to be asked."""
        most = most_asked(self._row, self._known)
        if self._steps:
            return most
        ends = self._known.keys() >= {self._row[0], self._row[-1]}
        found = (bracket(self._row, self._known) or (0, 0)) if ends else (0, len(self._row) - 1)
        pairs = zip(self._moments[found[0] : found[1]], self._moments[found[0] + 1 : found[1] + 1], strict=True)
        ways = [sum(map(len, one_by_one(one.planned, other.planned))) for one, other in pairs if one.name != other.name]
        # One step for each memory that differs, and one for all else: that is how many prompts lie between.
        return most + max((way.bit_length() for way in ways), default=0)

    @property
    def _links(self) -> list[_Link]:
        return self._steps or self._moments

    @property
    def _row(self) -> list[str]:
        return [link.name for link in self._links]

    def _goes_on(self) -> bool:
        """Start on the memories once the moment is found; return whether there is anything to look for."""
        if self._steps or not (found := bracket(self._row, self._known)):
            return False
        good, bad = (self._moments[place] for place in found)
        self._steps = [good, *self._way(good, bad), bad]
        return True

    def _way(self, good: _Link, bad: _Link) -> Iterator[_Link]:
        """Yield the prompts that lead from one to the other, memory by memory."""
        if RECALL in (good.planned.routing_arm, bad.planned.routing_arm):  # no prompt
            return
        gone, new = one_by_one(good.planned, bad.planned)
        for number in range(1, len(gone) + 1):
            state = self.state(good.seq)
            yield self._link(good.marker, good.seq, state, good.planned, frozenset(gone[:number]))
        for number in range(len(new)):
            state = self.state(bad.seq)
            yield self._link(bad.marker, bad.seq, state, bad.planned, frozenset(new[number:]))

    def _look_up(self, link: _Link, state: State) -> bool:
        """Return whether the answer to a prompt is on record; if so, take it from there."""
        again = as_examined(link.planned, link.seq)
        pending = reasked_course(self.world, state, again, self._replies, has_judge=self._has_judge)
        move = pending.move
        while isinstance(move, Grade):
            verdict = scored(self.world.benchmark, move.question, move.reply)
            move = catch_up(pending.course, advance(pending.course, verdict), pending.recorded)
        if isinstance(move, Finish):
            self._settle(link, move)
        return isinstance(move, Finish)

    def hear(self, link: _Link, end: Finish | None) -> None:
        """Note the verdict on a prompt that was asked. Raises `PrerequisiteError` if it has none."""
        self._asked.add(link.name)
        self._settle(link, end)

    def _settle(self, link: _Link, end: Finish | None) -> None:
        verdict = end.verdict if end else None
        if verdict is None or verdict.undecided:
            why = (end.lost if end and end.lost else verdict.why if verdict else "") or "no reason is given"
            raise PrerequisiteError(
                f"The answer to {self.question} at {link.marker} has no verdict ({why}), so the search cannot "
                f"continue. The same command tries again; --good and --bad choose other moments."
            )
        self._known[link.name] = verdict.correct

    def ends(self) -> tuple[_Link, ...]:
        """Return the two prompts between which the answer flips, once they are found."""
        found = bracket(self._row, self._known) if self.wanted() is None else None
        return tuple(self._links[place] for place in found or ())

    def found(self) -> QuestionsReasked:
        """Return what a run's log records about the search: the flip, if one was found."""
        if not (ends := self.ends()):
            return QuestionsReasked(verb="bisect")
        report, (before, after) = self.report(asks=0, calls=0), ends
        flip = AnswerFlipped(
            question_id=self.question,
            before=report.before,
            after=report.after,
            memory_id=report.cause,
            prompt_before=before.planned.prompt_sha256,
            prompt_after=after.planned.prompt_sha256,
        )
        subject = self.world.setting.subjects.get(self.question, "")
        return QuestionsReasked(verb="bisect", flips=(marked_private(flip, frozenset({subject} - {""})),))

    def report(self, *, asks: int, calls: int) -> BisectReport:
        moments = list(self._as_reported())
        found = bracket([link.name for link in self._moments], self._known)
        points = [(each.marker, each.value) for each in moments if each.value is not None]
        flips = [marker for (_, was), (marker, now) in pairwise(points) if was != now]
        report = BisectReport(
            run_id=self.run.id,
            metric="",
            question=self.question,
            moments=tuple(moments),
            flips=tuple(flips) if found else (),
            asks=asks,
            calls=calls,
            temperature=self.world.setting.config.answer_temperature,
        )
        if not found:
            return report
        good, bad = (self._moments[place] for place in found)
        prompt, between, cause = self._changes(good, bad)
        return msgspec.structs.replace(
            report,
            before=good.marker,
            after=bad.marker,
            prompt=prompt,
            between=between,
            cause=cause,
            rest=() if cause else tuple(_rest(good.planned, bad.planned)),
        )

    def _as_reported(self) -> Iterator[BisectMoment]:
        """Yield each moment with what is known about its answer; if several have the same prompt, the first was
        asked."""
        asked = set[str]()
        for link in self._moments:
            right = self._known.get(link.name)
            source: Literal["record", "asked", "same prompt", ""] = "" if right is None else "record"
            if link.name in self._asked:
                source = "same prompt" if link.name in asked else "asked"
            asked.add(link.name)
            yield BisectMoment(marker=link.marker, value=None if right is None else float(right), source=source)

    def _changes(self, good: _Link, bad: _Link) -> tuple[tuple[PromptChange, ...], bool | None, str]:
        """Return the memories in which two prompts differ, the verdict once the old ones are gone and no new one is
        there yet, and the memory that flips the answer, "" if none does."""
        gone, new = one_by_one(good.planned, bad.planned)
        state = self.state(bad.seq)
        names = [*gone, *new]
        items = [item_in(state, name, state.memory.row(name)) for name in names]
        if len(self._steps) != len(names) + 2:  # there was no way to go
            changes = [PromptChange(item=item, is_new=item.memory_id in new, right=None) for item in items]
            return tuple(changes), None, ""
        rights = [self._known.get(link.name) for link in self._steps]
        # The first step is the good prompt; the step of all else lies between what goes and what comes.
        after = [*rights[1 : len(gone) + 1], *rights[len(gone) + 2 :]]
        changes = [
            PromptChange(item=item, is_new=item.memory_id in new, right=right)
            for item, right in zip(items, after, strict=True)
        ]
        steps = [*gone, "", *new]
        flip = bracket([link.name for link in self._steps], self._known)
        assert flip is not None
        return tuple(changes), rights[len(gone) + 1], steps[flip[0]]


def _rest(good: QuestionPlanned, bad: QuestionPlanned) -> Iterator[str]:
    """Describe what differs between two plans besides their memories."""
    for name in _TOLD:
        was, now = getattr(good, name), getattr(bad, name)
        if was != now:
            yield f"{name.replace('_', ' ')} {now or 'none'} in place of {was or 'none'}"
