"""Paraphrases across splits: questions learned from that reword guarded ones.

Rules
    - Shingles cannot see a text without every fifth word: no run of five words is left. So that is the yardstick: a
      question is a paraphrase of a guarded one if the run's embedder puts it at least as near to the guarded one as it
      puts that one's own text without every fifth word, at the offset where that is farthest.
    - Two questions that each have a number the other lacks ask for different answers, however similar their words.
    - If another guarded question is just as near, this embedder cannot tell the two apart, and neither is compared.
    - It is a doubt, not a failure: the splits keep what they commit to, and an embedder does not judge meaning.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from mage_es.engine.auditing.theorems.recount import CheckBasis
from mage_es.engine.embedders.registry import metered
from mage_es.engine.rules.near_duplicates import SHINGLE
from mage_es.engine.rules.own import OF_ANCHORS
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.check import Check
from mage_es.engine.seams.embedder import Vectors
from mage_es.events.errors import PrerequisiteError
from mage_es.events.facts.private import ERASED, is_erased
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended, QuestionPlanned

_check = partial(Check, name="paraphrases", bound="0 pairs")
_AT_ONCE = 256
"""How many guarded questions are in a block: with 10,000 questions learned from, that is 10 MB of cosines."""
_TOLD = 3
_ROUNDING = 1e-5
"""The most by which the order of summation changes a 32-bit cosine."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Likened(NamedTuple):
    """A question that was learned from, the guarded question near it, and their cosine."""

    cosine: float
    learned: str
    guarded: str


class Paraphrases(NamedTuple):
    """The pairs, nearest first, and how many guarded questions the embedder cannot tell apart."""

    pairs: list[Likened]
    blurred: int


def check_paraphrases(reader: LogReader, given: CheckBasis) -> Check:
    """Return which questions that were learned from are paraphrases of anchors or held-out ones: those that the run
    asked, and those of its cases, which may be a client's or another run's."""
    if given.world is None:
        return _unchecked(given.missing)
    world = given.world
    if metered(world.embedder.name):
        return _unchecked(f"the vectors of {world.embedder.name} have to be paid for")
    asked = {event.question_id for event in reader.of(QuestionPlanned)} & {*world.splits.evolution}
    learned, guarded = (
        [each for each in map(world.questions.__getitem__, names) if not each.subject.startswith(ERASED)]
        for names in (sorted(asked), (*world.splits.anchors, *world.splits.held_out))
    )
    cases = (memory for memory in reader.of(MemoryAppended) if memory.phase != OF_ANCHORS)
    texts = {memory.question: memory.question_id for memory in cases if not is_erased(memory.question)}
    others = texts.keys() - {"", *(question.question for question in learned)}
    learned += [_question(texts[text], text) for text in sorted(others)]
    try:
        found = paraphrases(learned, guarded, world.embedder.encode)
    except PrerequisiteError as error:
        return _unchecked(str(error))
    blurred = f", {found.blurred} of which it cannot tell from one another" if found.blurred else ""
    compared = f"{len(learned)} questions learned from, {len(guarded)} guarded ones{blurred}, by {world.embedder.name}"
    nearest = "; ".join(f"{pair.learned} to {pair.guarded}: {pair.cosine:.3f}" for pair in found.pairs[:_TOLD])
    detail = f"{compared}; nearest: {nearest}" if nearest else compared
    return _check(ok=True, detail=detail, measured=f"{len(found.pairs)} pairs", doubt=bool(found.pairs))


def paraphrases(
    learned: Sequence[Question], guarded: Sequence[Question], encode: Callable[[Sequence[str]], Vectors]
) -> Paraphrases:
    """Return which questions that were learned from reword guarded ones. Raises what `encode` raises."""
    if not learned or not guarded:
        return Paraphrases([], 0)
    texts = [question.question for question in guarded]
    own, others = encode(texts), encode([question.question for question in learned])
    reworded = (encode([without_fifths(text, first) for text in texts]) for first in range(SHINGLE))
    least = np.min([np.sum(own * each, axis=1) for each in reworded], axis=0) - _ROUNDING
    least[least <= 0] = np.inf  # a text without words has no vector
    numbers = [[_numbers(question.question) for question in some] for some in (guarded, learned)]
    pairs, blurred = list[Likened](), 0
    for start in range(0, len(guarded), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        alike, near = ((each @ own[block].T >= least[block]).T for each in (own, others))
        for place, (twins, found) in enumerate(zip(alike, near, strict=True), start):
            is_blurred = any(
                other != place and _may_be_same(numbers[0][other], numbers[0][place])
                for other in np.flatnonzero(twins).tolist()
            )
            blurred += is_blurred
            for other in [] if is_blurred else np.flatnonzero(found).tolist():
                if _may_be_same(numbers[1][other], numbers[0][place]):
                    pairs.append(Likened(float(others[other] @ own[place]), learned[other].id, guarded[place].id))
    return Paraphrases(sorted(pairs, reverse=True), blurred)


def _question(name: str, text: str) -> Question:
    return Question(id=name, benchmark="", split="evolution", task_type="", question=text, gold="")


def without_fifths(text: str, first: int) -> str:
    """Return a text without every fifth word from place `first` (from 0) on; a shorter one unchanged."""
    words = text.split()
    return " ".join(w for place, w in enumerate(words) if place % SHINGLE != first or len(words) < SHINGLE)


def _numbers(text: str) -> Counter[str]:
    return Counter(number.replace(",", "") for number in _NUMBER.findall(text))


def _may_be_same(one: Counter[str], other: Counter[str]) -> bool:
    return one <= other or other <= one  # one of them may spell out a number


def _unchecked(why: str) -> Check:
    return _check(ok=True, detail=f"unchecked: {why}", measured="nothing")
