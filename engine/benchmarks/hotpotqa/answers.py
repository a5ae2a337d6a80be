"""Comparing a short answer with the expected one: HotpotQA's normal form, exact match and token F1.

Source: hotpotqa/hotpot, hotpot_evaluate_v1.py. Punctuation is deleted, not replaced (`1881-1945` is one word), and only
ASCII punctuation is: curly quotes, dashes and accents stay as they are.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import NamedTuple

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = frozenset({"yes", "no", "noanswer"})
"""Answers that no other answer overlaps with."""
_FUNCTION_WORDS = frozenset(
    {"also", "and", "for", "from", "her", "his", "its", "not", "that", "their", "they", "this", "was", "were", "with"}
)
"""Words that carry no meaning of an answer; words of one or two letters never count."""


class Overlap(NamedTuple):
    f1: float
    precision: float
    recall: float


def normalise_answer(text: str) -> str:
    """Source: `normalize_answer` of hotpot_evaluate_v1.py; only ASCII punctuation is dropped."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(answer: str, gold: str) -> bool:
    return normalise_answer(answer) == normalise_answer(gold)


def overlap(answer: str, gold: str) -> Overlap:
    """Tokens count as multisets; yes, no and noanswer overlap with themselves only, and nothing with them."""
    given, wanted = normalise_answer(answer), normalise_answer(gold)
    if given != wanted and (given in _CLOSED or wanted in _CLOSED):
        return Overlap(0.0, 0.0, 0.0)
    left, right = given.split(), wanted.split()
    common = (Counter(left) & Counter(right)).total()
    if not common:
        return Overlap(0.0, 0.0, 0.0)
    precision, recall = common / len(left), common / len(right)
    return Overlap(harmonic(precision, recall), precision, recall)


def harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def may_mean(answer: str, gold: str) -> bool:
    """Return whether a wrong answer shares something with the expected one, so that a judge should decide.

    Shared may be a yes or no, another word of three letters or more (except function words), a number, or the initials.
    """
    left, right = normalise_answer(answer).split(), normalise_answer(gold).split()
    shared = set(left) & set(right)
    if any(word in _CLOSED or word.isdigit() or len(word) > 2 for word in shared - _FUNCTION_WORDS):
        return True
    return _is_initials(left, right) or _is_initials(right, left)


def _is_initials(short: list[str], long: list[str]) -> bool:
    return len(short) == 1 and len(long) > 1 and short[0] == "".join(word[0] for word in long)
