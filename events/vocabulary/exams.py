"""An exam, which has a log of its own."""

from __future__ import annotations

from mage_es.events.vocabulary.form import Event
from mage_es.events.vocabulary.marks import Digest


class ExamStarted(Event, frozen=True, kw_only=True, tag="exam.started"):
    """What is examined: a run, the marker, the head of its log and the digests of the state that was folded."""

    run_id: str
    marker: str
    head_seq: int
    head_chain: str
    control: str
    config: str
    digests: tuple[Digest, ...]


class ExamClosed(Event, frozen=True, kw_only=True, tag="exam.closed"):
    """The exam's result; `familiar` counts the questions whose phrasing family also occurs in evolution.

    `total` leaves out what is `unanswered`.
    """

    correct: int
    total: int
    familiar_correct: int
    familiar_total: int
    unanswered: int = 0
