"""Principles in plain words: which operations to carry out, in which order, where a question says certain words.

    When the question says "rest" and "each", multiply, then subtract.

Written by the guidance tier, read by the analogist; a reader of English can follow it.

Rules
    - `parse_principle(print_principle(principle))` gives the principle again.
"""

from __future__ import annotations

import re

import msgspec

_FORM = re.compile(
    r'^When the question says ("[^"]+"(?: and "[^"]+")*),'
    r" ((?:add|subtract|multiply|divide)(?:, then (?:add|subtract|multiply|divide))*)\.$"
)
_CUE = re.compile(r'"([^"]+)"')


class Principle(msgspec.Struct, frozen=True, kw_only=True):
    """The words that a question must all have, and the operations in order, one for each step."""

    cues: tuple[str, ...]
    operations: tuple[str, ...]


def print_principle(principle: Principle) -> str:
    """Return a principle as one sentence."""
    cues = " and ".join(f'"{cue}"' for cue in principle.cues)
    return f"When the question says {cues}, {', then '.join(principle.operations)}."


def parse_principle(text: str) -> Principle | None:
    """Read a principle back; None if the text is not of this form."""
    match = _FORM.match(text.strip())
    if match is None:
        return None
    return Principle(cues=tuple(_CUE.findall(match.group(1))), operations=tuple(match.group(2).split(", then ")))
