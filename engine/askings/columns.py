"""The askings of a log, as columns: which facts belong to each asking, and which memories its prompts showed.

Plans, verdicts, trimmings and steps make up most of a log. So they are collected stretch by stretch and put together
once. The facts of one asking have the same log, iteration, purpose and question, and follow its plan.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.events.segments import Batch, Batches, Reads
from mage_es.events.segments.columns import Column
from mage_es.events.vocabulary import Event
from mage_es.projections.scores import Score

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PLANNED, SETTLED, CARRIED, SHOWED = range(4)
"""What a fact does: a plan or a verdict, asked or carried, may begin an asking; the rest only belongs to one."""
VERDICTS = ("open", "wrong", "correct", "unanswered", "undecided")
OPEN, WRONG, CORRECT, UNANSWERED, UNDECIDED = range(len(VERDICTS))
_FACTS: Mapping[type[Event], tuple[int, int]] = {
    v.QuestionPlanned: (PLANNED, OPEN),
    v.AnswerJudged: (SETTLED, WRONG),
    v.AnswerCarried: (CARRIED, WRONG),
    v.AnswerUnanswered: (SETTLED, UNANSWERED),
    v.AnswerUndecided: (SETTLED, UNDECIDED),
    v.EpisodeStepped: (SHOWED, OPEN),
    v.BundleTrimmed: (SHOWED, OPEN),
}
"""What each type of fact does, and its verdict; for a type with a field `correct`, the verdict if that is false."""
_FIELDS = (
    *(("log", "i4"), ("seq", "i8"), ("kind", "i1"), ("verdict", "i1"), ("question", "i4"), ("iteration", "i4")),
    *(("purpose", "i4"), ("shown", "i4")),
)
"""The columns of facts; `shown` is how many memories a plan shows."""
_NUMBERS = ("iteration", "score_micro")
_ABOUT = ("iteration", "purpose", "question_id")
_LOW = 0xFFFFFFFF


class Quoted(NamedTuple):
    """How many prompts have `shown` an item, and how many of those judged were right: in all, and where a coin let it
    in or left it out."""

    shown: list[int]
    right: Score
    coin: Score
    left: Score


class _Side(NamedTuple):
    """The askings [n] of all memories, one memory after another; those of memory m begin at `first` [m]."""

    askings: NDArray[np.int32]
    first: Ints

    def of(self, memory: int) -> NDArray[np.int32]:
        return self.askings[self.first[memory] : self.first[memory + 1]]

    def sums(self, of: NDArray[Any]) -> Ints:
        """Return for each memory the sum of these values over its askings."""
        sums = np.concatenate(([0], np.cumsum(of[self.askings])))
        found: Ints = sums[self.first[1:]] - sums[self.first[:-1]]
        return found


class Uses:
    """The askings whose prompts showed a memory, each once. A plan that was never asked showed nothing."""

    def __init__(self, rows: Mapping[str, int]) -> None:
        """`rows` numbers the memories that count, from 0. It may grow until `join` is called."""
        self._rows = rows
        self._noted: dict[str, list[tuple[NDArray[np.int32], NDArray[np.int32]]]] = {
            name: [] for name in ("shown", "coin", "left", "trimmed")
        }

    def note(self, side: str, facts: Ints, memories: Ints) -> None:
        """Note that these facts show these memories, or what else `side` says of them; facts are given by their places,
        and -1 is a memory that does not count. Memories that did not fit are `trimmed`. They stay on the coin's sides:
        what the coin left out might not have fitted either, and no event says which.
        """
        known = memories >= 0
        self._noted[side].append((facts[known].astype(np.int32), memories[known].astype(np.int32)))

    def join(self, places: Ints, asking: Ints, carried: Bools, right: NDArray[np.int8]) -> None:
        """Put together what was noted. `places` says where each fact is in the order of the log, `asking` to which
        asking the fact there belongs. For each asking, `carried` says whether it was never asked, and `right` is its
        verdict (-1: none)."""
        self._right = right
        trimmed, at = self._pairs("trimmed", places, asking)
        order = np.lexsort((at, trimmed))
        trimmed, at = trimmed[order], at[order]

        def joined(side: str) -> _Side:
            pairs, shown_at = self._pairs(side, places, asking)
            kept = ~carried[pairs & _LOW]
            if side == "shown" and len(trimmed):
                last = np.searchsorted(trimmed, pairs, "right") - 1
                kept &= (trimmed[last] != pairs) | (at[last] < shown_at)
            found = _distinct(pairs[kept])  # the steps of an episode show a memory again and again
            return _Side((found & _LOW).astype(np.int32), np.searchsorted(found >> 32, np.arange(len(self._rows) + 1)))

        self._shown, self._coin, self._left = map(joined, ("shown", "coin", "left"))
        self._noted.clear()

    def of(self, name: str) -> Quoted:
        shown, coin, left = (side.of(self._rows[name]) for side in (self._shown, self._coin, self._left))
        return Quoted(shown.tolist(), *map(self._score, (shown, coin, left)))

    def prompts(self) -> Ints:
        """Return how many prompts showed each memory."""
        return np.diff(self._shown.first)

    def right(self) -> Ints:
        """Return how many of these were answered right."""
        return self._shown.sums(self._right == 1)

    def _pairs(self, side: str, places: Ints, asking: Ints) -> tuple[Ints, Ints]:
        """Return what was noted as pairs, each a number with the memory in the high bits and the asking in the low
        ones, and their places in the log."""
        noted = [(np.zeros(0, np.int32), np.zeros(0, np.int32)), *self._noted[side]]
        facts, memories = map(np.concatenate, zip(*noted, strict=True))
        at = places[facts]
        known = asking[at] >= 0
        return memories[known].astype(np.int64) << 32 | asking[at[known]], at[known]

    def _score(self, askings: NDArray[np.int32]) -> Score:
        judged = self._right[askings]
        return Score(int((judged == 1).sum()), int((judged >= 0).sum()))


class AskedFacts:
    """The facts of all askings. `rows` numbers the questions in the order in which they were asked, `words` the texts
    that many facts have in common; `uses` says which prompts showed a memory, once the facts were joined."""

    reads: ClassVar[Reads] = {
        v.QuestionPlanned: (
            *(*_ABOUT, "memories", "principles", "action_recipes", "tool_id", "recipe_id", "coin", "left_out"),
        ),
        v.AnswerJudged: (*_ABOUT, "correct"),
        v.AnswerCarried: ("iteration", "question_id", "correct"),
        v.EpisodeStepped: ("iteration", "purpose", "episode_id", "memories"),
        v.BundleTrimmed: (*_ABOUT, "memory_id"),
    }

    def __init__(self, memories: Mapping[str, int], reads: Reads = reads, more: Sequence[tuple[str, str]] = ()) -> None:
        """`memories` gives the number of each memory that is counted. `more` are additional columns, each named after
        the field that it holds; `reads` must include these fields."""
        self.rows: dict[str, int] = {}
        self.words: dict[str, int] = {"": 0}
        self.uses = Uses(memories)
        self._memories, self._reads = memories, reads
        self._dtype = np.dtype([*_FIELDS, *more])
        self._texts = ("purpose", *(name for name, _ in more if name not in _NUMBERS))
        self._facts, self._count = list[NDArray[Any]](), 0

    def take(self, batches: Batches, log: int = 0) -> None:
        """Take in a stretch of a log, given by its number."""
        found = {cls: batches[cls] for cls in self._reads if cls in batches}
        questions = self._questions(found)
        for cls, batch in found.items():
            facts, fields = np.zeros(len(batch), self._dtype), self._reads[cls]
            facts["log"], facts["seq"], facts["question"] = log, batch.seqs, questions[cls]
            facts["kind"], facts["verdict"] = _FACTS[cls]
            if cls is v.AnswerCarried:
                facts["purpose"] = self._word("anchor")
            for name in filter(fields.__contains__, self._texts):
                column = batch.columns.column(name)
                facts[name] = np.array(list(map(self._word, column.distinct())), np.int64)[column.codes()]
            for name in filter(fields.__contains__, _NUMBERS):
                facts[name] = batch.columns.column(name).numbers()
            if "correct" in fields:
                facts["verdict"] += batch.columns.column("correct").numbers().astype(np.int8)  # `wrong` to `correct`
            self._show(cls, batch, facts)
            self._facts.append(facts)
            self._count += len(facts)

    def joined(self) -> tuple[NDArray[Any], Bools, Ints]:
        """Return all facts in the order of their logs, which of them begin an asking, and the asking of each, -1 if it
        has none. No more can be taken in after that."""
        facts = np.concatenate([np.zeros(0, self._dtype), *self._facts])
        self._facts.clear()
        order = np.lexsort((facts["seq"], facts["log"]))
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        facts = facts[order]
        begins, asking = _joined(facts)
        carried = np.zeros(int(begins.sum()), bool)
        carried[asking[facts["kind"] == CARRIED]] = True
        right, judged = np.full(len(carried), -1, np.int8), is_judged(facts)
        right[asking[judged]] = facts["verdict"][judged] == CORRECT
        self.uses.join(places, asking, carried, right)
        return facts, begins, asking

    def _show(self, cls: type[Event], batch: Batch, facts: NDArray[Any]) -> None:
        """Note the memories that plans and steps show, and those that did not fit."""
        columns, rows = batch.columns, np.arange(len(batch))
        if cls is v.QuestionPlanned:
            hits, left = columns.column("memories"), columns.column("left_out")
            lists = [_items(columns.column(name)) for name in ("principles", "action_recipes")]
            single = [(rows, columns.column(name)) for name in ("tool_id", "recipe_id")]
            facts["shown"] = np.bincount(
                self._note("shown", _items(hits, "memory_id"), *lists, *single), minlength=len(batch)
            )
            plans, names = _items(hits, "memory_id")
            is_tossed = (np.asarray(columns.column("coin").values()) > 0)[plans]
            is_tossed |= np.asarray(hits.items().part("coin").values()) > 0
            self._note("coin", (np.where(is_tossed, plans, -1), names))
            self._note("left", _items(left, "memory_id"))
        elif cls is v.EpisodeStepped:
            self._note("shown", _items(columns.column("memories")))
        elif cls is v.BundleTrimmed:
            self._note("trimmed", (rows, columns.column("memory_id")))

    def _note(self, side: str, *named: tuple[Ints, Column]) -> Ints:
        """Note once each pair of a row (-1: none) and a memory that it names; return the rows of all pairs, including
        those whose memory does not count."""
        places, pairs = {"": 0}, list[Ints]()
        for rows, names in named:
            known = np.array([places.setdefault(name, len(places)) for name in names.distinct()], np.int64)
            codes = known[names.codes()] if len(rows) else np.zeros(0, np.int64)
            kept = (codes > 0) & (rows >= 0)
            pairs.append(rows[kept] << 32 | codes[kept])
        found = _distinct(np.concatenate(pairs))
        memories = np.array([self._memories.get(name, -1) for name in places], np.int64)
        self.uses.note(side, self._count + (found >> 32), memories[found & _LOW])
        return found >> 32

    def _questions(self, found: Batches) -> dict[type[Event], Ints]:
        """Return the questions of these events as rows, -1 for one that was never asked; new ones get theirs in the
        order of the log."""
        columns = {
            cls: batch.columns.column("episode_id" if cls is v.EpisodeStepped else "question_id")
            for cls, batch in found.items()
        }
        new = list[tuple[int, str]]()
        for cls, column in columns.items():
            if _FACTS[cls][0] != SHOWED:
                names, codes = column.distinct(), column.codes()
                unknown = np.flatnonzero(np.array([name not in self.rows for name in names], bool)[codes])
                firsts, places = np.unique(codes[unknown], return_index=True)
                seqs = np.asarray(found[cls].seqs)[unknown[places]].tolist()
                new += zip(seqs, map(names.__getitem__, firsts.tolist()), strict=True)
        for _, name in sorted(new):
            self.rows.setdefault(name, len(self.rows))
        return {
            cls: np.array([self.rows.get(name, -1) for name in column.distinct()], np.int64)[column.codes()]
            for cls, column in columns.items()
        }

    def _word(self, word: str) -> int:
        return self.words.setdefault(word, len(self.words))


def uses_of(reader: LogReader, names: Iterable[str], *, until: int) -> Uses:
    """Return which prompts in a log showed these memories, up to event `until`."""
    asked = AskedFacts({name: row for row, name in enumerate(names)})
    for batches in reader.batches(asked.reads, until=until):
        asked.take(batches)
    asked.joined()
    return asked.uses


def is_judged(facts: NDArray[Any]) -> Bools:
    """Return which facts are verdicts on an answer, right or wrong."""
    found: Bools = (facts["kind"] == SETTLED) & np.isin(facts["verdict"], (WRONG, CORRECT))
    return found


def _distinct(values: Ints) -> Ints:
    """Return each value once, sorted. NumPy's `unique` takes forty times as long: it hashes."""
    values = np.sort(values)
    found: Ints = values[np.append(True, values[1:] != values[:-1])[: len(values)]]
    return found


