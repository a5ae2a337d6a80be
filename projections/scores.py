"""Numbers of right answers by iteration, purpose and task type, and the anchor answers that the guard compares.

Rules
    - Fresh questions, revisits and anchors are separate series and are never added up.
    - If a call failed permanently, its question has no answer but was still asked, and reports count it as wrong.
      Learning ignores it: it is not evidence about a skill, and the guard would take it for a decline. So it is counted
      separately, and `asked` includes it.
    - An undecided answer is neither right nor wrong: it is counted separately, and enters no total.
    - At the start (iteration -1) anchors are asked with the bare prompt, since nothing was learned. A run that begins
      with what another one learned also asks its anchors with the bare prompt once, under a separate purpose.
    - Which snapshots were accepted comes from the guard's verdicts; nothing is compared here.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from mage_es.events import vocabulary as v
from mage_es.events.digests import digest
from mage_es.events.segments import Columns, Reads
from mage_es.projections.protocol import Order, unread

START = -1
"""The iteration in which a run that begins with nothing answers its anchors."""


class Score(NamedTuple):
    correct: int
    total: int


class LastAsked(NamedTuple):
    """When an anchor was last asked, a hash of what it could see then, its verdict, and whether it was recalled."""

    iteration: int
    seen: str
    correct: bool
    recalled: bool


class Scores:
    name: ClassVar[str] = "scores"
    reads: ClassVar[Reads] = {
        v.AnswerJudged: ("purpose", "iteration", "task_type", "question_id", "correct", "seen", "recalled"),
        v.AnswerCarried: ("iteration", "task_type", "question_id", "correct"),
        v.AnswerUnanswered: ("purpose", "iteration"),
        v.AnswerUndecided: ("purpose", "iteration"),
        v.GuardDecided: ("iteration", "verdict"),
    }
    columnar: ClassVar[frozenset[type[v.Event]]] = frozenset({v.AnswerJudged})
    dumped: ClassVar[Any] = tuple[
        dict[str, dict[int, dict[str, list[int]]]],
        dict[int, dict[str, bool]],
        dict[str, LastAsked],
        dict[int, str],
        dict[str, bool],
        dict[str, tuple[int, str]],
        dict[str, dict[int, int]],
        dict[str, dict[int, int]],
    ]
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        # purpose -> iteration -> task type -> [correct, total]: every query gives the purpose.
        self._counts: dict[str, dict[int, dict[str, list[int]]]] = {}
        self._anchors: dict[int, dict[str, bool]] = {}
        self._last: dict[str, LastAsked] = {}
        self._bare: dict[str, bool] = {}
        self._types: dict[str, tuple[int, str]] = {}
        self._verdicts: dict[int, str] = {}
        self._unanswered: dict[str, dict[int, int]] = {}
        self._undecided: dict[str, dict[int, int]] = {}

    def apply(self, event: v.Event) -> None:
        match event:
            case v.AnswerJudged():
                self._add(event.purpose, event.iteration, event.task_type, event.correct, 1)
                # The paired guard compares answers question by question, so sums are not enough for anchors.
                if event.purpose == "anchor":
                    asked = LastAsked(event.iteration, event.seen, event.correct, event.recalled)
                    self._note_anchor(event.question_id, event.task_type, asked)
                elif event.purpose == "bare":
                    self._bare[event.question_id] = event.correct
            case v.AnswerCarried():
                self._note_type(event.iteration, event.question_id, event.task_type)
                self._add("anchor", event.iteration, event.task_type, event.correct, 1)
                self._anchors.setdefault(event.iteration, {})[event.question_id] = event.correct
            case v.AnswerUnanswered():
                # Not a wrong answer, or a provider's outage would look like the learner getting worse, and roll it
                # back.
                _count(self._unanswered, event)
            case v.AnswerUndecided():
                _count(self._undecided, event)
            case v.GuardDecided():
                self._verdicts[event.iteration] = event.verdict
            case _:
                raise unread(self, event)

    def apply_columns(self, cls: type[v.Event], columns: Columns) -> None:
        series = columns.grouped("purpose", "iteration", "task_type")
        found = zip(series.keys, series.sums(columns.column("correct")), series.counts(), strict=True)
        for (purpose, iteration, task_type), correct, total in found:
            self._add(purpose, iteration, task_type, correct, total)

        # Anchors are few among all answers, so only their rows are looked at one by one.
        def rows_of(sought: v.Purpose, *names: str) -> Iterable[tuple[Any, ...]]:
            places = [number for number, (purpose, _, _) in enumerate(series.keys) if purpose == sought]
            rows = np.flatnonzero(np.isin(series.of, places))
            return zip(*(columns.column(name).at(rows) for name in names), strict=True)

        for name, task_type, *answer in rows_of("anchor", "question_id", "task_type", *LastAsked._fields):
            self._note_anchor(name, task_type, LastAsked(*answer))
        self._bare.update(rows_of("bare", "question_id", "correct"))

    def score(self, purpose: v.Purpose, iteration: int) -> Score:
        types = self.by_task_type(purpose, iteration).values()
        return Score(sum(score.correct for score in types), sum(score.total for score in types))

    def asked(self, purpose: v.Purpose, iteration: int) -> int:
        return self.score(purpose, iteration).total + self.unanswered(purpose, iteration)

    def unanswered(self, purpose: v.Purpose, iteration: int) -> int:
        return self._unanswered.get(purpose, {}).get(iteration, 0)

    def undecided(self, purpose: v.Purpose, iteration: int) -> int:
        return self._undecided.get(purpose, {}).get(iteration, 0)

    def by_task_type(self, purpose: v.Purpose, iteration: int) -> Mapping[str, Score]:
        types = self._counts.get(purpose, {}).get(iteration, {})
        return {task_type: Score(*types[task_type]) for task_type in sorted(types)}

    def between(self, purpose: v.Purpose, task_type: str, *, first: int, last: int) -> Score:
        """Return the score of one series and task type over the iterations `first` to `last`, both included."""
        by_iteration, correct, total = self._counts.get(purpose, {}), 0, 0
        for iteration in range(first, last + 1):
            counted = by_iteration.get(iteration, {}).get(task_type)
            if counted:
                correct, total = correct + counted[0], total + counted[1]
        return Score(correct, total)

    def anchor_answers(self, iteration: int) -> Mapping[str, bool]:
        return self._anchors.get(iteration, {})

    def anchors(self) -> Iterable[str]:
        """Return the ids of the anchors that were ever asked."""
        return self._last.keys()

    def last_asked(self, question_id: str) -> LastAsked | None:
        """Return the iteration in which an anchor was last asked rather than carried."""
        return self._last.get(question_id)

    def bare_answers(self) -> Mapping[str, bool]:
        """Return the verdict of each anchor on its answer to the bare prompt, in id order."""
        return {name: self._bare[name] for name in sorted(self._bare)}

    def anchor_type(self, question_id: str) -> str:
        """Return the task type that an anchor had when it was last asked or carried."""
        return self._types[question_id][1]

    def verdict(self, iteration: int) -> str:
        return self._verdicts.get(iteration, "")

    def accepted(self) -> list[int]:
        """Return the iterations whose snapshot the guard accepted, oldest first; -1 is the start."""
        return sorted(k for k, verdict in self._verdicts.items() if verdict == "accepted")

    def digest(self) -> str:
        counts = {purpose: sorted(by_iteration.items()) for purpose, by_iteration in self._counts.items()}
        unanswered, undecided = (
            {purpose: sorted(by_iteration.items()) for purpose, by_iteration in apart.items()}
            for apart in (self._unanswered, self._undecided)
        )
        anchors = (self._anchors, self._last, self._verdicts, self._bare, self._types)
        return digest([counts, *(sorted(each.items()) for each in anchors), unanswered, undecided])

    def dump(self) -> Any:
        anchors = [self._anchors, self._last, self._verdicts, self._bare, self._types]
        return [self._counts, *anchors, self._unanswered, self._undecided]

    def load(self, dumped: Any) -> None:
        typed = dumped if isinstance(dumped, tuple) else msgspec.convert(dumped, self.dumped)
        self._counts, self._anchors, self._last, self._verdicts, self._bare, self._types, *apart = typed
        self._unanswered, self._undecided = apart

    def _note_type(self, iteration: int, question_id: str, task_type: str) -> None:
        self._types[question_id] = max((iteration, task_type), self._types.get(question_id, (iteration, task_type)))

    def _note_anchor(self, question_id: str, task_type: str, asked: LastAsked) -> None:
        self._note_type(asked.iteration, question_id, task_type)
        if asked.iteration == START:
            self._bare[question_id] = asked.correct
        self._anchors.setdefault(asked.iteration, {})[question_id] = asked.correct
        # By iteration: a fold by type may bring answers in another order.
        self._last[question_id] = max(asked, self._last.get(question_id, asked))

    def _add(self, purpose: str, iteration: int, task_type: str, correct: int, total: int) -> None:
        # The entry nearly always exists, so three lookups with a default would cost more than a rare exception.
        try:
            score = self._counts[purpose][iteration][task_type]
        except KeyError:
            score = self._counts.setdefault(purpose, {}).setdefault(iteration, {})[task_type] = [0, 0]
        score[0] += correct
        score[1] += total


def _count(apart: dict[str, dict[int, int]], event: v.AnswerUnanswered | v.AnswerUndecided) -> None:
    by_iteration = apart.setdefault(event.purpose, {})
    by_iteration[event.iteration] = by_iteration.get(event.iteration, 0) + 1
