"""What was made from a single question, and therefore must not be shown to it: otherwise a revisit would measure
copying.

Provenance decides. A memory, an action recipe and a tool's example carry the id of their question; so does a principle
if that question was its only case. What was made from several cases (other principles, a skill's instruction) is
general, unless a principle quotes the question. What was seen of an environment is not a memory of a question. An
anchor's case is never shown to any anchor, because anchors judge what the other questions taught.
"""

from functools import lru_cache

from mage_es.engine.rules.near_duplicates import normalise
from mage_es.events.vocabulary import MemoryAppended, Phase, ToolAuthored, ToolExample
from mage_es.projections.memory import MemoryRow
from mage_es.projections.slices import Slice, birth_of

_LEAST_QUOTE = 5  # words; a shorter question may be in a text by chance
OF_ANCHORS: Phase = "snapshot"
"""The phase in which only anchors become cases (rules/refit.py)."""
normal_form = lru_cache(maxsize=1 << 14)(normalise)


def is_own_principle(row: MemoryRow | MemoryAppended, question_id: str, question: str) -> bool:
    """Return whether a principle was made from this question alone, or quotes it ("" if its text is unknown)."""
    return row.question_id == question_id or quotes(row.reasoning, question)


def of_anchors(rows: Slice) -> frozenset[str]:
    """Return the ids of the cases of anchors in a slice."""
    found: frozenset[str] | None = rows.computed.get("of anchors")
    if found is None:
        phase = birth_of(0, OF_ANCHORS, 0)[1]
        found = frozenset(name for name, birth in zip(rows.ids, rows.births, strict=True) if birth[1] == phase)
        rows.computed["of anchors"] = found
    return found


def quotes(text: str, question: str) -> bool:
    """Return whether a text contains a whole question, ignoring case, spaces, and punctuation at its ends."""
    sought = normal_form(question)
    return len(sought.split(" ")) >= _LEAST_QUOTE and sought in normal_form(text)


def examples_of_others(tool: ToolAuthored, question_id: str) -> tuple[ToolExample, ...]:
    return tuple(example for example in tool.examples if example.question_id != question_id)
