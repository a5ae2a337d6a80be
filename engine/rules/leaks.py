"""What must not be learned: no memory may hold an anchor or held-out question, word for word or nearly so.

Rules
    - The questions are known only by what a run commits to in its first events: hashes of their normal forms and of
      their word shingles. So the run that writes the log and the auditor who reads it work from the same facts.
    - A text holds a question if their normal forms are equal, or if some passage of the text is a near-duplicate of the
      question. A question of fewer than five words is found only if it is the whole text: as a passage, so few words
      prove nothing.
    - Shingles that belong to the form of a type's questions (the run commits to that form as well) identify none of
      them. They do not count, neither as words of the question nor as words in between.
    - There is one exception: the snapshot that judges a run for the last time may write anchors, as cases
      (rules/refit.py). Nothing that was learned before contains an anchor, and nothing that is learned afterwards is
      shown to one.
    - A text that would leak is not written. An event records the refusal, without a word of the text.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from mage_es.engine.rules.near_duplicates import (
    NEAR_DUPLICATE,
    ExactIndex,
    normalise,
    question_hash,
    shingle_hash,
    shingle_run,
)
from mage_es.engine.rules.own import OF_ANCHORS
from mage_es.events import vocabulary as v
from mage_es.events.facts.private import is_erased
from mage_es.events.facts.shapes import fields_with

LEARNED = "evolution"  # the split that memories are about; the questions of every other one must not be learned
ANCHORS = "anchors"

_SHINGLE_BYTES = 8


class Likeness(NamedTuple):
    """The question that a text is most like, and how much of it the text holds (0.0: nothing; 1.0: all of it)."""

    similarity: float
    split: str = ""
    question_hash: str = ""

    @property
    def is_leak(self) -> bool:
        return self.similarity >= NEAR_DUPLICATE


NOTHING_ALIKE = Likeness(0.0)


class Guarded:
    """The questions that must not be learned. [section 4.1, near-duplicates]"""

    def __init__(self, committed: Iterable[v.SplitCommitted] = ()) -> None:
        self._committed = tuple(committed)
        self._splits: dict[str, str] = {}
        self._names: list[str] = []
        self._index: ExactIndex[bytes] = ExactIndex()
        self._common: set[bytes] = set()
        for split in self._committed:
            self._common.update(_unpacked(split.common_shingles))
            if split.split != LEARNED:
                # The log has hashes of what must not be learned, never its text.
                hashes = hashes_of(split)
                self._splits.update(dict.fromkeys(hashes, split.split))
                # All in the same order, by question id; see splits.py.
                for name, text, packed in zip(hashes, split.question_hashes, split.shingles, strict=False):
                    self._names.append(name)
                    self._index.add(_unpacked(packed or bytes.fromhex(text.removeprefix(name)[1:])))

    def __len__(self) -> int:
        return len(self._splits)

    @property
    def shingled(self) -> int:
        return len(self._index)

    @property
    def common(self) -> int:
        """Return how many shingles do not count because they are the form of a type's questions."""
        return len(self._common)

    @cached_property
    def _but_anchors(self) -> "Guarded":
        return Guarded(split for split in self._committed if split.split != ANCHORS)

    def is_of_anchor(self, event: v.Event) -> bool:
        """Return whether an event is an anchor's case: recorded in that phase, and about an anchor by the
        commitment."""
        if not isinstance(event, v.MemoryAppended) or event.phase != OF_ANCHORS:
            return False
        return self._splits.get(question_hash(normalise(event.question))) == ANCHORS

    def likeness_of(self, event: v.Event) -> Likeness:
        """Return the committed question that an event is most like; an anchor's case is not compared with anchors."""
        return (self._but_anchors if self.is_of_anchor(event) else self).likeness(texts_of(event))

    def likeness(self, texts: Iterable[str]) -> Likeness:
        best = NOTHING_ALIKE
        for text in texts:
            name = question_hash(normalise(text))
            if name in self._splits:
                return Likeness(1.0, self._splits[name], name)
            # The form of a type's questions (see near_duplicates) gives no single question away.
            run = [piece for piece in map(shingle_hash, shingle_run(text)) if piece not in self._common]
            similarity, place = self._index.nearest(run, above=best.similarity)
            if place >= 0:
                best = Likeness(similarity, self._splits[self._names[place]], self._names[place])
        return best


