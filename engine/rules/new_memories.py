"""Turning experience into memories: identity, and the cap on what a success memory keeps.

A memory's id is the hash of its content. If the same experience occurs again, its memory is reinforced, not stored
twice.
"""

import hashlib
import hmac
import re
from math import comb
from typing import Any, NamedTuple

from mage_es.engine.rules.near_duplicates import normalise
from mage_es.engine.rules.prompt import without_final
from mage_es.events.vocabulary import MemoryAppended, MemoryReinforced
from mage_es.projections.memory import Memory

_BLANK = dict.fromkeys(("kind", "question_id", "question", "recognise", "answer", "wrong_answer"), "")


def memory_id(
    *, outcome: str, kind: str, task_type: str, question: str, answer: str, reasoning: str, salt: str = ""
) -> str:
    """Return the 32-digit content hash of a memory; the question enters in its normalised form."""
    content = "\x00".join((outcome, kind, task_type, normalise(question), answer, reasoning)).encode()
    hashed = hmac.new(bytes.fromhex(salt), content, "sha256") if salt else hashlib.sha256(content)
    return hashed.hexdigest()[:32]


def new_memory(*, salt: str = "", **fields: Any) -> MemoryAppended:
    """Return a memory with the id of its content, keyed with `salt` if it is private. Missing texts are blank."""
    filled = {**_BLANK, **fields}
    # What makes it the same memory when met again: not the skill or the iteration.
    identity = {name: filled[name] for name in ("outcome", "kind", "task_type", "question", "answer", "reasoning")}
    return MemoryAppended(memory_id=memory_id(**identity, salt=salt), **filled)


def capped(reasoning: str, cap: int) -> str:
    """Return at most `cap` characters, cut at a line border if there is one before the cap.

    [appendix, success memories] The whole reasoning stays in the recorded reply.
    """
    if len(reasoning) <= cap:
        return reasoning
    # Half a line of a solution misleads more than a missing one.
    cut = reasoning.rfind("\n", 0, cap + 1)
    return reasoning[: cut if cut > 0 else cap]


def reasoning_of(reply: str, answer: str, answer_format: str) -> str:
    """Return the reply without its final line if that only states the answer; "" if nothing else was said.

    An answer without reasoning is shown as question and answer alone.
    """
    said = without_final(reply.strip(), answer_format)
    before, _, last = said.rpartition("\n")
    return (before if last.strip() == answer else said).strip()


CASE = "case"
"""The kind of a failure memory that guidance did not write: a question that was missed, with its right answer."""
GUESS = "guess"
"""The kind of a success memory that may be due to chance."""
_CHANCE = 0.05
"""An answer is a guess if a model that guesses would be right as often with more than this probability."""


class TimesGiven(NamedTuple):
    """How often an answer was given to an iteration's questions of one task type, and how often it was right."""

    times: int
    right: int


def is_guess(given: TimesGiven, labels: int) -> bool:
    """Return whether a right answer without reasoning, one of this many `labels` (0: any text), may be right by chance.

    It may, unless the learner gave this answer rightly more often than a draw among the labels would: at least `right`
    of its `times` in the iteration with a probability of at most 5 %. So one right letter of four is a guess, three of
    three are not; if a learner gives every question of a type the same label, its right answers are guesses. A number
    or a text given without reasoning is not a guess: there are too many to hit one by chance.
    """
    share = 1 / max(1, labels)
    times, right = given
    # Summed exactly: a pool has a few hundred answers of a type at most.
    at_least = sum(comb(times, i) * share**i * (1 - share) ** (times - i) for i in range(right, times + 1))
    return labels > 0 and at_least > _CHANCE


_ABOUT_ANSWERS = re.compile(
    "an?|and|answers?|be|but|choose|chose|correct|correction|expected|final|gave|given|incorrect|instead|is|it|label|not"
    "|of|option|rather|reply|right|said|should|so|than|that|the|this|to|was|wrong"
)


def tells_nothing(lesson: str, *answers: str) -> bool:
    """Return whether a correction only says which answer is right and which is wrong.

    Such a correction adds nothing to the case, whose question and right answer the memory has anyway; as a lesson, it
    would look like a rule about other questions.
    """
    known = {word for answer in answers for word in _words(answer)}
    # By single words, not sentence patterns, since every teacher uses another order.
    return all(word in known or _ABOUT_ANSWERS.fullmatch(word) for word in _words(lesson))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


class Met:
    """Knows which memories exist, including those in events that are still being decided, so that repeats are
    reinforced.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        # The state knows what was met before this phase; these are what the phase itself has met so far.
        self._times: dict[str, int] = {}

    def again(self, memory: MemoryAppended) -> MemoryAppended | MemoryReinforced:
        """Return the memory itself the first time, and afterwards a reinforcement with its count."""
        if not self._count(memory.memory_id):
            self._times[memory.memory_id] = 1
            return memory
        return self.reinforced(memory.memory_id, question_id=memory.question_id)

    def reinforced(self, memory_id: str, *, question_id: str = "") -> MemoryReinforced:
        self._times[memory_id] = self._count(memory_id) + 1
        return MemoryReinforced(memory_id=memory_id, question_id=question_id, count=self._times[memory_id])

    def _count(self, memory_id: str) -> int:
        return self._times.get(memory_id) or self._memory.count_of(memory_id)
