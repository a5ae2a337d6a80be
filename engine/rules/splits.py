"""The three disjoint splits of a run: what it learns from, what its guard asks, what only the exam sees.

Rules
    - No question text stands in two splits, neither word for word (after normalising) nor nearly (some passage of it
      has five-word shingles like another's, Jaccard at least 0.8, the form of a type's questions aside). What would is
      left out of evolution first, then of the anchors.
    - The form is told from evolution questions alone, and committed to beside the questions.
    - The splits depend on (questions, seed, sizes) only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.rules.leaks import LEARNED, packed, packed_shingles
from mage_es.engine.rules.near_duplicates import common_shingles, near_index
from mage_es.engine.rules.normalise import normalise, question_hash, shingle_run
from mage_es.engine.rules.randomness import shuffled
from mage_es.events.digests import sha256_text
from mage_es.events.vocabulary import SplitCommitted

ANCHOR_SHARE = 0.15
"""The anchor set is at most this part of the evolution questions."""


class Splits(NamedTuple):
    """Question ids of each split in seeded order, what was left out, and the events that commit to it all."""

    evolution: tuple[str, ...]
    anchors: tuple[str, ...]
    held_out: tuple[str, ...]
    duplicates: int
    """Questions left out because another split (or the same exam) holds their text already."""
    near_duplicates: int
    """Questions left out because another split holds nearly their text."""
    events: tuple[SplitCommitted, ...]


def make_splits(
    evolution: Sequence[Question],
    test: Sequence[Question],
    *,
    seed: int,
    anchors: int,
    held_out: int,
    has_common: bool = True,
) -> Splits:
    """Divide a benchmark's questions among evolution, anchors and held-out.

    Args:
        evolution: All questions that may be learned from.
        test: All questions of the official test split.
        seed: The run's seed.
        anchors: Wanted size of the anchor set; at most 15 % of the evolution questions are taken.
        held_out: Wanted size of the exam; fewer if the test split is smaller.
        has_common: Whether the form of questions is left out of comparison; releases that committed to none did not.
    """
    guarded = min(anchors, int(ANCHOR_SHARE * len(evolution)))
    order = shuffled(evolution, seed, purpose="split.evolution")
    common = _common(order) if has_common else frozenset()
    taken = _Taken(held_out + guarded, common)
    exam = taken.first(shuffled(test, seed, purpose="split.held_out"), held_out, own=True)
    guard = taken.first(order, guarded, own=True)
    anchored = {question.id for question in guard}
    learned = taken.first([q for q in order if q.id not in anchored], len(order), own=False)
    parts = {LEARNED: learned, "anchors": guard, "held_out": exam}
    return Splits(
        evolution=tuple(q.id for q in learned),
        anchors=tuple(q.id for q in guard),
        held_out=tuple(q.id for q in exam),
        duplicates=len(taken.duplicates),
        near_duplicates=len(taken.near_duplicates),
        events=tuple(_committed(name, questions, common) for name, questions in parts.items()),
    )


class _Taken:
    """The texts that earlier splits hold, by normal form and by shingles that are not common ones."""

    def __init__(self, expected: int, common: frozenset[str]) -> None:
        self._common = common
        self.duplicates: set[str] = set()
        self.near_duplicates: set[str] = set()
        self._texts: set[str] = set()
        self._index = near_index(expected)

    def first(self, questions: Sequence[Question], count: int, *, own: bool) -> list[Question]:
        """Return the first `count` questions whose text is free; with `own`, they take it from then on."""
        chosen: list[Question] = []
        for question in questions:
            if len(chosen) == count:
                break
            text = normalise(question.question)
            if text in self._texts:
                self.duplicates.add(question.id)
            elif self._index.has_near(run := [piece for piece in shingle_run(text) if piece not in self._common]):
                self.near_duplicates.add(question.id)
            else:
                chosen.append(question)
                if own:
                    self._texts.add(text)
                    self._index.add(run)
        return chosen


def _common(questions: Sequence[Question]) -> frozenset[str]:
    """Return the shingles that are the form of a type's questions."""
    types: defaultdict[str, list[str]] = defaultdict(list)
    for question in questions:
        types[question.task_type].append(question.question)
    return common_shingles(types.values())


def _committed(split: str, questions: Sequence[Question], common: frozenset[str]) -> SplitCommitted:
    ordered = sorted(questions, key=lambda question: question.id)
    texts = [normalise(question.question) for question in ordered]
    return SplitCommitted(
        split=split,
        size=len(ordered),
        ids_sha256=sha256_text("\n".join(question.id for question in ordered)),
        questions_sha256=sha256_text("\n".join(texts)),
        question_hashes=tuple(question_hash(text) for text in texts),
        shingles=() if split == LEARNED else tuple(packed_shingles(text, common=common) for text in texts),
        common_shingles=packed(common) if split == LEARNED else b"",
    )
