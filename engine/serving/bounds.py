"""The limits of a note, from the user's options."""

from collections.abc import Collection
from typing import Literal, cast, get_args

from mage_es.engine.served.notes import MinSimilarity, NoteBounds
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import ServedLayout


def bounds_of(
    min_similarity: MinSimilarity, task_types: Collection[str], max_note_tokens: int, layout: str = ""
) -> NoteBounds:
    """Raises `UsageError` for an invalid bound."""
    if min_similarity != "auto" and not (isinstance(min_similarity, int | float) and 0 <= min_similarity <= 1):
        raise UsageError(f"min_similarity is {min_similarity!r}: give auto, or a cosine between 0 (off) and 1.")
    if max_note_tokens < 0:
        raise UsageError(f"max_note_tokens is {max_note_tokens}: give a number of tokens, or 0 for no limit.")
    if isinstance(task_types, str):
        raise UsageError(f"task_types is the text {task_types!r}: give a list of names.")
    if layout not in ("", *get_args(ServedLayout)):
        raise UsageError(
            f"layout is {layout!r}: give turns, lines or sections, or omit it to use the layout of the run."
        )
    return NoteBounds(min_similarity, tuple(task_types), max_note_tokens, cast(ServedLayout | Literal[""], layout))
