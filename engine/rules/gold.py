"""What the right answers of a set of questions have in common: labels, short texts, numbers."""

import re
from collections.abc import Collection

_LABELS, _SHARED = 100, 2  # most different answers that are labels, and questions per answer, on average
_GRADES, _GRADED = 10, 5  # the same where all are numbers, since results of calculations repeat too
_SHORT = 40  # characters of an answer that is not reasoned out in words
_NUMBER = re.compile(r"[-+]?[\d.,/ ]*\d[\d.,/ ]*%?")


def are_labels(golds: Collection[str]) -> bool:
    """Return whether many questions share a few right answers, as when things are sorted into groups."""
    distinct = set(golds)
    is_graded = all(_NUMBER.fullmatch(gold) for gold in distinct)
    most, shared = (_GRADES, _GRADED) if is_graded else (_LABELS, _SHARED)
    return 0 < len(distinct) <= min(most, len(golds) // shared)


def are_short(golds: Collection[str]) -> bool:
    """Return whether right answers are a few words or a number each."""
    return max(map(len, golds), default=_SHORT + 1) <= _SHORT


def are_numbers(golds: Collection[str]) -> bool:
    """Return whether most right answers are numbers, so that they may be results of calculations."""
    return len(golds) > 0 and 2 * sum(bool(_NUMBER.fullmatch(gold)) for gold in golds) >= len(golds)
