"""The questions beside the log: every text and every gold answer is the one that the run began with."""

from __future__ import annotations

from mage_es.engine.theorems.check import Check
from mage_es.events.care import QuestionsVerdict


def check_questions(verdict: QuestionsVerdict) -> Check:
    golds = f"{verdict.golds} gold answers" if verdict.golds else "this copy was made without their gold answers"
    detail = "; ".join(verdict.problems) or f"{verdict.questions} texts are those that the run began with; {golds}"
    measured = f"{len(verdict.problems)} files differ"
    ok = not verdict.problems
    return Check(name="questions", ok=ok, detail=detail, measured=measured, bound="0 differ", damaged=not ok)
