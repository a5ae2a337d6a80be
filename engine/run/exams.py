"""What a log says of an exam: that of a run, or that of a baseline, which is nothing but an exam."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from mage_es.engine.run.frames import frames
from mage_es.engine.run.world import baseline_of
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import (
    MICRO,
    AnswerJudged,
    AnswerUnanswered,
    EpisodeClosed,
    Event,
    ExamClosed,
    ExamStarted,
    ModelCalled,
)
from mage_es.projections.fold import fold_into
from mage_es.projections.ledger import Ledger

RULE = "rule"
"""The judge of an answer that the rule decided."""
ANSWERED = (
    *("iteration", "purpose", "question_id", "task_type", "score_micro", "correct", "strict", "judge", "reason"),
    "undecided",
)
LOST = ("iteration", "purpose", "question_id", "task_type", "problem")
PLAYED = ("iteration", "purpose", "episode_id", "steps", "score_micro", "achievements", "unparsed")
"""The fields of answers, of questions left without one, and of episodes that reports use."""

_READS: Reads = {
    AnswerJudged: ANSWERED,
    AnswerUnanswered: LOST,
    EpisodeClosed: PLAYED,
    ModelCalled: ("tier", "about", "latency_us"),
    ExamClosed: ("total",),
}


class RecordedExam(NamedTuple):
    """An exam as its log tells it.

    `marker` is the one that was asked for, `head_seq` its place in the run's log. `answers` has a row for each question
    that was asked (see `asked`), `episodes` one for each episode. `seconds` is the mean time of the execution model for
    a question, all its calls added up.
    """

    name: str
    marker: str
    control: str
    head_seq: int
    closed: bool
    answers: pl.DataFrame
    episodes: pl.DataFrame
    ledger: Ledger
    seconds: float


def read_exam(reader: LogReader, name: str = "") -> RecordedExam:
    """Return the exam in a log. Raises `LogDamaged`."""
    found = frames(reader, _READS)
    marker, control, head_seq = "", "", 0  # of an exam that ended before its first event
    if baseline_of(reader):
        marker, control, head_seq = "latest", "none", reader.head.seq
    elif started := next(reader.of(ExamStarted), None):
        marker, control, head_seq = started.marker, started.control, started.head_seq
    answers = asked(found).filter(purpose="exam")
    return RecordedExam(
        name=name,
        marker=marker,
        control=control,
        head_seq=head_seq,
        closed=not found[ExamClosed].is_empty(),
        answers=answers,
        episodes=found[EpisodeClosed],
        ledger=ledger_of(reader),
        seconds=_seconds(found[ModelCalled], answers["question_id"]),
    )


def asked(found: Mapping[type[Event], pl.DataFrame]) -> pl.DataFrame:
    """Return every question that was put to the model, with its `score` in [0, 1] and the `problem` of a lost call.

    A question without an answer was asked all the same: it counts as wrong, with the `problem` as the reason, which is
    "" for every other. So is a wrong answer whose reply was cut, refused or empty. The number of rows is the
    denominator of every accuracy.
    """
    judged = found[AnswerJudged].with_columns(problem=pl.when(pl.col("correct")).then(pl.lit("")).otherwise("reason"))
    wrong = {"score_micro": 0, "correct": False, "strict": False, "judge": RULE, "reason": "", "undecided": ""}
    types = {name: judged.schema[name] for name in wrong}
    lost = found[AnswerUnanswered].with_columns(
        pl.lit(value).cast(types[name]).alias(name) for name, value in wrong.items()
    )
    rows = pl.concat([judged, lost.select(judged.columns)]).sort("seq", maintain_order=True)
    return rows.with_columns(score=pl.col("score_micro") / MICRO)


def reasons(answers: pl.DataFrame, column: str = "problem") -> dict[str, int]:
    """Return how many questions were left without an answer, by the kind of the fault (engine/seams/faults.py).

    Of the column `undecided` how many were left without a verdict, by the kind of the reason.
    """
    problems = answers.filter(pl.col(column) != "")[column]
    return dict(sorted(Counter(problem.partition(":")[0] for problem in problems).items()))


def interval(right: int, asked: int, *, level: float = 0.95) -> tuple[float, float] | None:
    """Return the Wilson score interval of a share of right answers, both ends in [0, 1]; None if none was asked."""
    from scipy.stats import binomtest  # slow to load

    if not asked:
        return None
    low, high = binomtest(right, asked).proportion_ci(level, method="wilson")
    return float(low), float(high)


def ledger_of(reader: LogReader) -> Ledger:
    """Return every call of a log, and every failed attempt, by account."""
    ledger = Ledger()
    fold_into((ledger,), reader, until=reader.head.seq)
    return ledger


def _seconds(calls: pl.DataFrame, questions: pl.Series) -> float:
    if questions.is_empty():
        return 0.0
    # One of several calls is about `question/part`; a question's id may have slashes of its own.
    about, names = pl.col("about"), questions.implode()
    is_asked = about.is_in(names) | about.str.replace(r"/[^/]*$", "").is_in(names)
    return int(calls.filter(is_asked, tier="execution")["latency_us"].sum()) / 1e6 / len(questions)