def hashes_of(split: v.SplitCommitted) -> list[str]:
    """Return the hash of each question; a subject's private question is followed by its shingles, in hexadecimal. For
    an erased one, whatever is left."""
    return [text if is_erased(text) else text.partition(":")[0] for text in split.question_hashes]


def packed_shingles(text: str, *, common: Container[str] = ()) -> bytes:
    """Return the shingles of a question, except the common ones, as a split commits to them."""
    return packed(piece for piece in shingle_run(text) if piece not in common)


def packed(shingles: Iterable[str]) -> bytes:
    """Return the sorted hashes of shingles, one after another."""
    return b"".join(sorted({shingle_hash(piece) for piece in shingles}))


def _unpacked(packed: bytes) -> Iterable[bytes]:
    return (packed[at : at + _SHINGLE_BYTES] for at in range(0, len(packed), _SHINGLE_BYTES))


def texts_of(event: v.Event | v.Part) -> tuple[str, ...]:
    """Return what an event puts into the graph or a prompt as text: the fields that its type marks as such."""
    return tuple(_texts_in(event))


def _texts_in(value: v.Event | v.Part) -> Iterator[str]:
    for name in fields_with(type(value), "learned"):
        field = getattr(value, name)
        if isinstance(field, str):
            yield field
        elif field and isinstance(field[0], str):
            yield " ".join(field)  # as one text: a question may be spread over several actions
        else:
            for part in field:
                yield from _texts_in(part)


def id_of(event: v.Event) -> str:
    """Return what names an event's content: the id of what is remembered, a skill, a task type, or a plan's marker."""
    if isinstance(event, v.IterationPlanned):
        return f"iter-{event.iteration}"
    # A tool has a skill as well, so the more specific ids come first.
    names = ("memory_id", "tool_id", "recipe_id", "skill", "task_type")
    return str(next(getattr(event, name) for name in names if hasattr(event, name)))


def without_leaks(guarded: Guarded, drafts: Sequence[v.Draft]) -> list[v.Draft]:
    """Return the drafts with a refusal in place of each that would leak, and without drafts that only refer to it. A
    skill, a task type and a plan are still made, without their texts, because others refer to them."""
    # Without guarded questions (a curation, a test) no text needs to be shingled, which is most of the work.
    if not len(guarded):
        return list(drafts)
    kept: list[v.Draft] = []
    refused: set[str] = set()
    for draft in drafts:
        event = draft.event
        # Whatever the guidance model wrote passes through here, because all that a run learns comes from `decide`.
        found = guarded.likeness_of(event)
        if found.is_leak:
            kept.append(msgspec.structs.replace(draft, event=_refusal(event, found)))
            refused.add(id_of(event))
            # Edges, memories and phases refer to these three by name, so they exist without their words.
            if isinstance(event, v.SkillCreated | v.TaskTypeCreated | v.IterationPlanned):
                kept.append(msgspec.structs.replace(draft, event=_wordless(event)))
        elif not _speaks_of(event, refused):
            kept.append(draft)
    return kept


def _refusal(event: v.Event, found: Likeness) -> v.MemoryRefused:
    return v.MemoryRefused(
        memory_id=id_of(event),
        what=v.tag_of(event),
        split=found.split,
        question_hash=found.question_hash,
        similarity=found.similarity,
    )


def _wordless(event: v.SkillCreated | v.TaskTypeCreated | v.IterationPlanned) -> v.Event:
    if isinstance(event, v.IterationPlanned):
        return msgspec.structs.replace(event, brief="")
    if isinstance(event, v.SkillCreated):
        return msgspec.structs.replace(event, description="", prompt_template="", strategy="")
    return msgspec.structs.replace(event, description="")


def _speaks_of(event: v.Event, refused: set[str]) -> bool:
    # A refused memory must not take an older one out of use, nor be counted as met again.
    if isinstance(event, v.MemorySuperseded):
        return event.by in refused
    about = v.MemoryReinforced | v.PatternSupported | v.PatternPruned
    return isinstance(event, about) and event.memory_id in refused
