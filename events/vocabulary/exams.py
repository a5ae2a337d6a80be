"""An exam, which has a log of its own."""

from __future__ import annotations

from typing import ClassVar

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


class BaselineStarted(Event, frozen=True, kw_only=True, tag="baseline.started"):
    """A run that learns nothing: the held-out questions are answered by a way of prompting, to be compared with.

    `shots` are the evolution questions whose worked solutions stand in every prompt, in order; `samples` votes are
    counted, `rounds` revisions made; `oracle_stop` says that the gold answer decided when to stop revising.
    """

    baseline: str
    samples: int
    rounds: int
    shots: tuple[str, ...]
    oracle_stop: bool

    stream: ClassVar[str] = "baseline/{0.baseline}"
