"""The three disjoint splits of a run: what it learns from, what its guard asks, what only the exam sees.

Rules
    - No question text is in two splits, neither word for word (after normalising) nor nearly (some passage of it
      has five-word shingles like another's, Jaccard at least 0.8, the form of a type's questions aside). What would is
      left out of evolution first, then of the anchors.
    - The form is found in evolution questions alone, and committed to beside the questions.
    - The splits depend on (questions, seed, sizes) only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.rules.leaks import LEARNED, packed, packed_shingles
from mage_es.engine.rules.near_duplicates import ExactIndex, common_shingles
from mage_es.engine.rules.normalise import normalise, question_hash, shingle_run
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.seams.benchmark import Question
from mage_es.events.digests import sha256_text
from mage_es.events.vocabulary import SplitCommitted

ANCHOR_SHARE = 0.15  # the anchor set is at most this part of the evolution questions


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
    """Divide a benchmark's questions among evolution, anchors and held-out. [section 4.1, held-out pool]

    `anchors` and `held_out` are wanted sizes: anchors are at most 15 % of the evolution questions, and the exam cannot
    be larger than the official test split.
    """
    # A small benchmark must not spend its questions on the guard: they could never be learned from.
    guarded = min(anchors, int(ANCHOR_SHARE * len(evolution)))
    order = shuffled(evolution, seed, purpose="split.evolution")
    common = _common(order)
    # The exam chooses first, then the guard, and evolution gets what is left: where texts are alike, the one to learn
    # from is dropped.
    taken = _Taken(common)
    exam = taken.first(shuffled(test, seed, purpose="split.held_out"), held_out, own=True)
    guard = taken.first(order, guarded, own=True)
    anchored = {question.id for question in guard}
    # `own=False`: two evolution questions may be alike, since both may be learned from.
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

    def __init__(self, common: frozenset[str]) -> None:
        self._common = common
        self.duplicates: set[str] = set()
        self.near_duplicates: set[str] = set()
        self._texts: set[str] = set()
        self._index: ExactIndex[str] = ExactIndex()

    def first(self, questions: Sequence[Question], count: int, *, own: bool) -> list[Question]:
        """Return the first `count` questions whose text is free; with `own`, they take it from then on."""
        chosen: list[Question] = []
        for question in questions:
            if len(chosen) == count:
                break
            text = normalise(question.question)
            # Equal texts are counted apart from near ones, and are much cheaper to find.
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
    types: defaultdict[str, list[str]] = defaultdict(list)
    for question in questions:
        types[question.task_type].append(question.question)
    return common_shingles(types.values())


def _committed(split: str, questions: Sequence[Question], common: frozenset[str]) -> SplitCommitted:
    # By id, so that the commitment says nothing of the order in which questions are asked.
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
