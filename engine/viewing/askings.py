"""The questions of a run and its exams, as tables: each asking with its verdict, and what its prompt showed.

Plans, verdicts, trimmings and steps are most of a log. So they are collected as columns, stretch by stretch, and put
together once: what belongs to one asking has the same log, iteration, purpose and question, and follows its plan.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.run.exams import interval
from mage_es.engine.viewing.columns import Codes, Made, Numbers
from mage_es.engine.viewing.learned import line
from mage_es.engine.viewing.shown import ShownIn
from mage_es.engine.viewing.tables import Rows, hashed, whole
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.events.segments import Batch, Batches, Reads
from mage_es.events.segments.columns import Column
from mage_es.events.vocabulary import Event, QuestionText
from mage_es.projections.fold import State, give
from mage_es.projections.ledger import Ledger
from mage_es.projections.questions import EVOLVING

WRONG = ("wrong", "unanswered")
NO_ANSWER = ("open", "undecided")
"""Verdicts that are neither right nor wrong."""
SAME = "it would have seen the same"
DECIDED = "the guard had decided"
"""Why an anchor was not asked: a plan without an asking means that the guard no longer needed it."""
_SPLITS = {
    **dict.fromkeys((*EVOLVING, "again", "trial"), "evolution"),
    **dict.fromkeys(("anchor", "bare", "form"), "anchor"),
    "exam": "held-out",
}
"""The committed split of a purpose's questions; clients' questions are in none."""


_VERDICTS = ("open", "wrong", "correct", "unanswered", "undecided")
_OPEN, _WRONG, _CORRECT, _UNANSWERED, _UNDECIDED = range(len(_VERDICTS))
_PLANNED, _SETTLED, _CARRIED, _SHOWED = range(4)
"""What a fact does: a plan or a verdict, asked or carried, may begin an asking; the rest only belongs to one."""
_FACT = np.dtype(
    [("log", "i4"), ("seq", "i8"), ("kind", "i1"), ("verdict", "i1"), ("is_judged", "?"), ("score", "i8")]
    + [(name, "i4") for name in ("question", "iteration", "purpose", "task_type", "skill")]
    + [(name, "i4") for name in ("template", "search_arm", "routing_arm", "memories")]
)
_NONE = np.iinfo(np.int64).min
_SETTLES: Mapping[type[Event], int] = {
    v.AnswerJudged: _WRONG,
    v.AnswerCarried: _WRONG,
    v.AnswerUnanswered: _UNANSWERED,
    v.AnswerUndecided: _UNDECIDED,
}
"""The events that settle an asking, with the verdict of those that are not `correct`."""
_ABOUT = ("iteration", "purpose", "question_id")
_Ints = NDArray[np.int64]


class _Log(NamedTuple):
    """A log with askings: its row among the exams (-1: the run's own), and from when on in the run its plans and its
    verdicts are shown (0: from their own events on)."""

    exam: int
    since: int
    until: int


class _Decision(NamedTuple):
    """What the guard decided, on which answers to anchors, and to which iteration it went back."""

    seq: int
    event: v.GuardDecided
    now: dict[str, bool]
    then: dict[str, bool]
    rolled_to: int | None


class Askings:
    """Tables of what was asked. `ended` has the event, in its own log, that settled an asking (0 for none), `uses` the
    prompts that showed a memory; `episodes` counts those that ended. The tables are there once all logs were taken."""

    reads: ClassVar[Reads] = {
        v.QuestionPlanned: (
            *(*_ABOUT, "task_type", "skill", "template", "search_arm", "routing_arm"),
            *("memories", "principles", "action_recipes", "tool_id", "recipe_id", "coin", "left_out"),
        ),
        v.AnswerJudged: (*_ABOUT, "task_type", "skill", "score_micro", "correct"),
        v.AnswerUnanswered: (*_ABOUT, "task_type", "skill"),
        v.AnswerUndecided: (*_ABOUT, "task_type", "skill"),
        v.AnswerCarried: ("iteration", "question_id", "task_type", "correct"),
        v.EpisodeStepped: ("iteration", "purpose", "episode_id", "memories", "done"),
        v.BundleTrimmed: (*_ABOUT, "memory_id"),
    }
    """What is taken as columns."""
    singly: ClassVar[Reads] = whole(v.AnswerCarried, v.GuardDecided, v.SlotsRolledBack, v.ExamOpened, v.ExamClosed)
    """What is applied one by one."""

    def __init__(self, state: State, memories: Mapping[str, int]) -> None:
        self._state, self._memories = state, memories
        self.rows: dict[str, int] = {}
        self.exam_rows: dict[str, int] = {}
        self.ended = Numbers(np.zeros(0, np.int64))
        self.uses = ShownIn()
        self.episodes = 0
        self.hashes = array("i")
        """Of the ids of the questions, as `asked` has them."""
        self._words: dict[str, int] = {"": 0}
        self._logs = [_Log(-1, 0, 0)]
        self._facts, self._count = list[NDArray[Any]](), 0
        self._carries = list[tuple[int, int]]()
        self._decisions = list[_Decision]()
        self._accepted: dict[int, int] = {}
        self._joined = False
        self.questions = Rows("id split task_type title asked wrong unanswered undecided changed")
        self.askings = Rows(
            "from judged to question iteration purpose exam task_type skill verdict carried verdict_of score_micro "
            "template search_arm routing_arm memories seq"
        )
        self.exams = Rows(
            "from closed exam marker head_seq control execution correct total unanswered undecided low high "
            "guidance_calls problem"
        )
        self.guard = Rows(
            "from iteration verdict correct total against drop p_value best best_drop best_p_value smallest_drop "
            "rolled_to better worse same same_right unpaired carried"
        )

    def apply(self, seq: int, event: Event) -> None:
        """Take in an event of the run's own log that the state has already taken in."""
        match event:
            case v.AnswerCarried():
                self._carries.append(self._carried_from(event))
            case v.GuardDecided():
                now, then = (dict(self._state.scores.anchor_answers(k)) for k in (event.iteration, event.against))
                self._decisions.append(_Decision(seq, event, now, then, None))
                self._accepted.clear()
            case v.SlotsRolledBack() if self._decisions and self._decisions[-1].event.iteration == event.iteration:
                self._decisions[-1] = self._decisions[-1]._replace(rolled_to=event.to_iteration)
            case v.ExamOpened():
                told = (event.exam, event.marker, event.head_seq, event.control, event.execution)
                self.exam_rows[event.exam] = self.exams.add(seq, None, *told, 0, 0, 0, 0, None, None, None, "")
            case v.ExamClosed() if event.exam in self.exam_rows:  # a baseline closes an exam without a name: itself
                ends = interval(event.correct, event.total) or (None, None)
                counts = {name: getattr(event, name) for name in ("correct", "total", "unanswered", "undecided")}
                self._tell(self.exam_rows[event.exam], closed=seq, low=ends[0], high=ends[1], **counts)

    def take(self, batches: Batches, log: int = 0) -> None:
        """Take in a stretch of a log."""
        assert not self._joined
        found = {cls: batches[cls] for cls in self.reads if cls in batches}
        questions = self._numbered({cls: batch for cls, batch in found.items() if cls is not v.EpisodeStepped})
        for cls, batch in found.items():
            facts = np.zeros(len(batch), _FACT)
            facts["log"], facts["seq"] = log, batch.seqs
            facts["iteration"] = batch.columns.column("iteration").numbers()
            facts["purpose"] = (
                self._words_of(batch, "purpose") if "purpose" in self.reads[cls] else self._word("anchor")
            )
            if cls is v.QuestionPlanned:
                facts["question"] = questions[cls]
                self._plan(facts, batch)
            elif cls in _SETTLES:
                facts["question"] = questions[cls]
                self._settle(facts, cls, batch)
            elif cls is v.BundleTrimmed:
                facts["kind"], facts["question"] = _SHOWED, questions[cls]
                self.uses.trim(
                    self._count + np.arange(len(batch)), self._memories_of(batch.columns.column("memory_id"))
                )
            else:
                facts["kind"], facts["question"] = _SHOWED, self._known(batch.columns.column("episode_id"))
                names = batch.columns.column("memories")
                steps = np.repeat(self._count + np.arange(len(batch)), names.sizes())
                self.uses.show(steps, self._memories_of(names.items()))
                self.episodes += int(batch.columns.column("done").numbers().sum())
            self._facts.append(facts)
            self._count += len(facts)

    def take_exam(self, exam: str, reader: LogReader) -> Ledger:
        """Add the events of an exam's own log at the place of the exam in the run's log.

        Return what the exam cost.
        """
        row, ledger = self.exam_rows[exam], Ledger()
        since = self.exams.columns["from"][row]
        self._logs.append(_Log(row, since, self.exams.columns["closed"][row] or since))
        reads: Reads = {**self.reads, **Ledger.reads}
        # Of every type, so that one which this release cannot read is noticed.
        for batches in reader.batches(reads, headers=("causation_seq",)):
            self.take(batches, len(self._logs) - 1)
            give(ledger, {cls: batches[cls] for cls in Ledger.reads if cls in batches})
        self._tell(row, guidance_calls=ledger.total("guidance").calls)
        return ledger

    def lose_exam(self, exam: str, problem: str) -> None:
        """Note why an exam's own log cannot be read."""
        self._tell(self.exam_rows[exam], problem=problem)

    def verdicts(self, exam: str) -> dict[str, bool]:
        """Return by id which questions an exam has answers to, and whether these are right."""
        columns, names = self.askings.columns, self.questions.columns["id"]
        places = np.flatnonzero(columns["exam"].numbers() == self.exam_rows[exam]).tolist()
        found = {names[columns["question"][place]]: columns["verdict"][place] for place in places}
        return {name: verdict == "correct" for name, verdict in found.items() if verdict not in NO_ANSWER}

    def name_questions(self, texts: Iterable[QuestionText]) -> None:
        """Add the beginnings of the texts of the questions that were asked."""
        for text in texts:
            if (row := self.rows.get(text.id)) is not None:
                self.questions.columns["title"][row] = line(text.question)

    def named(self) -> dict[str, Any]:
        """Return the columns of `askings`, with names of exams in place of their rows and the title of each asking."""
        columns, names = self.askings.columns, self.exams.columns["exam"]

        def exams(first: int, end: int) -> list[str]:
            return ["" if row is None else names[row] for row in columns["exam"][first:end]]

        def titles(first: int, end: int) -> list[str]:
            told = (columns[name][first:end] for name in ("iteration", "purpose", "carried"))
            return [
                f"exam {exam}" if exam else f"{'start' if k < 0 else f'iter-{k}'} {purpose}{', carried' if why else ''}"
                for exam, k, purpose, why in zip(exams(first, end), *told, strict=True)
            ]

        rows = len(self.askings)
        return columns | {"exam": Made(rows, exams), "title": Made(rows, titles)}

    def of_question(self, row: int) -> list[int]:
        """Return the askings of a question."""
        found: list[int] = self._by_question[self._first[row] : self._first[row + 1]].tolist()
        return found

    def use(self, memory: str) -> dict[str, Any]:
        """Return the askings that showed a memory, and their outcomes; those that a coin decided are counted
        separately."""
        shown, *scores = self.uses.of(self._memories[memory])
        found: dict[str, Any] = {"shown": shown}
        for name, score in zip(("", "coin_", "left_"), scores, strict=True):
            found |= {f"{name}right": score.correct, f"{name}asked": score.total}
        return found

    def join(self) -> None:
        """Put together what was collected."""
        if self._joined:
            return
        self._joined = True
        facts = np.concatenate([np.zeros(0, _FACT), *self._facts])
        self._facts.clear()
        order = np.lexsort((facts["seq"], facts["log"]))
        ids = list(self.rows)
        self.questions.columns.update({"id": ids, "title": [""] * len(ids)})
        places = np.empty(len(order), np.int64)  # where what was collected is in order
        places[order] = np.arange(len(order))
        facts = facts[order]
        begins, asking = _joined(facts)
        self._fill(facts, begins, asking)
        carried = np.zeros(len(self.askings), bool)
        carried[asking[facts["kind"] == _CARRIED]] = True
        right = np.full(len(self.askings), -1, np.int8)
        judged = facts["is_judged"]
        right[asking[judged]] = facts["verdict"][judged] == _CORRECT
        self.uses.join(places, asking, carried, right, len(self._memories))
        self.questions = Rows.of(self.questions.columns)
        for decision in self._decisions:
            self._decide(*decision)

    # Collecting

    def _plan(self, facts: NDArray[Any], batch: Batch) -> None:
        columns = batch.columns
        for field in ("task_type", "skill", "template", "search_arm", "routing_arm"):
            facts[field] = self._words_of(batch, field)
        hits, left = columns.column("memories"), columns.column("left_out")
        shown = [
            _items(hits, "memory_id"),
            *(_items(columns.column(name)) for name in ("principles", "action_recipes")),
        ]
        shown += [(np.arange(len(batch)), columns.column(name)) for name in ("tool_id", "recipe_id")]
        plans, memories = self._once(shown)
        facts["memories"] = np.bincount(plans, minlength=len(batch))
        self.uses.show(self._count + plans, memories)
        rows, names = _items(hits, "memory_id")
        is_tossed = (np.asarray(columns.column("coin").values()) > 0)[rows]
        is_tossed |= np.asarray(hits.items().part("coin").values()) > 0
        plans, memories = self._once([(np.where(is_tossed, rows, -1), names)])
        self.uses.toss(self._count + plans, memories)
        plans, memories = self._once([_items(left, "memory_id")])
        self.uses.leave_out(self._count + plans, memories)

    def _settle(self, facts: NDArray[Any], cls: type[Event], batch: Batch) -> None:
        columns = batch.columns
        facts["kind"] = _CARRIED if cls is v.AnswerCarried else _SETTLED
        facts["task_type"] = self._words_of(batch, "task_type")
        facts["skill"] = self._words_of(batch, "skill") if "skill" in self.reads[cls] else 0
        facts["verdict"], facts["score"] = _SETTLES[cls], _NONE
        if "correct" in self.reads[cls]:
            facts["verdict"] += columns.column("correct").numbers().astype(np.int8)  # from `wrong` to `correct`
        if cls is v.AnswerJudged:
            facts["score"], facts["is_judged"] = columns.column("score_micro").numbers(), True

    def _numbered(self, found: Batches) -> dict[type[Event], _Ints]:
        """Return the questions of these events as rows; those that are new get theirs in order."""
        new, found_rows = list[tuple[int, str]](), dict[type[Event], tuple[_Ints, list[str], _Ints]]()
        for cls, batch in found.items():
            column = batch.columns.column("question_id")
            names, codes = column.distinct(), column.codes()
            rows = np.array([self.rows.get(name, -1) for name in names], np.int64)
            found_rows[cls] = rows, names, codes
            if cls is not v.BundleTrimmed:
                unknown = np.flatnonzero(rows[codes] < 0)
                firsts, places = np.unique(codes[unknown], return_index=True)
                seqs = np.asarray(batch.seqs)[unknown[places]].tolist()
                new += zip(seqs, map(names.__getitem__, firsts.tolist()), strict=True)
        for _, name in sorted(new):
            if name not in self.rows:
                self.rows[name] = len(self.rows)
                self.hashes.append(hashed(name))
        for rows, names, _ in found_rows.values():
            for place in np.flatnonzero(rows < 0).tolist():
                rows[place] = self.rows.get(names[place], -1)
        return {cls: rows[codes] for cls, (rows, _, codes) in found_rows.items()}

    def _known(self, column: Column) -> _Ints:
        return np.array([self.rows.get(name, -1) for name in column.distinct()], np.int64)[column.codes()]

    def _memories_of(self, column: Column) -> _Ints:
        return np.array([self._memories.get(name, -1) for name in column.distinct()], np.int64)[column.codes()]

    def _once(self, named: Iterable[tuple[_Ints, Column]]) -> tuple[_Ints, _Ints]:
        """Return each pair of a row (-1: none) and a memory that it names once, in order of the rows; a memory that the
        run has not is -1, as often as there are such names."""
        places, pairs = {"": 0}, list[_Ints]()
        for rows, names in named:
            known = np.array([places.setdefault(name, len(places)) for name in names.distinct()], np.int64)
            codes = known[names.codes()] if len(rows) else np.zeros(0, np.int64)
            kept = (codes > 0) & (rows >= 0)
            pairs.append(rows[kept] << 32 | codes[kept])
        found = np.unique(np.concatenate(pairs))
        memories = np.array([self._memories.get(name, -1) for name in places], np.int64)
        return found >> 32, memories[found & 0xFFFFFFFF]

    def _words_of(self, batch: Batch, field: str) -> _Ints:
        column = batch.columns.column(field)
        return np.array(list(map(self._word, column.distinct())), np.int64)[column.codes()]

    def _word(self, word: str) -> int:
        return self._words.setdefault(word, len(self._words))

    def _carried_from(self, event: v.AnswerCarried) -> tuple[int, int]:
        """Return the iteration whose verdict on an anchor was carried if the anchor was planned, and if it was not even
        that: of the last accepted snapshot, or of the one for which it was last asked."""
        if (at := self._accepted.get(event.iteration)) is None:
            accepted = (k for k in self._state.scores.accepted() if k != event.iteration)
            at = self._accepted[event.iteration] = max(accepted, default=-(1 << 31))
        last = self._state.scores.last_asked(event.question_id)
        return at, last.iteration if last else -(1 << 31)

    # Joining

    def _fill(self, facts: NDArray[Any], begins: NDArray[np.bool_], asking: _Ints) -> None:
        """Make the askings: each as it began, with its last verdict."""
        first, words = facts[begins], list(self._words)
        exams, since, until = (np.array(each, np.int64) for each in zip(*self._logs, strict=True))
        shown = np.where(facts["kind"] == _PLANNED, since[facts["log"]], until[facts["log"]])
        shown = np.where(shown == 0, facts["seq"], shown)
        settles = (facts["kind"] == _SETTLED) | (facts["kind"] == _CARRIED)
        rows = asking[settles]
        judged, score = np.full((2, len(first)), _NONE)
        ended, verdict = np.zeros((2, len(first)), np.int64)
        # Of several to one asking the last one wins.
        judged[rows], score[rows] = shown[settles], facts["score"][settles]
        ended[rows], verdict[rows] = facts["seq"][settles], facts["verdict"][settles]
        carries = facts["kind"] == _CARRIED
        carried = np.zeros(len(first), np.int8)
        carried[asking[carries]] = np.where(begins[carries], 1, 2)
        exam = exams[first["log"]]
        told = {name: Codes(first[name].copy(), words) for name in ("purpose", "task_type", "skill")}
        self.askings = Rows.of({
            "from": Numbers(shown[begins]),
            "judged": Numbers(judged),
            "to": Numbers(self._ends(facts, shown, settles, asking)),
            "question": Numbers(first["question"].copy()),
            "iteration": Numbers(first["iteration"].copy()),
            "purpose": told["purpose"],
            "exam": Numbers(np.where(exam < 0, _NONE, exam)),
            "task_type": told["task_type"],
            "skill": told["skill"],
            "verdict": Codes(verdict.astype(np.int8), _VERDICTS),
            "carried": Codes(carried, ("", SAME, DECIDED)),
            "verdict_of": Numbers(self._carried(facts[carries], first, asking[carries], carried)),
            "score_micro": Numbers(score),
            **{name: Codes(first[name].copy(), words) for name in ("template", "search_arm", "routing_arm")},
            "memories": Numbers(first["memories"].copy()),
            "seq": Numbers(first["seq"].copy()),
        })  # fmt: skip
        self.ended = Numbers(ended)
        questions = first["question"].astype(np.int64)
        self._by_question = np.argsort(questions, kind="stable").astype(np.int32)
        self._first = np.searchsorted(questions[self._by_question], np.arange(len(self.rows) + 1))
        columns = self.questions.columns
        for name, field, values in (("task_type", "task_type", words), ("split", "purpose", map(_split, words))):
            last = np.zeros(len(self.rows), np.int32)
            last[questions] = first[field]
            columns[name] = Codes(last, values)
        decided = asking[carries][~begins[carries]]
        self._decided = set(zip(first["iteration"][decided].tolist(), questions[decided].tolist(), strict=True))

    def _carried(self, facts: NDArray[Any], first: NDArray[Any], rows: _Ints, carried: NDArray[np.int8]) -> _Ints:
        """Return of each asking the one whose verdict it has, if that was carried: the last one if the carried one was
        not even planned, or else that of the last accepted snapshot."""
        found = np.full(len(first), _NONE)
        anchors = np.flatnonzero((first["log"] == 0) & (first["purpose"] == self._words.get("anchor", -1)))
        keys = _key(first["iteration"][anchors], first["question"][anchors])
        order = np.argsort(keys, kind="stable")
        keys, anchors = keys[order], anchors[order]
        at = np.array(self._carries, np.int64).reshape(-1, 2)
        wanted = _key(np.where(carried[rows] == 2, at[:, 0], at[:, 1]), facts["question"])
        places = np.searchsorted(keys, wanted, "right") - 1
        for row, place, key in zip(rows.tolist(), places.tolist(), wanted.tolist(), strict=True):
            if place >= 0 and keys[place] == key:
                before = found[anchors[place]]
                found[row] = anchors[place] if before == _NONE else before
        return found

    def _ends(self, facts: NDArray[Any], shown: _Ints, settles: NDArray[np.bool_], asking: _Ints) -> _Ints:
        """Return when the next verdict on the question of each asking came, and count the verdicts by question."""
        ends = np.full(int(asking.max(initial=-1)) + 1, _NONE)
        series = self._series(facts)

        def pairs(of: NDArray[np.bool_]) -> tuple[_Ints, _Ints]:
            """Return each fact and the one that follows it in the same series."""
            places = np.flatnonzero(of)
            places = places[np.lexsort((series[places], facts["question"][places]))]
            one, next_ = places[:-1], places[1:]
            same = (series[one] == series[next_]) & (facts["question"][one] == facts["question"][next_])
            return one[same], next_[same]

        before, after = pairs(settles)
        apart = asking[before] != asking[after]  # an asking that was settled twice holds on
        ends[asking[before[apart]]] = shown[after[apart]]
        verdict, is_asked = facts["verdict"], facts["kind"] == _SETTLED
        answered = is_asked & (verdict != _UNDECIDED)
        before, after = pairs(answered)
        changed = after[(verdict[before] == _CORRECT) != (verdict[after] == _CORRECT)]
        counts = {
            "asked": answered,
            "wrong": answered & (verdict != _CORRECT),
            "unanswered": answered & (verdict == _UNANSWERED),
            "undecided": is_asked & (verdict == _UNDECIDED),
        }
        columns, questions = self.questions.columns, len(self.rows)
        for name, which in counts.items():
            columns[name] = Numbers(np.bincount(facts["question"][which], minlength=questions))
        columns["changed"] = Numbers(np.bincount(facts["question"][changed], minlength=questions))
        return ends

    def _series(self, facts: NDArray[Any]) -> _Ints:
        """Return the series of each fact as a number: verdicts of one are compared."""
        known = dict[str, int]()

        def number(name: str) -> int:
            return known.setdefault(name, len(known))

        words = np.array([number("evolution" if word in EVOLVING else word) for word in self._words], np.int64)
        columns = self.exams.columns
        exams = [f"{columns['control'][log.exam]}/{columns['execution'][log.exam]}" for log in self._logs[1:]]
        logs = np.array([0, *map(number, exams)], np.int64)
        found: _Ints = np.where(facts["log"] == 0, words[facts["purpose"]], logs[facts["log"]])
        return found

    def _decide(
        self,
        seq: int,
        event: v.GuardDecided,
        now: dict[str, bool],
        then: dict[str, bool],
        rolled_to: int | None,
    ) -> None:
        unasked = {name for name in now if (event.iteration, self.rows.get(name, -1)) in self._decided}
        now = {name: right for name, right in now.items() if name not in unasked}
        both = sorted(now.keys() & then.keys())
        better = [self.rows[name] for name in both if now[name] and not then[name]]
        worse = [self.rows[name] for name in both if then[name] and not now[name]]
        told = (event.iteration, event.verdict, event.correct, event.total, event.against, event.drop, event.p_value)
        best = (event.best, event.best_drop, event.best_p_value, event.smallest_drop)
        right = sum(now[name] and then[name] for name in both)
        same, unpaired = len(both) - len(better) - len(worse), len((now.keys() ^ then.keys()) - unasked)
        self.guard.add(seq, *told, *best, rolled_to, better, worse, same, right, unpaired, len(unasked))

    def _tell(self, exam: int, **values: Any) -> None:
        for name, value in values.items():
            self.exams.columns[name][exam] = value


def _split(purpose: str) -> str:
    return _SPLITS.get(purpose, "")


def _items(column: Column, member: str = "") -> tuple[_Ints, Column]:
    """Return the items of a column of lists, or a member of them, after the row that each is in."""
    rows = np.repeat(np.arange(len(column)), column.sizes())
    return rows, column.items().part(member) if member else column.items()


def _key(iteration: NDArray[Any], question: NDArray[Any]) -> _Ints:
    key: _Ints = iteration.astype(np.int64) << 32 | question.astype(np.int64)
    return key


def _joined(facts: NDArray[Any]) -> tuple[NDArray[np.bool_], _Ints]:
    """Return which facts begin an asking, and the asking of each, -1 if it has none. A plan always begins one, a
    verdict only if there is none: it was carried, or is from a parent whose plans are not here."""
    order = np.lexsort(tuple(facts[name] for name in ("question", "purpose", "iteration", "log")))
    kinds, number = facts["kind"][order], np.arange(len(order))
    is_new = np.ones(len(order), bool)
    for name in ("log", "iteration", "purpose", "question"):
        values = facts[name][order]
        is_new[1:] &= values[1:] == values[:-1]
    is_new[1:] = ~is_new[1:]
    start = np.maximum.accumulate(np.where(is_new, number, 0))
    may = kinds != _SHOWED
    before = np.cumsum(may) - may
    begins = (kinds == _PLANNED) | (may & (before == before[start]))
    latest = np.maximum.accumulate(np.where(begins, number, -1))
    is_first = np.zeros(len(order), bool)
    is_first[order[begins]] = True
    rows = np.cumsum(is_first) - 1
    asking = np.full(len(order), -1)
    known = latest >= start
    asking[order[known]] = rows[order[latest[known]]]
    return is_first, asking
