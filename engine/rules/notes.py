"""The note: what a served run puts at the end of a user's turn.

Rules
    - It has memories only, in the sections and the quotation of an answer prompt (rules/ingredients.py), without skill,
      instruction or answer format: how to work and how to reply is the client's own prompt to say.
    - It follows from the state at the marker and from the memories' ids. So `verify` renders it again from the log.
"""

from collections.abc import Collection
from typing import NamedTuple

from mage_es.engine.rules.ingredients import noted, remembered
from mage_es.engine.rules.prompt import render_sections
from mage_es.projections.fold import State


class Note(NamedTuple):
    """What follows a turn's text, and the ids of the memories in it, in their order."""

    text: str
    memories: tuple[str, ...]


NOTHING = Note("", ())


def note_of(state: State, memories: Collection[str], answer_format: str) -> Note:
    """Return the note of memories, `NOTHING` of none. Raises `KeyError` for an id that is none."""
    text, spans = render_sections(noted(remembered(state, memories, answer_format)))
    # The blank line parts it from what the user wrote.
    return (
        Note(f"\n\n{text.rstrip()}", tuple(span.source.removeprefix("memory/") for span in spans)) if text else NOTHING
    )
