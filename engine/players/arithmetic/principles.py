"""Principles in plain English, written by the reference tier and read by the analogist: which operations, and when.

    When the question says "rest" and "each", multiply, then subtract.

`parse_principle(print_principle(principle))` gives the principle again.
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
    """`cues` are words that a question must all have; `operations` are in order, one for each step."""

    cues: tuple[str, ...]
    operations: tuple[str, ...]


def print_principle(principle: Principle) -> str:
    cues = " and ".join(f'"{cue}"' for cue in principle.cues)
    return f"When the question says {cues}, {', then '.join(principle.operations)}."


def parse_principle(text: str) -> Principle | None:
    """Return None if the text has another form."""
    match = _FORM.match(text.strip())
    if match is None:
        return None
    return Principle(cues=tuple(_CUE.findall(match.group(1))), operations=tuple(match.group(2).split(", then ")))
