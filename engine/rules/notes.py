"""The note: what a served run puts before the text of a user's turn.

Rules
    - It is what an answer prompt has before its question, to the byte: what was learned, and judged by the guard, is
      served in the layout in which it was. After the question the same notes did harm with a small model.
    - It has memories only, in the sections and the quotation of an answer prompt (rules/ingredients.py), without skill,
      instruction or answer format: how to work and how to reply is the client's own prompt to say.
    - It follows from the state at the marker and from the memories' ids. So `verify` renders it again from the log.
"""

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

from mage_es.engine.rules.ingredients import noted, remembered
from mage_es.engine.rules.prompt import QUESTION, headed, render_sections
from mage_es.engine.seams.tokens import estimated_tokens
from mage_es.events.digests import sha256_text
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import Span
from mage_es.projections.fold import State

MinSimilarity = float | Literal["auto"]


class Note(NamedTuple):
    """What precedes a turn's text, and the ids of the memories in it, in their order."""

    text: str
    memories: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """That of the text; empty for none."""
        return sha256_text(self.text) if self.text else ""


NOTHING = Note("", ())


class NoteBounds(NamedTuple):
    """What a note must keep to: the least cosine of a memory ("auto": as measured; 0: any), the task types
    that get one (none named: all), and its most tokens, estimated from above (0: any number)."""

    min_similarity: MinSimilarity = "auto"
    task_types: tuple[str, ...] = ()
    max_tokens: int = 0


DEFAULT_BOUNDS = NoteBounds()


def bounds_of(min_similarity: MinSimilarity, task_types: Collection[str], max_note_tokens: int) -> NoteBounds:
    """Raises `UsageError` for a bound that is none."""
    if min_similarity != "auto" and not (isinstance(min_similarity, int | float) and 0 <= min_similarity <= 1):
        raise UsageError(f"min_similarity is {min_similarity!r}: give auto, or a cosine between 0 (off) and 1.")
    if max_note_tokens < 0:
        raise UsageError(f"max_note_tokens is {max_note_tokens}: give a number of tokens, or 0 for no limit.")
    if isinstance(task_types, str):
        raise UsageError(f"task_types is the text {task_types!r}: give a list of names.")
    return NoteBounds(min_similarity, tuple(task_types), max_note_tokens)


def kept_within(state: State, memories: Mapping[str, float], answer_format: str, most: int) -> tuple[str, ...]:
    """Return of memories by their cosines those that fit a note of `most` tokens: the farthest is left out first."""
    kept = [*memories]
    while most and kept and estimated_tokens(note_of(state, kept, answer_format).text) > most:
        kept.remove(min(reversed(kept), key=lambda name: memories[name]))
    return tuple(kept)


def quotations_of(state: State, memories: Collection[str], answer_format: str) -> tuple[Span, ...]:
    """Return where the quotations of a note are in it, and so in a message that begins with it."""
    return tuple(render_sections(noted(remembered(state, memories, answer_format)))[1])


def note_of(state: State, memories: Collection[str], answer_format: str) -> Note:
    """Return the note of memories, `NOTHING` of none. Raises `KeyError` for an id that is none."""
    text, spans = render_sections(noted(remembered(state, memories, answer_format)))
    if not text:
        return NOTHING
    return Note(text + headed(QUESTION), tuple(span.source.removeprefix("memory/") for span in spans))
