"""Which anchors an iteration measured, and which only keep an older verdict.

Rules
    - An anchor that was asked was measured. So was one whose prompt is what it was when last asked, since the same
      request has the same answer (agents/learner.py): its verdict is carried, and it was not even planned.
    - One that was planned and then carried was not: the guard had seen enough of the others (rules/snapshot.py). The
      verdict that it keeps for the guard says nothing of this state, so no result of an iteration counts it.
"""

from collections.abc import Mapping

import numpy as np

from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import AnswerCarried, QuestionPlanned
from mage_es.projections.fold import State
from mage_es.projections.scores import Score

Unmeasured = Mapping[int, Mapping[str, bool]]
"""By iteration the anchors that it did not measure, with the older verdicts that they keep."""

_READS: Reads = {
    AnswerCarried: ("iteration", "question_id", "correct"),
    QuestionPlanned: ("iteration", "question_id", "purpose"),
}


def unmeasured(reader: LogReader, *, until: int | None = None) -> Unmeasured:
    """Return the anchors that were not measured, up to event `until`. Raises `LogDamaged`."""
    planned, carried = set[tuple[int, str]](), list[tuple[int, str, bool]]()
    for batches in reader.batches(_READS, until=until):
        if plans := batches.get(QuestionPlanned):
            purposes = plans.columns.grouped("purpose")
            anchors = [place for place, (purpose,) in enumerate(purposes.keys) if purpose == "anchor"]
            rows = np.flatnonzero(np.isin(purposes.of, anchors))
            planned.update(
                zip(*(plans.columns.column(name).at(rows) for name in _READS[QuestionPlanned][:2]), strict=True)
            )
        if carries := batches.get(AnswerCarried):
            carried += zip(*(carries.columns[name] for name in _READS[AnswerCarried]), strict=True)
    found: dict[int, dict[str, bool]] = {}
    for iteration, name, is_right in carried:
        if (iteration, name) in planned:
            found.setdefault(iteration, {})[name] = is_right
    return found


def measured(state: State, older: Unmeasured, iteration: int) -> Mapping[str, bool]:
    """Return which anchors an iteration measured, and whether they were right."""
    kept = older.get(iteration, {})
    return {name: right for name, right in state.scores.anchor_answers(iteration).items() if name not in kept}


def score(state: State, older: Unmeasured, iteration: int) -> Score:
    """Return how many anchors were right of those that an iteration measured; an unanswered one is wrong."""
    kept, found = older.get(iteration, {}), state.scores.score("anchor", iteration)
    return Score(found.correct - sum(kept.values()), state.scores.asked("anchor", iteration) - len(kept))
