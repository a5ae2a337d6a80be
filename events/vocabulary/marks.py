"""SNAPSHOT and the marks of a run: verdicts of the guard, rollbacks, phases, iterations, the end."""

from typing import ClassVar, Literal

from mage_es.events.facts.event import Event, Part, Phase

ServedPrompt = Literal["learned", "bare"]


class GuardDecided(Event, frozen=True, kw_only=True, tag="guard.decided"):
    """The delta-guard's verdict on the anchor set (with `guard = paper` on the fresh questions), and its reasons."""

    # Drops are fractions of those questions; p values are of the one-sided exact sign test, and 1 if the paper's guard
    # tests nothing.
    iteration: int
    verdict: Literal["accepted", "soft_rollback", "hard_rollback", "off"]
    """The decision; `off` if there is no guard."""
    correct: int
    """Questions answered right."""
    total: int
    """Number of questions."""
    against: int
    """Iteration that the result was compared with; -1 is the start."""
    drop: float
    """Drop against that iteration."""
    p_value: float
    """p value of that drop."""
    best: int
    """Iteration with the best result so far; -1 is the start."""
    best_drop: float
    """Drop against the best iteration."""
    best_p_value: float
    """p value of the drop against the best iteration."""
    # A guard that could not have noticed a large drop has not shown that there is none.
    smallest_drop: float
    """Smallest drop that the test could have noticed."""


class Paired(Part, frozen=True, kw_only=True):
    """Anchors of a task type that were answered with what was learned and with the bare prompt, and what is served."""

    task_type: str
    """Task type; empty for all together."""
    pairs: int
    """Anchors with both answers."""
    learned: int
    """Right with what was learned."""
    bare: int
    """Right with the bare prompt."""
    won: int
    """Right only with what was learned."""
    lost: int
    """Right only with the bare prompt."""
    served: ServedPrompt = "bare"
    """What its questions are asked with from here on, if nothing is to be learned from them."""
    is_own: bool = False
    """Whether its own record decided, rather than that of all types together."""


class BenefitDecided(Event, frozen=True, kw_only=True, tag="benefit.decided"):
    """Whether what was learned beats the bare prompt on the anchors. If that was not shown, the bare prompt is
    served."""

    # With the counts, so that a study can tell what another rule would have served.
    iteration: int
    records: tuple[Paired, ...]
    """By task type, sorted."""
    pooled: Paired
    """All types together, which also decides for a type without an anchor."""
    recalled: tuple[Paired, ...] = ()
    """Anchors whose answer with what was learned was recalled, by task type, sorted. They count in no other record;
    with `learned` served, questions are recalled even if their type is served the bare prompt."""
    stale: int
    """Anchors that would have seen something new but were not asked again: their last answer counts."""


class FormDecided(Event, frozen=True, kw_only=True, tag="form.decided"):
    """The form in which prompts show cases from here on: one that was tried on anchors, or the usual one."""

    iteration: int
    form: str
    """The form that was chosen: `turns` of the chat, `worked` (turns of reasoned cases alone), or plain `lines`."""
    rival: str
    """The form that was tried against `turns`."""
    pairs: int
    """Anchors that were answered in both forms."""
    turns: int
    """Right with turns."""
    tried: int
    """Right in the form that was tried."""
    won: int
    """Right only in the form that was tried."""
    lost: int
    """Right only with turns."""
    p_value: float
    """One-sided p of the exact sign test for the tried form being better."""


class SnapshotTaken(Event, frozen=True, kw_only=True, tag="snapshot.taken"):
    """A rollback to this iteration restores the mutable slots as of this event."""

    iteration: int


class SlotsRolledBack(Event, frozen=True, kw_only=True, tag="slots.rolled_back"):
    """The mutable slots are set back to the snapshot of `to_iteration`; this event changes nothing else."""

    iteration: int
    to_iteration: int
    """Iteration whose snapshot was restored; -1 is the start."""


class Digest(Part, frozen=True, kw_only=True):
    """The digest of one projection."""

    projection: str
    """Its name."""
    value: str
    """64 hexadecimal digits."""


class PhaseCompleted(Event, frozen=True, kw_only=True, tag="phase.completed"):
    """The marker `iter-K/PHASE`: all of the phase's events come before it."""

    stream: ClassVar[str] = "phase/{0.phase}"
    iteration: int
    phase: Phase


class IterationClosed(Event, frozen=True, kw_only=True, tag="iteration.closed"):
    """The marker `iter-K` (`start` for -1), with the digest of every projection just before this event."""

    # No projection with a digest reads it, so the digests also hold just after it.
    iteration: int
    digests: tuple[Digest, ...]


class RunResumed(Event, frozen=True, kw_only=True, tag="run.resumed"):
    """The run was continued. For information only: no projection that has a digest reads it."""

    package_version: str
    attempt: int
    """Number of this resumption, from 1."""


class BudgetSet(Event, frozen=True, kw_only=True, tag="budget.set"):
    """What the run may use in all sessions together, from here on; 0 for no limit. No projection that has a digest
    reads it."""

    max_usd_micro: int
    """Millionths of a dollar."""
    max_calls: int
    """Calls of every kind, including failed attempts."""
    max_iterations: int
    """Iterations after which the run pauses."""


class RunFinished(Event, frozen=True, kw_only=True, tag="run.finished"):
    """The run reached the end of its configuration, or had nothing left to learn."""

    iterations: int
