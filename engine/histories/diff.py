"""The verb `diff`: what changed between two moments of a run, or between two runs, according to their logs.

Rules
    - A moment is a run and a marker of it. Its state is folded from the log: no model, no network, no clock.
    - Something learned is the same on both sides if it has the same id, which is a hash of what it says. So two runs
      can be compared too, unless their tasks name subjects: then each run has ids of its own.
    - Answers are paired by question: those to the anchors by which both states were measured, each at its last closed
      iteration (run/anchors.py), and those to the questions of the last finished exam of that state, without a control.
      An id that means another question in each of two runs, as rows of two files may, pairs nothing.
"""

import difflib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.agents.learner import course_of
from mage_es.engine.config import parse
from mage_es.engine.courses import Ask, begin
from mage_es.engine.rules.quarantine import status_of
from mage_es.engine.run.anchors import measured, unmeasured
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.exams import exam_records, is_own, learner_of, read_exam
from mage_es.engine.run.questions import unlike
from mage_es.engine.run.world import first_event, state_of
from mage_es.engine.seams.model import chat_of
from mage_es.engine.served.frozen import freeze
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.engine.worth.memories import MemoryItem, item_in, kind_of, others_of, sort_of, thing_of
from mage_es.engine.worth.worth import PairedNumbers, paired_numbers
from mage_es.events.errors import UsageError, nearest
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import IterationClosed, MemoryQuarantined, MemorySuperseded
from mage_es.projections.bandits import Posterior
from mage_es.projections.fold import State

IN_USE = "active"
_Sort = tuple[str, str, str]
"""The outcome, the kind and the task type of a memory, see `sort_of`."""
Fate = Literal["new", "new and out of use", "gone", "superseded", "out of use", "back in use", "changed"]
"""What became of something learned: only on the later side, only on the earlier, or on both with another status."""
_BORN: tuple[Fate, ...] = ("new", "new and out of use")


class RunMoment(msgspec.Struct, frozen=True, kw_only=True):
    """A state: its run, the marker that was asked for, and the event that it ends with."""

    run_id: str
    marker: str
    seq: int

    def __str__(self) -> str:
        return f"{self.run_id}@{self.marker}"


class SettingDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that the two runs began with differently; its values are as in a file of settings."""

    name: str
    before: str
    after: str


class LearnedDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Something learned that differs: as it is on the later side, or was on the earlier one if it is gone. `was` and
    `now` are its status, "" where it does not exist."""

    item: MemoryItem
    fate: Fate
    was: str
    now: str


class LearnedCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many things of a kind and task type have the same fate."""

    fate: Fate
    kind: str
    task_type: str
    number: int


class NameDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A skill or task type of the graph that only one side has."""

    kind: Literal["skill", "task type"]
    name: str
    is_new: bool


class CountDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The number of edges of a kind."""

    kind: str
    before: int
    after: int


class ArmDiff(msgspec.Struct, frozen=True, kw_only=True):
    """An arm whose posterior differs: the means, in [0, 1], and how often it was rewarded."""

    bandit: str
    key: str
    arm: str
    before: float
    after: float
    pulls_before: int
    pulls_after: int


class AnswersDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The same questions on both sides: how many were right before and after (for scores, their sum), and which were
    won and lost. `numbers` describe after minus before, with p from the exact sign test."""

    what: str
    total: int
    before: float
    after: float
    won: tuple[str, ...]
    lost: tuple[str, ...]
    numbers: PairedNumbers


