"""The history of each evolution question: how often asked, how it went last, in which epochs it was fresh.

Rules
    - Only fresh questions and revisits count; anchors and exam questions have no history here.
    - Of two verdicts the later iteration's stands; within one iteration a wrong answer outweighs a right one,
      whatever came first.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from mage_es.events.batches import Columns
from mage_es.events.digests import digest
from mage_es.events.vocabulary import AnswerJudged, Event, IterationPlanned
from mage_es.projections.protocol import Reads

EVOLVING: frozenset[str] = frozenset({"fresh", "revisit"})
"""The purposes of questions from which something may be learned."""


class History(NamedTuple):
    """One question: answers judged so far, the last verdict, the iteration of that verdict."""

    attempts: int
    correct: bool
    iteration: int


class Questions:
    """All evolution questions that were planned or answered."""

    name: ClassVar[str] = "questions"
    reads: ClassVar[Reads] = {
        IterationPlanned: ("epoch", "fresh"),
        AnswerJudged: ("iteration", "purpose", "question_id", "correct"),
    }
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({AnswerJudged})
    order: ClassVar[Literal["global", "by_type"]] = "by_type"
    slot: ClassVar[Literal["mutable", "protected"]] = "protected"

    def __init__(self) -> None:
        self._histories: dict[str, History] = {}
        self._fresh: dict[int, Counter[str]] = {}
        self._open: set[str] = set()
        self._known: dict[tuple[int, bool, int], History] = {}

    def apply(self, event: Event) -> None:
        """Note a plan's fresh questions, or a verdict."""
        match event:
            case AnswerJudged():
                if event.purpose in EVOLVING:
                    self._judge(event.question_id, iteration=event.iteration, correct=event.correct)
            case IterationPlanned():
                self._fresh.setdefault(event.epoch, Counter()).update(event.fresh)
            case _:
                raise TypeError(f"the questions do not read {type(event).__name__}; they read {list(self.reads)}")

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        """Note many verdicts."""
        verdicts = columns.grouped("purpose", "iteration", "correct")
        first = [
            self._shared(1, correct, iteration) if purpose in EVOLVING else None
            for purpose, iteration, correct in verdicts.keys
        ]
        for question_id, number in zip(columns["question_id"], verdicts.of.tolist(), strict=True):
            history = first[number]
            if history is None:
                continue
            if question_id in self._histories:
                self._judge(question_id, iteration=history.iteration, correct=history.correct)
            else:
                self._histories[question_id] = history
                if not history.correct:
                    self._open.add(question_id)

    def history(self, question_id: str) -> History | None:
        """Return what happened to a question so far, None if it was never answered."""
        return self._histories.get(question_id)

    def open_failures(self) -> list[str]:
        """Return the questions whose last verdict is wrong, in lexicographic order."""
        return sorted(self._open)

    def times_fresh(self) -> Counter[str]:
        """Return how often each question was planned as a fresh one so far."""
        return sum(self._fresh.values(), Counter())

    def digest(self) -> str:
        """Return the digest of all histories and plans."""
        return digest([self._histories, sorted(self._fresh.items())])

    def dump(self) -> Any:
        """Return the questions, the different histories, which one each question has, and fresh ones by epoch."""
        numbers = {history: number for number, history in enumerate(dict.fromkeys(self._histories.values()))}
        return [
            list(self._histories),
            list(numbers),
            list(map(numbers.__getitem__, self._histories.values())),
            self._fresh,
        ]

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        question_ids, different, numbers, fresh = dumped
        histories = msgspec.convert(different, list[History])
        self._known = {history: history for history in histories}
        self._histories = dict(zip(question_ids, map(histories.__getitem__, numbers), strict=True))
        self._fresh = {epoch: Counter(asked) for epoch, asked in fresh.items()}
        self._open = {question_id for question_id, history in self._histories.items() if not history.correct}

    def _judge(self, question_id: str, *, iteration: int, correct: bool) -> None:
        attempts, last_correct, last = self._histories.get(question_id) or (0, True, iteration)
        if iteration > last:
            last, last_correct = iteration, correct
        elif iteration == last:
            last_correct = last_correct and correct
        self._histories[question_id] = self._shared(attempts + 1, last_correct, last)
        if last_correct:
            self._open.discard(question_id)
        else:
            self._open.add(question_id)

    def _shared(self, attempts: int, correct: bool, iteration: int) -> History:
        """Return the history with these values; most questions have one that others have, too."""
        values = (attempts, correct, iteration)
        history = self._known.get(values)
        if history is None:
            history = self._known[values] = History(*values)
        return history
