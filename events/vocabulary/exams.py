"""An exam, which has a log of its own."""

from __future__ import annotations

from typing import ClassVar

from mage_es.events.vocabulary.form import Event
from mage_es.events.vocabulary.marks import Digest


class ExamStarted(Event, frozen=True, kw_only=True, tag="exam.started"):
    """What is examined: the state of a run at a marker."""

    run_id: str
    marker: str
    """Marker that names the state."""
    head_seq: int
    """seq up to which the run's log was folded."""
    # A reader knows the chain at the log's head only; further back this is empty.
    head_chain: str
    """Chain value of the run's log that was examined."""
    control: str
    """Control condition of the exam; empty for none."""
    config: str
    digests: tuple[Digest, ...]


class ExamClosed(Event, frozen=True, kw_only=True, tag="exam.closed"):
    """The exam's result. `familiar` are the questions whose phrasing family also occurs in evolution."""

    correct: int
    """Questions answered right."""
    total: int
    """Number of questions, the unanswered ones included."""
    # Apart, so that gains on known phrasings cannot pass for generalisation.
    familiar_correct: int
    """Familiar questions answered right."""
    familiar_total: int
    """Number of familiar questions."""
    unanswered: int = 0
    """Questions whose call failed for good, so that there was no right answer."""


class BaselineStarted(Event, frozen=True, kw_only=True, tag="baseline.started"):
    """A run that learns nothing: one way of prompting answers the held-out questions, for comparison."""

    stream: ClassVar[str] = "baseline/{0.baseline}"
    baseline: str
    """Name of the way of prompting."""
    samples: int
    """Answers that were counted as votes."""
    rounds: int
    """How often an answer was revised."""
    shots: tuple[str, ...]
    """Ids of the evolution questions whose worked solutions are in every prompt, in order."""
    # Such a baseline sees the answers, so its result is an upper bound and has to say so.
    oracle_stop: bool
    """Whether the gold answer decided when to stop revising."""
