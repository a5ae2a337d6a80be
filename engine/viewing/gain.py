"""The gain that a page shows for a run: the exam of its newest state compared with that of its start, question by
question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mage_es.engine.run.exams import ExamRecord, by_question, is_own


class Gain(NamedTuple):
    """A gain in points, its 95 % interval and p, and the exams that it compares."""

    gain: float
    low: float
    high: float
    p: float | None
    exam: str
    exam_before: str


def pair_of(exams: Iterable[ExamRecord], learner: str) -> tuple[str, str] | None:
    """Return the exams of the start and of the newest state that the same models answered, among the run's own. A later
    exam of an earlier state is not a newer measure of the run. An incomplete one does not count."""
    whole = [exam for exam in exams if exam.closed and is_own(exam.opened, learner)]
    starts = {_who(exam): exam.opened.exam for exam in whole if exam.opened.marker == "start"}
    later = [exam for exam in whole if exam.opened.marker != "start" and _who(exam) in starts]
    if not later:
        return None
    newest = max(later, key=lambda exam: (exam.opened.head_seq, exam.seq))
    return starts[_who(newest)], newest.opened.exam


def gain_of(before: str, was: Mapping[str, bool], exam: str, now: Mapping[str, bool]) -> Gain | None:
    """Return the gain over the questions that both exams asked, None if there is none."""
    both = sorted(now.keys() & was.keys())
    if not both:
        return None
    differences = [float(now[name]) - float(was[name]) for name in both]
    found = by_question(differences)
    return Gain(100 * sum(differences) / len(both), found.low, found.high, found.p, exam, before)


def _who(exam: ExamRecord) -> tuple[str, str]:
    return exam.opened.execution, exam.opened.judge
