"""No leak: nothing that was learned holds an anchor or held-out question; and the certificate for it.

The splits are what the run committed to in its first events, so the log alone is enough. The largest similarity is that
of any passage of any text to any guarded question (rules/leaks.py), and stays below 0.8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mage_es.engine.reports import Check
from mage_es.engine.rules.leaks import LEARNED, NOTHING_ALIKE, Guarded, Likeness, id_of, texts_of
from mage_es.engine.rules.normalise import NEAR_DUPLICATE, normalise, question_hash
from mage_es.events.envelope import Record
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import (
    ActionRecipeHarvested,
    Event,
    IterationPlanned,
    MemoryAppended,
    MemoryRefused,
    PatternAbstracted,
    RetrievalRecipeAuthored,
    SkillCreated,
    SkillRefined,
    SplitCommitted,
    TaskTypeCreated,
    ToolAuthored,
    tag_of,
)

WRITTEN: frozenset[type[Event]] = frozenset(
    {
        ActionRecipeHarvested,
        IterationPlanned,
        MemoryAppended,
        PatternAbstracted,
        RetrievalRecipeAuthored,
        SkillCreated,
        SkillRefined,
        TaskTypeCreated,
        ToolAuthored,
    }
)
"""What brings words into the graph or a prompt."""


def check_splits(reader: LogReader) -> Check:
    """Return whether the committed splits share no question, nor nearly one where the log can tell."""
    seen: dict[str, str] = {}
    for record in _commitments(reader):
        split = record.event
        assert isinstance(split, SplitCommitted)
        for name in split.question_hashes:
            other = seen.setdefault(name, split.split)
            if other != split.split:
                detail = f"{other} and {split.split} share the question {name}"
                return Check(name="splits", ok=False, detail=detail, bound="0 shared", seq=record.seq)
    sizes = ", ".join(f"{split} {size}" for split, size in Counter(seen.values()).items())
    return Check(name="splits", ok=True, detail=f"disjoint: {sizes}", measured="0 shared", bound="0 shared")


def check_leaks(reader: LogReader) -> Check:
    """Return the certificate: how much was checked against how many questions, and the largest similarity found."""
    splits = [record.event for record in _commitments(reader) if isinstance(record.event, SplitCommitted)]
    guarded = Guarded(splits)
    known = {name for split in splits for name in split.question_hashes}
    counts: Counter[str] = Counter()
    largest, holder = NOTHING_ALIKE, ""
    for record in reader.records({*WRITTEN, MemoryRefused}):
        event = record.event
        counts[tag_of(event)] += 1
        if isinstance(event, MemoryAppended) and event.question and _hash_of(event) not in known:
            detail = f"memory {event.memory_id} holds a question of no split"
            return _verdict(largest, guarded, detail, ok=False, seq=record.seq)
        found = guarded.likeness(texts_of(event))
        if found.similarity > largest.similarity:
            largest, holder = found, f"{tag_of(event)} {id_of(event)}"
        if found.is_leak:
            detail = f"{holder} holds the question {found.question_hash} of {found.split}"
            return _verdict(largest, guarded, detail, ok=False, seq=record.seq)
    refused = counts.pop(tag_of(MemoryRefused), 0)
    checked = ", ".join(f"{count} {tag}" for tag, count in sorted(counts.items())) or "nothing"
    nearest = f"; nearest: {holder} to {largest.question_hash} of {largest.split}" if holder else ""
    form = f", {guarded.common} shingles of the questions' form aside" if guarded.common else ""
    by = f"({guarded.shingled} by shingles{form})"
    detail = f"checked {checked} against {_sizes(splits)} {by}; {refused} refused{nearest}"
    return _verdict(largest, guarded, detail, ok=True)


def _commitments(reader: LogReader) -> Sequence[Record]:
    return list(reader.records({SplitCommitted}))


def _hash_of(memory: MemoryAppended) -> str:
    return question_hash(normalise(memory.question))


def _sizes(splits: Sequence[SplitCommitted]) -> str:
    return ", ".join(f"{len(split.question_hashes)} {split.split}" for split in splits if split.split != LEARNED)


def _verdict(largest: Likeness, guarded: Guarded, detail: str, *, ok: bool, seq: int = 0) -> Check:
    bound = f"below {NEAR_DUPLICATE}" if guarded.shingled else "no equal question"
    measured = f"largest similarity {largest.similarity:.3f}"
    return Check(name="leaks", ok=ok, detail=detail, measured=measured, bound=bound, seq=seq)
