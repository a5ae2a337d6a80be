"""Comparing a short answer with the expected one: HotpotQA's normal form, exact match and token F1.

Source: hotpotqa/hotpot, hotpot_evaluate_v1.py. Punctuation is deleted, not replaced (`1881-1945` becomes one word), but
only ASCII punctuation: curly quotes, dashes and accents stay as they are.
"""

import re
import string
from collections import Counter
from typing import NamedTuple

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
CLOSED = frozenset({"yes", "no", "noanswer"})
"""Answers that overlap with no other answer."""


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
    """Tokens count as multisets; yes, no and noanswer overlap only with themselves."""
    given, wanted = normalise_answer(answer), normalise_answer(gold)
    if given != wanted and (given in CLOSED or wanted in CLOSED):
        return Overlap(0.0, 0.0, 0.0)
    left, right = given.split(), wanted.split()
    common = (Counter(left) & Counter(right)).total()
    if not common:
        return Overlap(0.0, 0.0, 0.0)
    precision, recall = common / len(left), common / len(right)
    return Overlap(harmonic(precision, recall), precision, recall)


def harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
