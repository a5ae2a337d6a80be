"""SNAPSHOT and the marks of a run: verdicts of the guard, rollbacks, phases, iterations, the end."""

from __future__ import annotations

from typing import ClassVar, Literal

from mage_es.events.vocabulary.form import Event, Part, Phase


class GuardDecided(Event, frozen=True, kw_only=True, tag="guard.decided"):
    """The delta-guard's verdict on the anchor set (with `guard = paper` on the fresh questions), and what is behind it.

    `verdict` is `accepted`, `soft_rollback`, `hard_rollback`, or `off`; the drops are fractions of those questions,
    p values those of the one-sided exact sign test (1 where the paper's guard tests nothing); `smallest_drop` is the
    least drop that could have been noticed. `against` and `best` are iterations (-1 is the start).
    """

    iteration: int
    verdict: Literal["accepted", "soft_rollback", "hard_rollback", "off"]
    correct: int
    total: int
    against: int
    drop: float
    p_value: float
    best: int
    best_drop: float
    best_p_value: float
    smallest_drop: float


class SnapshotTaken(Event, frozen=True, kw_only=True, tag="snapshot.taken"):
    """The mutable slots as they stand now are what a rollback to this iteration restores."""

    iteration: int


class SlotsRolledBack(Event, frozen=True, kw_only=True, tag="slots.rolled_back"):
    """The mutable slots are again what they were at the snapshot of `to_iteration`; nothing else changes."""

    iteration: int
    to_iteration: int


class Digest(Part, frozen=True, kw_only=True):
    """The digest of one projection."""

    projection: str
    value: str


class PhaseCompleted(Event, frozen=True, kw_only=True, tag="phase.completed"):
    """The marker `iter-K/PHASE`: all of the phase's events come before it."""

    iteration: int
    phase: Phase

    stream: ClassVar[str] = "phase/{0.phase}"


class IterationClosed(Event, frozen=True, kw_only=True, tag="iteration.closed"):
    """The marker `iter-K` (`start` for -1), with the digest of every projection just before this event.

    No projection reads it, so the digests also hold just after it.
    """

    iteration: int
    digests: tuple[Digest, ...]


class RunResumed(Event, frozen=True, kw_only=True, tag="run.resumed"):
    """Somebody continued this run; information only, read by no projection that has a digest."""

    package_version: str
    attempt: int


class RunFinished(Event, frozen=True, kw_only=True, tag="run.finished"):
    """The run reached the end of its configuration."""

    iterations: int