class DiffReport(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between before and after. `learned` is sorted by fate, then by age, and has the first of those that
    `counts` counts; `arms` are sorted by how far they moved. `question` has, with its id, the prompt's lines as a
    unified diff; None if no question was named. `anchors` is how many both sides have: those that one of them did not
    measure are not in `answers`."""

    before: RunMoment
    after: RunMoment
    settings: tuple[SettingDiff, ...]
    counts: tuple[LearnedCount, ...]
    learned: tuple[LearnedDiff, ...]
    names: tuple[NameDiff, ...]
    edges: tuple[CountDiff, ...]
    arms: tuple[ArmDiff, ...]
    answers: tuple[AnswersDiff, ...]
    question: str
    prompt: tuple[str, ...]
    anchors: int = 0


class _Side(NamedTuple):
    run: Run
    marker: str
    reader: LogReader
    state: State

    @property
    def moment(self) -> RunMoment:
        return RunMoment(run_id=self.run.id, marker=self.marker, seq=self.state.seq)


@typed
def diff(
    before: Run | Path | str,
    after: Run | Path | str,
    *,
    at: tuple[str, str] = ("latest", "latest"),
    question: str = "",
    top: int = 100,
) -> DiffReport:
    """Return what differs in one run at a marker from another, or from itself at another marker.

    With a `question` (an id), return also how the two sides' prompts for it differ. Of what was learned, `top` are
    listed of each fate, kind and task type.

    Raises:
        UsageError: A marker does not exist, or a side does not have the question, or another one of its id.
        LogDamaged: A log fails its checksums.
    """
    runs = as_run(before), as_run(after)
    # One for both moments of a run, since a reader checks each hash once.
    readers = {run.path: LogReader(run.log_path) for run in runs}
    was, now = (_side(run, marker, readers[run.path]) for run, marker in zip(runs, at, strict=True))
    counts, learned = _learned(was.state, now.state, _left(now), top)
    changed = unlike(was.reader, now.reader) if was.run.path != now.run.path else frozenset[str]()
    if question in changed:
        raise UsageError(f"{question} is not the same question in {was.run.id} and {now.run.id}: name one that is.")
    return DiffReport(
        before=was.moment,
        after=now.moment,
        settings=tuple(_settings(was, now)),
        counts=counts,
        learned=learned,
        names=tuple(_names(was.state, now.state)),
        edges=tuple(_edges(was.state, now.state)),
        arms=tuple(_arms(was.state, now.state)),
        answers=tuple(_answers(was, now, changed)),
        question=question,
        prompt=tuple(_prompt(was, now, question)) if question else (),
        anchors=len(({*was.state.scores.anchors()} & {*now.state.scores.anchors()}) - changed),
    )


adiff = in_thread(diff)


def _side(run: Run, marker: str, reader: LogReader) -> _Side:
    return _Side(run, marker, reader, state_of(run, reader, until=reader.resolve(marker)))


def _settings(was: _Side, now: _Side) -> Iterator[SettingDiff]:
    if was.run.path == now.run.path:
        return
    before, after = (msgspec.structs.asdict(parse(first_event(side.reader).config)) for side in (was, now))
    for name in before:
        if before[name] != after[name]:
            yield SettingDiff(name=name, before=str(before[name]), after=str(after[name]))


def _left(side: _Side) -> Set[str]:
    """Return what a side has learned and does not use."""
    # Only these events take anything out of use: to look up the status of a million memories would take seconds.
    found = side.reader.of(MemoryQuarantined, MemorySuperseded, until=side.state.seq)
    return {event.memory_id for event in found if status_of(side.state, event.memory_id) != IN_USE}


def _learned(
    was: State, now: State, left: Set[str], top: int
) -> tuple[tuple[LearnedCount, ...], tuple[LearnedDiff, ...]]:
    counts, found = defaultdict[Fate, Counter[_Sort]](Counter), list[LearnedDiff]()
    listed, full = Counter[tuple[Fate, _Sort]](), defaultdict[Fate, set[_Sort]](set)
    for fate, sorts in _changed(was, now, left):
        counts[fate].update(sorts.values())
        # Once enough of each sort are listed, the others are only counted.
        if len(full[fate]) == len(counts[fate]):
            continue
        side = was if fate == "gone" else now
        for name in sorted(sorts):
            if listed[fate, sorts[name]] >= top:
                full[fate].add(sorts[name])
                continue
            listed[fate, sorts[name]] += 1
            then, status = (
                "" if fate in missing else status_of(state, name) or ""
                for state, missing in ((was, _BORN), (now, ("gone",)))
            )
            found.append(LearnedDiff(item=item_in(side, name, thing_of(side, name)), fate=fate, was=then, now=status))
    found.sort(key=lambda each: (each.fate, each.item.iteration, each.item.kind, each.item.memory_id))
    return tuple(
        LearnedCount(fate=fate, kind=kind, task_type=task_type, number=number)
        for fate, kind, task_type, number in sorted(
            (fate, kind_of(sort[0], sort[1]), sort[2], number)
            for fate, counted in counts.items()
            for sort, number in counted.items()
        )
    ), tuple(found)


def _changed(was: State, now: State, left: Set[str]) -> Iterator[tuple[Fate, Mapping[str, _Sort]]]:
    """Yield how learned things differ, and the sort of each by its id."""
    both = set[str]()
    for before, after in was.memory.unlike(now.memory):
        both |= before.keys() & after.keys()
        yield "gone", _without(before, after)
        new = _without(after, before)
        yield "new", _without(new, left)
        yield "new and out of use", {name: new[name] for name in left if name in new}
    # Where no row differs, a decision on a proposal may: it is in no row.
    decided = {*was.traffic.decided(), *now.traffic.decided()}
    both |= {name for name in decided if name in was.memory and name in now.memory}
    older, newer = (dict(others_of(state)).keys() for state in (was, now))
    for name in sorted(both | older | newer):
        born: Fate = "new and out of use" if name in left else "new"
        fate = _fate(was, now, name) if (name in older) == (name in newer) else born if name in newer else "gone"
        if fate is not None:
            yield fate, {name: sort_of(was if fate == "gone" else now, name)}


def _without(sorts: Mapping[str, _Sort], others: Collection[str]) -> Mapping[str, _Sort]:
    return {name: sort for name, sort in sorts.items() if name not in others} if others else sorts


def _fate(was: State, now: State, name: str) -> Fate | None:
    """Return how something that both sides have has changed; None if it has not."""
    then, status = status_of(was, name), status_of(now, name)
    if then == status:
        return None
    if then == IN_USE:
        return "superseded" if status == "superseded" else "out of use"
    return "back in use" if status == IN_USE else "changed"


def _names(was: State, now: State) -> Iterator[NameDiff]:
    kinds: Mapping[Literal["skill", "task type"], tuple[Sequence[str], Sequence[str]]] = {
        "skill": (was.graph.skills(), now.graph.skills()),
        "task type": (was.graph.task_types(), now.graph.task_types()),
    }
    for kind, (before, after) in kinds.items():
        yield from (NameDiff(kind=kind, name=name, is_new=name in after) for name in sorted({*before} ^ {*after}))


def _edges(was: State, now: State) -> Iterator[CountDiff]:
    before, after = was.graph.edge_counts(), now.graph.edge_counts()
    for kind in sorted({*before, *after}):
        if before.get(kind, 0) != after.get(kind, 0):
            yield CountDiff(kind=kind, before=before.get(kind, 0), after=after.get(kind, 0))


def _arms(was: State, now: State) -> list[ArmDiff]:
    found = [
        ArmDiff(
            bandit=bandit,
            key=key,
            arm=arm,
            before=_mean(was.bandits.posterior(bandit, key, arm)),
            after=_mean(now.bandits.posterior(bandit, key, arm)),
            pulls_before=was.bandits.posterior(bandit, key, arm).pulls,
            pulls_after=now.bandits.posterior(bandit, key, arm).pulls,
        )
        for bandit, key, arm in sorted({*was.bandits.arms(), *now.bandits.arms()})
        if was.bandits.posterior(bandit, key, arm) != now.bandits.posterior(bandit, key, arm)
    ]
    return sorted(found, key=lambda each: -abs(each.after - each.before))


def _mean(posterior: Posterior) -> float:
    return posterior.alpha / (posterior.alpha + posterior.beta)


def _answers(was: _Side, now: _Side, changed: Set[str]) -> Iterator[AnswersDiff]:
    for what, before, after in (("anchors", _anchors(was), _anchors(now)), ("exam", _examined(was), _examined(now))):
        if both := (before.keys() & after.keys()) - changed:
            yield answers_diff(what, {name: before[name] for name in before if name in both}, after)


def answers_diff(what: str, was: Mapping[str, float], now: Mapping[str, float]) -> AnswersDiff:
    """Compare the answers to the questions that have one on both sides."""
    both = [name for name in was if name in now]
    return AnswersDiff(
        what=what,
        total=len(both),
        before=sum(was[name] for name in both),
        after=sum(now[name] for name in both),
        won=tuple(name for name in both if now[name] > was[name]),
        lost=tuple(name for name in both if now[name] < was[name]),
        numbers=paired_numbers(len(both), [float(now[name] - was[name]) for name in both]),
    )


def _anchors(side: _Side) -> Mapping[str, bool]:
    """Return whether each anchor was right that the last closed iteration measured."""
    return measured(side.state, unmeasured(side.reader, until=side.state.seq), side.state.progress.closed)


def _examined(side: _Side) -> Mapping[str, bool]:
    """Return whether each question was right in the finished exams of this state by the run's own model, by the last
    exam that asked it."""
    closed, found = _closed(side.reader, side.state.seq), dict[str, bool]()
    learner = learner_of(side.reader)
    for record in exam_records(side.reader):
        if not record.closed or not is_own(record.opened, learner) or not record.is_there(side.run):
            continue
        if _closed(side.reader, record.opened.head_seq) == closed:
            answers = read_exam(record.log(side.run), record).answers
            found |= dict(answers.select("question_id", "correct").rows())
    return found


def _closed(reader: LogReader, until: int) -> int:
    """Return the event that closed the last iteration up to an event: what is learned changes between two of these."""
    return reader.last(IterationClosed, until=until)


def _prompt(was: _Side, now: _Side, question: str) -> Iterator[str]:
    before, after = (_prompt_of(side, question).splitlines() for side in (was, now))
    # The whole prompt: cases that moved are judged by what stayed.
    whole = max(len(before), len(after))
    lines = difflib.unified_diff(before, after, str(was.moment), str(now.moment), n=whole, lineterm="")
    return (line for line in lines if not line.startswith("@@"))


def _prompt_of(side: _Side, name: str) -> str:
    frozen = freeze(side.run, side.marker)
    if name not in (questions := frozen.world.questions):
        near = nearest(name, list(questions), rest=f"`mage-es view {side.run.id}` lists those that it asked.")
        raise UsageError(f"{side.run.id} has no question {name!r}.{near}")
    planned = frozen.planned(questions[name])
    first = begin(course_of(frozen.world.setting, frozen.state, planned, questions[name]))
    if not isinstance(first, Ask):
        return "(no prompt: the nearest cases answer)"
    return "\n\n".join(f"{said['role'].title()}:\n{said['content']}" for said in chat_of(first.request, joined=False))
