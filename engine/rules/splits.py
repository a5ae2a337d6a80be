"""The three disjoint splits of a run: what it learns from, what its guard asks, what only the exam sees.

Rules
    - No question text stands in two splits, neither word for word (after normalising) nor nearly (five-word
      shingles, Jaccard at least 0.8). What would is left out of evolution first, then of the anchors.
    - The splits depend on (questions, seed, sizes) only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.rules.normalise import NEAR_DUPLICATE, normalise, question_hash, shingles
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
    evolution: Sequence[Question], test: Sequence[Question], *, seed: int, anchors: int, held_out: int
) -> Splits:
    """Divide a benchmark's questions among evolution, anchors and held-out.

    Args:
        evolution: All questions that may be learned from.
        test: All questions of the official test split.
        seed: The run's seed.
        anchors: Wanted size of the anchor set; at most 15 % of the evolution questions are taken.
        held_out: Wanted size of the exam; fewer if the test split is smaller.
    """
    taken = _Taken()
    exam = taken.first(shuffled(test, seed, purpose="split.held_out"), held_out, own=True)
    order = shuffled(evolution, seed, purpose="split.evolution")
    guard = taken.first(order, min(anchors, int(ANCHOR_SHARE * len(evolution))), own=True)
    guarded = {question.id for question in guard}
    learned = taken.first([q for q in order if q.id not in guarded], len(order), own=False)
    parts = {"evolution": learned, "anchors": guard, "held_out": exam}
    return Splits(
        evolution=tuple(q.id for q in learned),
        anchors=tuple(q.id for q in guard),
        held_out=tuple(q.id for q in exam),
        duplicates=len(taken.duplicates),
        near_duplicates=len(taken.near_duplicates),
        events=tuple(_committed(name, questions) for name, questions in parts.items()),
    )


class _Taken:
    """The texts that earlier splits hold, by normal form and by shingle."""

    def __init__(self) -> None:
        self.duplicates: set[str] = set()
        self.near_duplicates: set[str] = set()
        self._texts: set[str] = set()
        self._sizes: list[int] = []
        self._holders: defaultdict[str, list[int]] = defaultdict(list)

    def first(self, questions: Sequence[Question], count: int, *, own: bool) -> list[Question]:
        """Return the first `count` questions whose text is free; with `own`, they take it from then on."""
        chosen: list[Question] = []
        for question in questions:
            if len(chosen) == count:
                break
            text = normalise(question.question)
            if text in self._texts:
                self.duplicates.add(question.id)
            elif self._is_near(pieces := shingles(text)):
                self.near_duplicates.add(question.id)
            else:
                chosen.append(question)
                if own:
                    self._take(text, pieces)
        return chosen

    def _take(self, text: str, pieces: frozenset[str]) -> None:
        self._texts.add(text)
        for piece in pieces:
            self._holders[piece].append(len(self._sizes))
        self._sizes.append(len(pieces))

    def _is_near(self, pieces: frozenset[str]) -> bool:
        shared = Counter(holder for piece in pieces for holder in self._holders.get(piece, ()))
        return any(
            common >= NEAR_DUPLICATE * (len(pieces) + self._sizes[holder] - common) for holder, common in shared.items()
        )


def _committed(split: str, questions: Sequence[Question]) -> SplitCommitted:
    ordered = sorted(questions, key=lambda question: question.id)
    texts = [normalise(question.question) for question in ordered]
    return SplitCommitted(
        split=split,
        size=len(ordered),
        ids_sha256=sha256_text("\n".join(question.id for question in ordered)),
        questions_sha256=sha256_text("\n".join(texts)),
        question_hashes=tuple(question_hash(text) for text in texts),
    )
