"""Curation: quarantine and release of memories, the life of abstracted patterns, the destruction of a subject's key."""

from typing import ClassVar

from mage_es.events.facts.event import Event, Part, Phase
from mage_es.events.vocabulary.parts import AboutMemory, LearnedText, Origin


class MemoryQuarantined(AboutMemory, frozen=True, kw_only=True, tag="memory.quarantined"):
    """A memory is kept out of every prompt from here on; it stays stored."""

    # Never a deletion, because Theorem 1 requires that the protected memory only grows.
    reason: str
    """Why it is kept out of prompts."""
    by: str
    """Who decided."""


class MemoryReleased(AboutMemory, frozen=True, kw_only=True, tag="memory.released"):
    """A quarantined memory may be retrieved again, unless a newer one has superseded it."""

    reason: str
    """Why it may be retrieved again."""
    by: str
    """Who decided."""


class PatternAbstracted(AboutMemory, frozen=True, kw_only=True, tag="pattern.abstracted"):
    """A pattern seen in trajectories: an experience node with outcome `abstracted_pattern`."""

    task_type: str
    skill: str
    text: LearnedText
    """The pattern as text."""
    successes: int
    failures: int
    confidence_micro: int
    origin: Origin
    iteration: int
    phase: Phase
    ordinal: int


class PatternSupported(AboutMemory, frozen=True, kw_only=True, tag="pattern.supported"):
    """More trajectories showed a pattern; totals and confidence are the new ones."""

    # Totals, not increments: a fold only assigns.
    successes: int
    failures: int
    confidence_micro: int


class PatternPruned(AboutMemory, frozen=True, kw_only=True, tag="pattern.pruned"):
    """A pattern whose confidence fell below the threshold left the graph; only patterns can be pruned."""

    confidence_micro: int
    reason: str
    """Why it left the graph."""


class MemoryRefused(Event, frozen=True, kw_only=True, tag="memory.refused"):
    """A text was not remembered because it holds a question that must not be learned. The text is not recorded."""

    # A hash, not the text: the log itself must not carry held-out questions into training data.
    stream: ClassVar[str] = "memory/{0.memory_id}"
    memory_id: str
    """Id that the memory would have had."""
    what: str
    """Type of the event that was refused."""
    split: str
    question_hash: str
    """16-digit hash of the normalised question that must not be learned."""
    similarity: float
    """How much of the question the refused text holds; 1.0 is word for word."""


class Searched(Part, frozen=True, kw_only=True):
    """A store that was searched for unencrypted texts of a subject."""

    store: str
    """Kind of store: log, snapshots, a backup, the provider's records."""
    place: str
    """Its folder or file, relative to the run's folder if it is inside."""
    files: int
    """Files that were read."""
    found: int
    """Files that had such a text."""
    done: str
    """What was done there."""
    left: str = ""
    """What a person still has to do, or ""."""


class KeyDestroyed(Event, frozen=True, kw_only=True, tag="key.destroyed"):
    """The key of a subject was destroyed, and with it every text under it; this is the receipt."""

    stream: ClassVar[str] = "subject/{0.subject_id}"
    subject_id: str
    """16 digits that stand for the subject in its tokens."""
    reason: str
    """Why it was destroyed."""
    by: str
    """Who decided."""
    questions: int
    """Its questions."""
    replies: int
    """Models' replies that were under the key."""
    quarantined: int
    """What was learned from its questions, all of it in quarantine."""
    stores: tuple[Searched, ...]
    """Where unencrypted texts of the subject were searched for, and what was done there."""
