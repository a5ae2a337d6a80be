"""What the right answers of a set of questions have in common: labels, short texts, copies, results of calculations."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain, groupby

_LABELS = 100  # most different answers that are labels
_SHARED, _REPEATED = 2, 5  # questions per label, on average, and per number that is one: results repeat by chance
_GRADES = 10  # most numbers that grade things
_CODE = 3  # least digits of a code, such as an account or a postcode
_SHORT = 32  # letters and digits of an answer that is not reasoned out in words
_COPIED = 2 / 3  # share of the characters of copied answers that their questions have
PIECE = re.compile(r"\d+|[^\W\d_]+")
"""Letters or digits in an answer: Z4H has three pieces."""
_NUMBER = re.compile(r"(?=.*\d)[-+]?(?:\d{1,3}(?:[., ]\d{3})+|\d*)(?:[.,]\d*| ?\d+/\d+)? ?%?")
"""A quantity: 1,250.75, 7 1/2 or 12 %, but neither a date as 12.03.2024 nor a telephone number."""


def are_labels(golds: Collection[str]) -> bool:
    """Return whether many questions share a few right answers, as when things are sorted into groups."""
    distinct = set(golds)
    shared = _REPEATED if all(map(_NUMBER.fullmatch, distinct)) else _SHARED
    return 0 < len(distinct) <= min(_LABELS, len(golds) // shared)


def are_short(golds: Collection[str]) -> bool:
    """Return whether right answers are a few words or a number each, apart from what most answers have, such as the
    names of the fields of a JSON."""
    own = _own([PIECE.findall(gold.casefold()) for gold in golds])
    return max((sum(map(len, pieces)) for pieces in own), default=_SHORT + 1) <= _SHORT


def are_copied(asked: Sequence[tuple[str, str]]) -> bool:
    """Return whether right answers are mostly copied out of their questions, given both: the same letters and numbers,
    apart from those that most answers have."""
    said = copied = 0
    for (question, _), own in zip(asked, _own([_pieces(answer) for _, answer in asked]), strict=True):
        pieces = {*_pieces(question)}
        said += sum(map(len, own))
        copied += sum(len(piece) for piece in own if piece in pieces)
    return copied > _COPIED * said


def copied_from(question: str, answer: str) -> frozenset[str]:
    """Return the places in a question that its answer is copied from: the word before and the word after each stretch
    of it that the answer has; a number, whichever it is, as 0. What a longer stretch also has is not copied from a
    shorter one: another date in the same year."""
    asked, answered = _pieces(question), {*_pieces(answer)}
    words = ["", *("0" if piece.isdecimal() else piece for piece in asked), ""]
    at, places, copied = 0, set[str](), set[str]()
    stretches = list[tuple[int, int]]()
    for is_copied, group in groupby(asked, answered.__contains__):
        size = len([*group])
        stretches += [(at, at + size)] * is_copied
        at += size
    for begin, end in sorted(stretches, key=lambda stretch: stretch[0] - stretch[1]):
        if not copied.issuperset(asked[begin:end]):
            places |= {f"{words[begin]} _", f"_ {words[end + 1]}"}
            copied.update(asked[begin:end])
    return frozenset(places)


def _own(answers: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the pieces of each answer that not most answers have."""
    counts = Counter(chain.from_iterable(map(set, answers)))
    return [[piece for piece in answer if 2 * counts[piece] <= len(answers)] for answer in answers]


def _pieces(text: str) -> list[str]:
    # 0082 is 82.
    return [piece.lstrip("0") or "0" for piece in PIECE.findall(text.casefold())]


def may_be_results(golds: Collection[str]) -> bool:
    """Return whether most right answers are numbers that may be worked out: neither a few grades nor codes, which all
    have the same number of digits."""
    if not golds or 2 * sum(bool(_NUMBER.fullmatch(gold)) for gold in golds) < len(golds):
        return False
    digits = {len(gold) if gold.isdecimal() else 0 for gold in golds}
    are_codes = len(digits) == 1 and min(digits) >= _CODE
    return not are_codes and not (are_labels(golds) and len(set(golds)) <= _GRADES)
