"""What a log says of an exam: that of a run, or that of a baseline, which is nothing but an exam."""

from __future__ import annotations

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
    ExamClosed,
    ExamStarted,
    ModelCalled,
)
from mage_es.projections.fold import fold_into
from mage_es.projections.ledger import Ledger

ANSWERED = ("iteration", "purpose", "question_id", "task_type", "score_micro", "correct", "strict", "judge")
PLAYED = ("iteration", "purpose", "episode_id", "steps", "score_micro", "achievements", "unparsed")
"""The fields of answers and of episodes that reports use."""

_READS: Reads = {
    AnswerJudged: ANSWERED,
    AnswerUnanswered: ("question_id",),
    EpisodeClosed: PLAYED,
    ModelCalled: ("tier", "about", "latency_us"),
    ExamClosed: ("total",),
}


class RecordedExam(NamedTuple):
    """An exam as its log tells it.

    `marker` is the one that was asked for, `head_seq` its place in the run's log. `answers` and `episodes` have a row
    for each, `answers` with the `score` in [0, 1]. `seconds` is the mean time of the execution model for a question,
    all its calls added up.
    """

    name: str
    marker: str
    control: str
    head_seq: int
    closed: bool
    answers: pl.DataFrame
    unanswered: int
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
    answers = with_scores(found[AnswerJudged]).filter(purpose="exam")
    return RecordedExam(
        name=name,
        marker=marker,
        control=control,
        head_seq=head_seq,
        closed=not found[ExamClosed].is_empty(),
        answers=answers,
        unanswered=found[AnswerUnanswered].height,
        episodes=found[EpisodeClosed],
        ledger=ledger_of(reader),
        seconds=_seconds(found[ModelCalled], answers["question_id"]),
    )


def with_scores(answers: pl.DataFrame) -> pl.DataFrame:
    return answers.with_columns(score=pl.col("score_micro") / MICRO)


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
