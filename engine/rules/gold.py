"""What the right answers of a set of questions have in common: labels, short texts, results of calculations."""

import re
from collections.abc import Collection

_LABELS = 100  # most different answers that are labels
_SHARED, _REPEATED = 2, 5  # questions per label, on average, and per number that is one: results repeat by chance
_GRADES = 10  # most numbers that grade things
_CODE = 3  # least digits of a code, such as an account or a postcode
_SHORT = 40  # characters of an answer that is not reasoned out in words
_NUMBER = re.compile(r"[-+]?[\d.,/ ]*\d[\d.,/ ]*%?")


def are_labels(golds: Collection[str]) -> bool:
    """Return whether many questions share a few right answers, as when things are sorted into groups."""
    distinct = set(golds)
    shared = _REPEATED if all(map(_NUMBER.fullmatch, distinct)) else _SHARED
    return 0 < len(distinct) <= min(_LABELS, len(golds) // shared)


def are_short(golds: Collection[str]) -> bool:
    """Return whether right answers are a few words or a number each."""
    return max(map(len, golds), default=_SHORT + 1) <= _SHORT


def may_be_results(golds: Collection[str]) -> bool:
    """Return whether most right answers are numbers that may be worked out: neither a few grades nor codes, which all
    have the same number of digits."""
    if not golds or 2 * sum(bool(_NUMBER.fullmatch(gold)) for gold in golds) < len(golds):
        return False
    digits = {len(gold) if gold.isdecimal() else 0 for gold in golds}
    are_codes = len(digits) == 1 and min(digits) >= _CODE
    return not are_codes and not (are_labels(golds) and len(set(golds)) <= _GRADES)