def _items(column: Column, member: str = "") -> tuple[Ints, Column]:
    """Return the row of each item of a column of lists, and the items (with `member`, only that member of each)."""
    rows = np.repeat(np.arange(len(column)), column.sizes())
    return rows, column.items().part(member) if member else column.items()


def _joined(facts: NDArray[Any]) -> tuple[Bools, Ints]:
    """Return which facts begin an asking, and the asking of each. A plan always begins one, a verdict only if it has no
    plan: it was carried, or is from a parent whose plans are not here."""
    order = np.lexsort(tuple(facts[name] for name in ("question", "purpose", "iteration", "log")))
    kinds, number = facts["kind"][order], np.arange(len(order))
    is_new = np.ones(len(order), bool)
    for name in ("log", "iteration", "purpose", "question"):
        values = facts[name][order]
        is_new[1:] &= values[1:] == values[:-1]
    is_new[1:] = ~is_new[1:]
    start = np.maximum.accumulate(np.where(is_new, number, 0))
    may = kinds != SHOWED
    before = np.cumsum(may) - may
    begins = (kinds == PLANNED) | (may & (before == before[start]))
    latest = np.maximum.accumulate(np.where(begins, number, -1))
    is_first = np.zeros(len(order), bool)
    is_first[order[begins]] = True
    rows = np.cumsum(is_first) - 1
    asking = np.full(len(order), -1)
    known = latest >= start
    asking[order[known]] = rows[order[latest[known]]]
    return is_first, asking
