"""The history of each evolution question: how often it was asked, its last result, and the epochs in which it was
fresh.

Rules
    - A wrong answer is kept until the question is answered correctly. If the teacher doubts a question's right answer,
      the question is not an open failure: missing it teaches nothing.
    - Only fresh questions and revisits count; anchors and exam questions have no history here.
    - Of two verdicts, the one from the later iteration counts; within one iteration a wrong answer outweighs a right
      one.
"""

from collections import Counter
from typing import Any, ClassVar, NamedTuple

import msgspec

from mage_es.events.digests import digest
from mage_es.events.facts.private import beginning, recorded
from mage_es.events.segments import Columns, Reads
from mage_es.events.vocabulary import ActionTaken, AnswerJudged, Event, IterationPlanned
from mage_es.projections.protocol import Order, unread

EVOLVING: frozenset[str] = frozenset({"fresh", "revisit"})
"""The purposes of questions from which something may be learned."""
_LONGEST = 1000  # characters of a wrong answer that are kept


class History(NamedTuple):
    """One question: how many answers were judged, the last verdict, and the iteration of that verdict."""

    attempts: int
    correct: bool
    iteration: int


class Questions:
    name: ClassVar[str] = "questions"
    reads: ClassVar[Reads] = {
        IterationPlanned: ("epoch", "fresh"),
        AnswerJudged: ("iteration", "purpose", "question_id", "correct", "answer"),
        ActionTaken: ("doubtful",),
    }
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({AnswerJudged})
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        self._histories: dict[str, History] = {}
        self._fresh: dict[int, Counter[str]] = {}
        # Wrong answers of open failures, kept beside the histories because every PLAN asks for them.
        self._open: dict[str, str] = {}
        self.doubtful: set[str] = set()
        # There are many questions but few different histories: each is kept once and shared.
        self._known: dict[tuple[int, bool, int], History] = {}

    def apply(self, event: Event) -> None:
        match event:
            case AnswerJudged():
                # The verdict on an anchor or an exam's question must not make evolution ask that question again.
                if event.purpose in EVOLVING:
                    self._judge(event.question_id, event.answer, iteration=event.iteration, correct=event.correct)
            case ActionTaken():
                self.doubtful.update(event.doubtful)
            case IterationPlanned():
                self._fresh.setdefault(event.epoch, Counter()).update(event.fresh)
            case _:
                raise unread(self, event)

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        # Most questions of a stretch are asked once, so their first history depends only on three columns.
        verdicts = columns.grouped("purpose", "iteration", "correct")
        first = [
            self._shared(1, correct, iteration) if purpose in EVOLVING else None
            for purpose, iteration, correct in verdicts.keys
        ]
        for question_id, answer, number in zip(
            columns["question_id"], columns["answer"], verdicts.of.tolist(), strict=True
        ):
            history = first[number]
            if history is None:
                continue
            if question_id in self._histories:
                self._judge(question_id, answer, iteration=history.iteration, correct=history.correct)
            else:
                self._histories[question_id] = history
                if not history.correct:
                    self._open[question_id] = beginning(answer, _LONGEST)

    def history(self, question_id: str) -> History | None:
        return self._histories.get(question_id)

    def open_failures(self) -> list[str]:
        return sorted(self._open.keys() - self.doubtful)

    def wrong_answer(self, question_id: str) -> str:
        """Return the last answer to an open failure, or ""."""
        return self._open.get(question_id, "")[:_LONGEST]

    def times_fresh(self) -> Counter[str]:
        return sum(self._fresh.values(), Counter())

    def digest(self) -> str:
        return digest([self._histories, sorted(self._fresh.items()), sorted(self._open.items()), sorted(self.doubtful)])

    def dump(self) -> Any:
        """Return the questions, the distinct histories and which one each question has; then what is dumped as it
        is."""
        # Compact: each question id once, and a small number for its history.
        numbers = {history: number for number, history in enumerate(dict.fromkeys(self._histories.values()))}
        return [
            list(self._histories),
            list(numbers),
            list(map(numbers.__getitem__, self._histories.values())),
            self._fresh,
            self._open,
            sorted(self.doubtful),
        ]

    def load(self, dumped: Any) -> None:
        question_ids, different, numbers, fresh, self._open, doubtful = dumped
        histories = msgspec.convert(different, list[History])
        self._known = {history: history for history in histories}
        self._histories = dict(zip(question_ids, map(histories.__getitem__, numbers), strict=True))
        self._fresh = {epoch: Counter(asked) for epoch, asked in fresh.items()}
        self.doubtful = set(doubtful)

    def _judge(self, question_id: str, answer: str, *, iteration: int, correct: bool) -> None:
        attempts, last_correct, last = self._histories.get(question_id) or (0, True, iteration)
        # The order of arrival does not count: a fold by type may bring the verdicts of two iterations in any order.
        known = "" if iteration > last else self._open.get(question_id, "")
        if iteration > last:
            last, last_correct = iteration, correct
        elif iteration == last:
            last_correct = last_correct and correct
        self._histories[question_id] = self._shared(attempts + 1, last_correct, last)
        if last_correct:
            self._open.pop(question_id, None)
        elif iteration == last:
            # Of two wrong answers in one iteration either will do, as long as the choice does not depend on the order.
            self._open[question_id] = known if correct else max(known, beginning(answer, _LONGEST), key=recorded)

    def _shared(self, attempts: int, correct: bool, iteration: int) -> History:
        values = (attempts, correct, iteration)
        history = self._known.get(values)
        if history is None:
            history = self._known[values] = History(*values)
        return history
