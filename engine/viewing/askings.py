"""The questions of a run and its exams, as tables: each asking with its verdict, and the guard's conclusions.

The facts are collected as columns (engine/askings/columns.py) and made into tables once.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.askings.columns import (
    CARRIED,
    CORRECT,
    PLANNED,
    SETTLED,
    UNANSWERED,
    UNDECIDED,
    VERDICTS,
    AskedFacts,
    Bools,
    Ints,
    is_judged,
)
from mage_es.engine.run.exams import interval
from mage_es.engine.viewing.columns import Codes, Made, Numbers
from mage_es.engine.viewing.learned import line
from mage_es.engine.viewing.tables import Rows, whole
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.events.segments import Batches, Reads
from mage_es.events.vocabulary import Event, QuestionText
from mage_es.projections.fold import State, give, union
from mage_es.projections.ledger import Ledger
from mage_es.projections.questions import EVOLVING

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
_ARMS = ("template", "search_arm", "routing_arm")
_WORDS = ("task_type", "skill", *_ARMS)
_LOST = ("iteration", "purpose", "question_id", "task_type", "skill")
_NONE = np.iinfo(np.int64).min


class _Log(NamedTuple):
    """A log with askings: its row among the exams (-1: the run's own log), and the events of the run from which on its
    plans and its verdicts are shown (0: from their own events on)."""

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
    prompts that showed a memory; `episodes` counts those that ended. The tables are there once all logs have been taken
    in."""

    reads: ClassVar[Reads] = union((
        AskedFacts.reads,
        {v.QuestionPlanned: _WORDS, v.AnswerJudged: ("task_type", "skill", "score_micro")},
        {v.AnswerCarried: ("task_type",), v.AnswerUnanswered: _LOST, v.AnswerUndecided: _LOST},
        {v.EpisodeStepped: ("done",)},
    ))  # fmt: skip
    """What is taken as columns."""
    singly: ClassVar[Reads] = whole(v.AnswerCarried, v.GuardDecided, v.SlotsRolledBack, v.ExamOpened, v.ExamClosed)
    """What is applied one by one."""

    def __init__(self, state: State, memories: Mapping[str, int]) -> None:
        self._state = state
        self._asked = AskedFacts(memories, self.reads, [("score_micro", "i8"), *((name, "i4") for name in _WORDS)])
        self.rows, self.uses = self._asked.rows, self._asked.uses
        self.exam_rows: dict[str, int] = {}
        self.ended = Numbers(np.zeros(0, np.int64))
        self.episodes = 0
        self._logs = [_Log(-1, 0, 0)]
        self._carries = list[tuple[int, int]]()
        self._decisions = list[_Decision]()
        self._accepted: dict[int, int] = {}
        self._joined = False
        self.questions = Rows("id split task_type title asked wrong unanswered undecided changed")
        self.askings = Rows("from")
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
                values = (event.exam, event.marker, event.head_seq, event.control, event.execution)
                self.exam_rows[event.exam] = self.exams.add(seq, None, *values, 0, 0, 0, 0, None, None, None, "")
            case v.ExamClosed() if event.exam in self.exam_rows:  # a baseline closes an exam without a name: itself
                ends = interval(event.correct, event.total) or (None, None)
                counts = {name: getattr(event, name) for name in ("correct", "total", "unanswered", "undecided")}
                self._tell(self.exam_rows[event.exam], closed=seq, low=ends[0], high=ends[1], **counts)

    def take(self, batches: Batches, log: int = 0) -> None:
        """Take in a stretch of a log."""
        assert not self._joined
        self._asked.take(batches, log)
        if steps := batches.get(v.EpisodeStepped):
            self.episodes += sum(steps.columns["done"])

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

    def verdicts(self, exam: str, *, is_start: bool = False) -> dict[str, bool]:
        """Return the questions that an exam decided, by id, and whether each answer is right; at the start without
        questions whose call failed (engine/viewing/card.py)."""
        columns, names = self.askings.columns, self.questions.columns["id"]
        places = np.flatnonzero(columns["exam"].numbers() == self.exam_rows[exam]).tolist()
        found = {names[columns["question"][place]]: columns["verdict"][place] for place in places}
        left = (*NO_ANSWER, "unanswered") if is_start else NO_ANSWER
        return {name: verdict == "correct" for name, verdict in found.items() if verdict not in left}

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
            parts = (columns[name][first:end] for name in ("iteration", "purpose", "carried"))
            return [
                f"exam {exam}" if exam else f"{'start' if k < 0 else f'iter-{k}'} {purpose}{', carried' if why else ''}"
                for exam, k, purpose, why in zip(exams(first, end), *parts, strict=True)
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
        shown, *scores = self.uses.of(memory)
        found: dict[str, Any] = {"shown": shown}
        for name, score in zip(("", "coin_", "left_"), scores, strict=True):
            found |= {f"{name}right": score.correct, f"{name}asked": score.total}
        return found

    def join(self) -> None:
        """Put together what was collected."""
        if self._joined:
            return
        self._joined = True
        ids = list(self.rows)
        self.questions.columns.update({"id": ids, "title": [""] * len(ids)})
        self._fill(*self._asked.joined())
        self.questions = Rows.of(self.questions.columns)
        for decision in self._decisions:
            self._decide(*decision)

    def _carried_from(self, event: v.AnswerCarried) -> tuple[int, int]:
        """Return the iterations whose verdict an anchor keeps: if it was planned, the iteration of the last accepted
        snapshot; if it was not, the one in which it was last asked."""
        if (at := self._accepted.get(event.iteration)) is None:
            accepted = (k for k in self._state.scores.accepted() if k != event.iteration)
            at = self._accepted[event.iteration] = max(accepted, default=-(1 << 31))
        last = self._state.scores.last_asked(event.question_id)
        return at, last.iteration if last else -(1 << 31)

    def _fill(self, facts: NDArray[Any], begins: Bools, asking: Ints) -> None:
        """Make the askings: each as it began, with its last verdict."""
        first, words = facts[begins], list(self._asked.words)
        exams, since, until = (np.array(each, np.int64) for each in zip(*self._logs, strict=True))
        shown = np.where(facts["kind"] == PLANNED, since[facts["log"]], until[facts["log"]])
        shown = np.where(shown == 0, facts["seq"], shown)
        settles = (facts["kind"] == SETTLED) | (facts["kind"] == CARRIED)
        rows = asking[settles]
        judged, score = np.full((2, len(first)), _NONE)
        ended, verdict = np.zeros((2, len(first)), np.int64)
        # If an asking has several verdicts, the last one wins.
        judged[rows] = shown[settles]
        score[rows] = np.where(is_judged(facts), facts["score_micro"], _NONE)[settles]
        ended[rows], verdict[rows] = facts["seq"][settles], facts["verdict"][settles]
        carries = facts["kind"] == CARRIED
        carried = np.zeros(len(first), np.int8)
        carried[asking[carries]] = np.where(begins[carries], 1, 2)
        exam = exams[first["log"]]
        word = {name: Codes(first[name].copy(), words) for name in ("purpose", *_WORDS)}
        self.askings = Rows.of({
            "from": Numbers(shown[begins]),
            "judged": Numbers(judged),
            "to": Numbers(self._ends(facts, shown, settles, asking)),
            "question": Numbers(first["question"].copy()),
            "iteration": Numbers(first["iteration"].copy()),
            "purpose": word["purpose"],
            "exam": Numbers(np.where(exam < 0, _NONE, exam)),
            "task_type": word["task_type"],
            "skill": word["skill"],
            "verdict": Codes(verdict.astype(np.int8), VERDICTS),
            "carried": Codes(carried, ("", SAME, DECIDED)),
            "verdict_of": Numbers(self._carried(facts[carries], first, asking[carries], carried)),
            "score_micro": Numbers(score),
            **{name: word[name] for name in _ARMS},
            "memories": Numbers(first["shown"].copy()),
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

    def _carried(self, facts: NDArray[Any], first: NDArray[Any], rows: Ints, carried: NDArray[np.int8]) -> Ints:
        """Return for each carried asking the one whose verdict it keeps: that of the last accepted snapshot if the
        carried one was planned, or else the last one."""
        found = np.full(len(first), _NONE)
        anchors = np.flatnonzero((first["log"] == 0) & (first["purpose"] == self._asked.words.get("anchor", -1)))
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

    def _ends(self, facts: NDArray[Any], shown: Ints, settles: Bools, asking: Ints) -> Ints:
        """Return when the next verdict on the question of each asking came, and count the verdicts by question."""
        ends = np.full(int(asking.max(initial=-1)) + 1, _NONE)
        series = self._series(facts)

        def pairs(of: Bools) -> tuple[Ints, Ints]:
            """Return each fact and the one that follows it in the same series."""
            places = np.flatnonzero(of)
            places = places[np.lexsort((series[places], facts["question"][places]))]
            one, next_ = places[:-1], places[1:]
            same = (series[one] == series[next_]) & (facts["question"][one] == facts["question"][next_])
            return one[same], next_[same]

        before, after = pairs(settles)
        apart = asking[before] != asking[after]  # an asking that was settled twice does not end in between
        ends[asking[before[apart]]] = shown[after[apart]]
        verdict, is_asked = facts["verdict"], facts["kind"] == SETTLED
        answered = is_asked & (verdict != UNDECIDED)
        before, after = pairs(answered)
        changed = after[(verdict[before] == CORRECT) != (verdict[after] == CORRECT)]
        counts = {
            "asked": answered,
            "wrong": answered & (verdict != CORRECT),
            "unanswered": answered & (verdict == UNANSWERED),
            "undecided": is_asked & (verdict == UNDECIDED),
        }
        columns, questions = self.questions.columns, len(self.rows)
        for name, which in counts.items():
            columns[name] = Numbers(np.bincount(facts["question"][which], minlength=questions))
        columns["changed"] = Numbers(np.bincount(facts["question"][changed], minlength=questions))
        return ends

    def _series(self, facts: NDArray[Any]) -> Ints:
        """Return the series of each fact as a number: verdicts of one are compared."""
        known = dict[str, int]()

        def number(name: str) -> int:
            return known.setdefault(name, len(known))

        words = np.array([number("evolution" if word in EVOLVING else word) for word in self._asked.words], np.int64)
        columns = self.exams.columns
        exams = [f"{columns['control'][log.exam]}/{columns['execution'][log.exam]}" for log in self._logs[1:]]
        logs = np.array([0, *map(number, exams)], np.int64)
        found: Ints = np.where(facts["log"] == 0, words[facts["purpose"]], logs[facts["log"]])
        return found

    def _decide(
        self, seq: int, event: v.GuardDecided, now: dict[str, bool], then: dict[str, bool], rolled_to: int | None
    ) -> None:
        unasked = {name for name in now if (event.iteration, self.rows.get(name, -1)) in self._decided}
        kept = sum(now[name] for name in unasked)
        now = {name: right for name, right in now.items() if name not in unasked}
        both = sorted(now.keys() & then.keys())
        better = [self.rows[name] for name in both if now[name] and not then[name]]
        worse = [self.rows[name] for name in both if then[name] and not now[name]]
        measured = (event.correct - kept, event.total - len(unasked))
        values = (event.iteration, event.verdict, *measured, event.against, event.drop, event.p_value)
        best = (event.best, event.best_drop, event.best_p_value, event.smallest_drop)
        right = sum(now[name] and then[name] for name in both)
        same, unpaired = len(both) - len(better) - len(worse), len((now.keys() ^ then.keys()) - unasked)
        self.guard.add(seq, *values, *best, rolled_to, better, worse, same, right, unpaired, len(unasked))

    def _tell(self, exam: int, **values: Any) -> None:
        for name, value in values.items():
            self.exams.columns[name][exam] = value


def _split(purpose: str) -> str:
    return _SPLITS.get(purpose, "")


def _key(iteration: NDArray[Any], question: NDArray[Any]) -> Ints:
    key: Ints = iteration.astype(np.int64) << 32 | question.astype(np.int64)
    return key
