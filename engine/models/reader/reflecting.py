"""Second thoughts: doubting an earlier answer that others are close to, and heeding what was doubted.

Rules
    - An answer is doubted where another has at least `CLOSE` of the weight that the weightiest has: nothing else can be
      told without knowing what is right. Where none is close, nothing is said against it.
    - A revision gives, of the answers that are close to the weightiest, the one that was doubted least often.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from mage_es.engine.models.reader.candidates import Candidate

CLOSE = 0.8
"""Share of the greatest weight from which an answer may be right just as well."""

_EARLIER, _THOUGHTS = "Earlier attempt", "Thoughts on it"
_STATED = re.compile(r"(?:^The nearest that the prompt holds is |^Answer: )(.+?)\.?$", re.MULTILINE)
_DOUBT = "It may not be {0}: the text speaks as much of something else."
_DOUBTED = re.compile(r"\bIt may not be (.+?): ")


def is_critique(sections: Mapping[str, str]) -> bool:
    """Return whether a prompt shows an earlier attempt, and no thoughts on it: they are asked for."""
    return _EARLIER in sections and _THOUGHTS not in sections


def criticise(sections: Mapping[str, str], candidates: Sequence[Candidate]) -> str:
    """Return what there is to say of an earlier attempt."""
    stated = _STATED.search(sections[_EARLIER])
    others = [one.answer for one in _close(candidates) if stated and one.answer != stated[1]]
    return _DOUBT.format(stated[1]) if stated and others else "Nothing in the text speaks against the attempt."


def heeding(sections: Mapping[str, str], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with those first that are close to the weightiest and were doubted least."""
    doubts = Counter(_DOUBTED.findall(sections.get(_THOUGHTS, "")))
    close = _close(candidates)
    return [*sorted(close, key=lambda one: doubts[one.answer]), *candidates[len(close) :]]


def _close(candidates: Sequence[Candidate]) -> list[Candidate]:
    return [one for one in candidates if one.weight >= CLOSE * candidates[0].weight]
