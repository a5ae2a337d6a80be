"""How to shop, as the advice in a prompt has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_ADVICE = {
    "chooses_options": re.compile(r"\b(?:click|choose|select)\b[^.]*\boptions?\b[^.]*\bbefore\b[^.]*\bbuy", re.I),
    "leaves_price": re.compile(r"\bsearch\b[^.]*\bwithout\b[^.]*\bprice\b", re.I),
    "looks_further": re.compile(r"\b(?:open|try)\b[^.]*\b(?:next|another|other) product\b", re.I),
}


class Habits(NamedTuple):
    chooses_options: bool = False
    leaves_price: bool = False
    looks_further: bool = False


def habits_of(told: Mapping[str, str]) -> Habits:
    text = "\n".join(told.values())
    return Habits(**{habit: bool(pattern.search(text)) for habit, pattern in _ADVICE.items()})
