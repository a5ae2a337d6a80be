"""How well the questions of a phase are going: what was right and what it scored, for whoever watches a run."""

from __future__ import annotations

from collections.abc import Iterable

from mage_es.events.vocabulary import MICRO, AnswerJudged, Phase

ACCURACY, MEAN_SCORE = "accuracy", "mean score"
"""What is measured: the share of right answers, or the mean score of episodes, which are seldom all or nothing."""


def measure_of(*, are_episodes: bool) -> str:
    """Return what tells how well a benchmark's questions go."""
    return MEAN_SCORE if are_episodes else ACCURACY


class Standing:
    """The verdicts of one phase so far. Revisits are counted apart: they were wrong before, and so are no fair draw."""

    def __init__(self, phase: Phase, judged: Iterable[AnswerJudged] = ()) -> None:
        self.phase = phase
        self.judged = self.right = self.revisits = self.revisits_right = 0
        self._score_micro = 0
        for answer in judged:
            self.add(answer)

    def add(self, answer: AnswerJudged) -> None:
        """Count a verdict."""
        if answer.purpose == "revisit":
            self.revisits += 1
            self.revisits_right += answer.correct
        else:
            self.judged += 1
            self.right += answer.correct
            self._score_micro += answer.score_micro

    def level(self, measure: str) -> float | None:
        """Return the accuracy or the mean score, a fraction; None before the first verdict."""
        if not self.judged:
            return None
        return (self._score_micro / MICRO if measure == MEAN_SCORE else self.right) / self.judged
