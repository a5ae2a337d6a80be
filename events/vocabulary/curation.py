"""What becomes of memories after their making: quarantine and release, and the life of abstracted patterns."""

from __future__ import annotations

from typing import ClassVar

from mage_es.events.vocabulary.form import Event, Phase


class MemoryQuarantined(Event, frozen=True, kw_only=True, tag="memory.quarantined"):
    """A memory is kept out of every prompt from here on; it stays stored. `by` is who decided."""

    memory_id: str
    reason: str
    by: str

    stream: ClassVar[str] = "memory/{0.memory_id}"


class MemoryReleased(Event, frozen=True, kw_only=True, tag="memory.released"):
    """A quarantined memory may be retrieved again (unless a newer one took its place)."""

    memory_id: str
    reason: str
    by: str

    stream: ClassVar[str] = "memory/{0.memory_id}"


class PatternAbstracted(Event, frozen=True, kw_only=True, tag="pattern.abstracted"):
    """A pattern seen in trajectories: an experience node with outcome `abstracted_pattern`.

    `confidence_micro` is (successes + 1) / (successes + failures + 2) over the trajectories that show it, in
    millionths.
    """

    memory_id: str
    task_type: str
    skill: str
    text: str
    successes: int
    failures: int
    confidence_micro: int
    derived_from: str
    iteration: int
    phase: Phase
    ordinal: int

    stream: ClassVar[str] = "memory/{0.memory_id}"


class PatternSupported(Event, frozen=True, kw_only=True, tag="pattern.supported"):
    """More trajectories showed a pattern: totals and confidence after."""

    memory_id: str
    successes: int
    failures: int
    confidence_micro: int

    stream: ClassVar[str] = "memory/{0.memory_id}"


class PatternPruned(Event, frozen=True, kw_only=True, tag="pattern.pruned"):
    """A pattern whose confidence fell below the threshold left the graph; only patterns can be pruned."""

    memory_id: str
    confidence_micro: int
    reason: str

    stream: ClassVar[str] = "memory/{0.memory_id}"


class MemoryRefused(Event, frozen=True, kw_only=True, tag="memory.refused"):
    """Something that was about to be remembered holds a question that must not be learned, so it was not written.

    `memory_id` is the id that it would have had, `what` the type of the event, `split` and `question_hash` say which
    question, `similarity` how much of it (1.0: word for word). The text itself is not recorded here.
    """

    memory_id: str
    what: str
    split: str
    question_hash: str
    similarity: float

    stream: ClassVar[str] = "memory/{0.memory_id}"
