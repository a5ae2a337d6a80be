"""Second thoughts: doubting an earlier answer when others are close to it, and revising after doubts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from mage_es.engine.standins.reader.candidates import WeighedAnswer

CLOSE = 0.8
"""Least share of the greatest weight for an answer to be as good."""

_EARLIER, _THOUGHTS = "Earlier attempt", "Thoughts on it"
_STATED = re.compile(r"(?:^The nearest that the prompt holds is |^Answer: )(.+?)\.?$", re.MULTILINE)
_DOUBT = "It may not be {0}: the text speaks as much of something else."
_DOUBTED = re.compile(r"\bIt may not be (.+?): ")


def is_critique(sections: Mapping[str, str]) -> bool:
    """Such a prompt shows an earlier attempt without thoughts on it."""
    return _EARLIER in sections and _THOUGHTS not in sections


def criticise(sections: Mapping[str, str], candidates: Sequence[WeighedAnswer]) -> str:
    stated = _STATED.search(sections[_EARLIER])
    others = [one.answer for one in _close(candidates) if stated and one.answer != stated[1]]
    return _DOUBT.format(stated[1]) if stated and others else "Nothing in the text speaks against the attempt."


def heeding(sections: Mapping[str, str], candidates: Sequence[WeighedAnswer]) -> list[WeighedAnswer]:
    doubts = Counter(_DOUBTED.findall(sections.get(_THOUGHTS, "")))
    close = _close(candidates)
    return [*sorted(close, key=lambda one: doubts[one.answer]), *candidates[len(close) :]]


def _close(candidates: Sequence[WeighedAnswer]) -> list[WeighedAnswer]:
    return [one for one in candidates if one.weight >= CLOSE * candidates[0].weight]
