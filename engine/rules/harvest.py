"""Turning experience into memories: identity, and the cap on what a success memory keeps.

A memory's id is the hash of its content, so the same experience met again is the same memory: it is reinforced,
not stored twice.
"""

import hashlib
import hmac
from typing import Any

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
    """Return a memory with the id of its content, keyed with `salt` where it is private. Texts not given are blank."""
    filled = {**_BLANK, **fields}
    # What makes it the same memory if it is met again: neither the skill nor the iteration.
    identity = {name: filled[name] for name in ("outcome", "kind", "task_type", "question", "answer", "reasoning")}
    return MemoryAppended(memory_id=memory_id(**identity, salt=salt), **filled)


def capped(reasoning: str, cap: int) -> str:
    """Return at most `cap` characters, cut at a line border where there is one before the cap.

    [appendix, success memories] The whole reasoning stays in the recorded reply.
    """
    if len(reasoning) <= cap:
        return reasoning
    # Half a line of a solution misleads more than a missing one.
    cut = reasoning.rfind("\n", 0, cap + 1)
    return reasoning[: cut if cut > 0 else cap]


def reasoning_of(reply: str, answer: str, answer_format: str) -> str:
    """Return the reply without its final line where that only states the answer; "" if nothing else was said.

    An answer without reasoning teaches nothing as an example and is not harvested, unless it is one of a few labels.
    """
    said = without_final(reply.strip(), answer_format)
    before, _, last = said.rpartition("\n")
    return (before if last.strip() == answer else said).strip()


class Met:
    """Which memories exist, those of the events being decided included: what is met again is reinforced."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        # The state knows what was met before this phase; here is what the phase itself has met so far.
        self._times: dict[str, int] = {}

    def again(self, memory: MemoryAppended) -> MemoryAppended | MemoryReinforced:
        """Return the memory itself the first time it is met, a reinforcement with its count every time after."""
        if not self._count(memory.memory_id):
            self._times[memory.memory_id] = 1
            return memory
        return self.reinforced(memory.memory_id, question_id=memory.question_id)

    def reinforced(self, memory_id: str, *, question_id: str = "") -> MemoryReinforced:
        self._times[memory_id] = self._count(memory_id) + 1
        return MemoryReinforced(memory_id=memory_id, question_id=question_id, count=self._times[memory_id])

    def _count(self, memory_id: str) -> int:
        return self._times.get(memory_id) or self._memory.count_of(memory_id)
