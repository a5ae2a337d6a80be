"""The checks of projections pass for every built-in one, and each finds the projection that breaks its rule."""

from collections.abc import Callable
from random import Random
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.events.digests import digest
from mage_es.events.segments import Columns
from mage_es.events.vocabulary import AnswerJudged, Event, MemoryAppended, MemoryQuarantined
from mage_es.projections.fold import State
from mage_es.projections.memory import Memory
from mage_es.projections.patterns import Patterns
from mage_es.projections.protocol import Columnar, Projection, Reads
from tests.kit.invariants import check_growth, check_projection
from tests.kit.stages import Stage, flat
from tests.kit.strategies import histories, history


@pytest.mark.parametrize("view", State().projections(), ids=lambda view: view.name)
@settings(deadline=None, max_examples=15)
@given(stages=histories(most_iterations=3), random=st.randoms(use_true_random=False))
def test_every_projection_keeps_every_rule(view: Projection, stages: list[Stage], random: Random) -> None:
    check_projection(type(view), stages, random)


def test_these_are_the_projections_that_take_columns() -> None:
    columnar = {view.name for view in State().projections() if isinstance(view, Columnar)}
    assert columnar == {"bandits", "ledger", "memory", "questions", "scores", "traffic"}


@settings(deadline=None, max_examples=15)
@given(histories(most_iterations=3))
def test_memories_and_patterns_only_grow(stages: list[Stage]) -> None:
    check_growth(Memory, flat(stages), ids=lambda memory: [row.memory_id for row in memory.rows()])
    check_growth(Patterns, flat(stages), ids=lambda view: [row.memory_id for row in view.patterns()])


class Right:
    """How many answers of each type were right: a sound projection, which the others break in one place."""

    name: ClassVar[str] = "right"
    reads: ClassVar[Reads] = {AnswerJudged: ("question_id", "task_type", "correct")}
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({AnswerJudged})
    order: ClassVar[Literal["global", "by_type"]] = "by_type"

    def __init__(self) -> None:
        self.right: dict[str, int] = {}

    def apply(self, event: Event) -> None:
        if not isinstance(event, AnswerJudged):
            raise TypeError(type(event).__name__)
        self.count(event.task_type, correct=event.correct)

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        for task_type, correct in zip(columns["task_type"], columns["correct"], strict=True):
            self.count(task_type, correct=correct)

    def count(self, task_type: str, *, correct: bool) -> None:
        self.right[task_type] = self.right.get(task_type, 0) + correct

    def digest(self) -> str:
        return digest(self.right)

    def dump(self) -> Any:
        return self.right

    def load(self, dumped: Any) -> None:
        self.right = dict(dumped)


class LastOneCounts(Right):
    """Depends on which answer of a phase came last."""

    def apply(self, event: Event) -> None:
        super().apply(event)
        assert isinstance(event, AnswerJudged)
        self.right["last"] = sum(map(ord, event.question_id))

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        super().apply_columns(cls, columns)
        self.right["last"] = sum(map(ord, columns["question_id"][-1]))


class Curious(Right):
    """Looks at a field that it does not declare."""

    def apply(self, event: Event) -> None:
        assert isinstance(event, AnswerJudged)
        self.count(event.task_type, correct=event.judge == "rule")


class Counting(Right):
    """Counts the stretches in which it was given columns."""

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        super().apply_columns(cls, columns)
        self.right["stretches"] = self.right.get("stretches", 0) + 1


class Forgetful(Right):
    """Dumps only a part of its state."""

    def dump(self) -> Any:
        return {name: count for name, count in self.right.items() if name != "rate"}


class Adding(Right):
    """Adds what it loads to what is there."""

    def load(self, dumped: Any) -> None:
        self.right |= {name: count + self.right.get(name, 0) for name, count in dumped.items()}


class Swallowing(Right):
    """Passes over events that it does not read."""

    def apply(self, event: Event) -> None:
        if isinstance(event, AnswerJudged):
            super().apply(event)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (LastOneCounts, "answers in another order"),
        (Curious, "with its declared fields alone"),
        (Counting, "folded in stretches"),
        (Forgetful, "dumped and loaded"),
        (Adding, "dumped and loaded"),
        (Swallowing, "accepts a RunResumed"),
    ],
)
def test_a_projection_that_breaks_a_rule_is_found(broken: Callable[[], Right], said: str) -> None:
    found = []
    for seed in range(20):
        stages = history(seed=seed, iterations=2, questions=4)
        check_projection(Right, stages, Random(seed))
        try:
            check_projection(broken, stages, Random(seed))
        except AssertionError as error:
            found.append(str(error))
    assert found and all(said in problem for problem in found)


class Hiding(Memory):
    """Loses what is taken out of use."""

    def apply(self, event: Event) -> None:
        super().apply(event)
        if isinstance(event, MemoryQuarantined):
            part = self._known(event.memory_id)
            del part.rows[event.memory_id], part.sorts[event.memory_id]


def test_a_view_that_loses_what_is_in_quarantine_is_found() -> None:
    events = flat(history(seed=3, iterations=3, questions=3))
    one = next(event for event in events if isinstance(event, MemoryAppended))
    events = [one, MemoryQuarantined(memory_id=one.memory_id, reason="", by="user")]
    with pytest.raises(AssertionError, match="MemoryQuarantined removes"):
        check_growth(Hiding, events, ids=lambda memory: [row.memory_id for row in memory.rows()])
