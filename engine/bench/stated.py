"""Whether prose gives an answer, and whether a differing answer may mean the same: for benchmarks that leave what their
rule cannot decide to a judge."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from mage_es.engine.benchmarks.answers import CLOSED, normalise_answer
from mage_es.engine.seams.extraction import refuses

_FUNCTION_WORDS = frozenset(
    {"also", "and", "for", "from", "her", "his", "its", "not", "that", "their", "they", "this", "was", "were", "with"}
)
"""Words that carry no part of an answer's meaning; words of one or two letters never count."""

_WORD = re.compile(r"[^\W_]+")
_INITIALS = re.compile(r"\b(?:[A-Z]\.\s?){2,}")
_POSSESSIVE = re.compile(r"['’]s\b")
_FOOTNOTE = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})[0-9](?=[.,]?(?:\s|$))")
_RANGE = re.compile(r"(?<=[0-9])\s?[-–—]\s?(?=[0-9])")
_UP_TO = "upto"
_SENTENCE = re.compile(r"(?<=[.!?\n])\s+")
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_GROUPED = re.compile(r"(?<=[0-9]),(?=[0-9]{3})")
_PARENTHESIS = re.compile(r"\(([^()]*)\)")
_LISTED = re.compile(r"\s*(?:,|;|&|\band\b)\s*")
_DENYING = frozenset({"not", "never", "nor", "neither", "isn", "wasn", "aren", "weren", "unlike", "except"})
_DENYING_PAIRS = frozenset({("rather", "than"), ("instead", "of"), ("other", "than"), ("opposed", "to")})
_REACH = 3
"""How many words may lie between a "not" and the answer that it denies."""
_LONGEST_PROSE = 8000
_MOST_PARTS = 6
_LONG = 6
"""How many letters a word must have for another spelling to be allowed."""


def may_mean(answer: str, gold: str) -> bool:
    """Return whether a wrong answer shares something with the expected one, so that a judge should decide.

    It may share a yes or no, any other word of three letters or more (except function words), a number, or the
    initials.
    """
    left, right = normalise_answer(answer).split(), normalise_answer(gold).split()
    shared = set(left) & set(right)
    if any(word in CLOSED or word.isdigit() or len(word) > 2 for word in shared - _FUNCTION_WORDS):
        return True
    return _is_initials(left, right) or _is_initials(right, left)


def is_other(answer: str, gold: str) -> bool:
    """Return whether two answers share words, and each has one that the other lacks."""
    left, right = Counter(_words(answer)), Counter(_words(gold))
    return bool(left & right) and bool(left - right) and bool(right - left)


def _is_initials(short: list[str], long: list[str]) -> bool:
    return len(short) == 1 and len(long) > 1 and short[0] == "".join(word[0] for word in long)


def states(prose: str, gold: str, question: str = "") -> bool:
    """Return whether prose gives an answer: word for word, without a middle name, or with a list in another order.

    A mention that is denied ("not in Paris"), one of several alternatives ("Paris or Rome"), the end of a range and a
    refusal are not answers. Neither is a number after the first sentence that gives one, nor a word of the question
    itself (any reply may repeat it), unless it comes first. Case, accents, plurals, punctuation, one letter more or
    less in long names and footnote digits after a year do not count.
    """
    said = prose[:_LONGEST_PROSE].strip()
    normal = normalise_answer(gold)
    if normal in CLOSED:
        return _words(said)[:1] == [normal]
    if not normal or refuses(said.partition("\n")[0]):
        return False
    asked = _words(question)
    if any(map(str.isdigit, _words(gold))):
        said = _first_with_number(said, asked)
    texts = [_words(said), _words(_FOOTNOTE.sub(r"\1", said))]
    for form in _forms(gold):
        wanted = _words(_ARTICLE.sub("", form))
        if not wanted:
            continue
        if _is_initialled(said, wanted):
            return True
        for words in texts:
            places = [place for place in _places(words, wanted) if _is_given(words, place, len(wanted))]
            if places and (not _places(asked, wanted) or _comes_first(words[: places[0]], asked)):
                return True
        if not _places(asked, wanted) and _has_parts(texts[0], form):
            return True
    return False


def _is_initialled(said: str, name: Sequence[str]) -> bool:
    """Return whether a name of two words occurs with initials in place of the first."""
    if len(name) != 2 or not all(word.isalpha() and len(word) > 2 for word in name):
        return False
    return re.search(rf"\b{name[0][0].upper()}\.\s?(?:[A-Z]\.\s?){{0,4}}{name[1].title()}", said) is not None


def _comes_first(before: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether nothing precedes an answer or, in an either-or question, none of the other alternatives does."""
    ors = [place for place, word in enumerate(asked) if word == "or"]
    others = {word for place in ors for word in asked[max(0, place - 2) : place + 3]} - {"or"}
    return not before or (bool(ors) and others.isdisjoint(before))


def _first_with_number(said: str, asked: Sequence[str]) -> str:
    """Return prose up to the first sentence with a number that the question does not have."""
    sentences = _SENTENCE.split(said)
    known = set(asked)
    for place, sentence in enumerate(sentences):
        if any(word[0].isdigit() and word not in known for word in _words(sentence)):
            return " ".join(sentences[: place + 1])
    return said


def _forms(gold: str) -> list[str]:
    """Return a gold answer unchanged, without its parenthesis, and as the acronym in the parenthesis."""
    inside = _PARENTHESIS.findall(gold)
    return [gold, *([_PARENTHESIS.sub(" ", gold)] if inside else []), *(part for part in inside if part.isupper())]


def _words(text: str) -> list[str]:
    joined = _INITIALS.sub(lambda found: re.sub(r"[.\s]", "", found[0]) + " ", text)
    plain = unicodedata.normalize("NFKD", _GROUPED.sub("", _POSSESSIVE.sub("", joined))).casefold()
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = (word for word in _WORD.findall(_RANGE.sub(f" {_UP_TO} ", plain)) if word != "the")
    return [word[:-1] if len(word) > 3 and word[-1] == "s" and not word.isdigit() else word for word in words]


def _places(words: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return where words occur one after another, or where a three-word name occurs with only its first and last
    word."""
    ends = (
        [wanted, [wanted[0], wanted[-1]]]
        if len(wanted) == 3 and wanted[1].isalpha() and len(wanted[0]) > 2
        else [wanted]
    )
    return sorted(
        place
        for each in ends
        for place in range(len(words) - len(each) + 1)
        if all(
            _is_spelt(word, other, len(each))
            for word, other in zip(words[place : place + len(each)], each, strict=True)
        )
    )


def _is_spelt(word: str, wanted: str, length: int) -> bool:
    """Return whether two words are equal; in a name of several words a long one may have one letter more or less."""
    if word == wanted or length < 2 or min(len(word), len(wanted)) < _LONG or abs(len(word) - len(wanted)) != 1:
        return word == wanted
    short, long = sorted((word, wanted), key=len)
    at = next((place for place, letter in enumerate(short) if letter != long[place]), len(short))
    return at > 0 and short[at:] == long[at + 1 :]


def _is_given(words: Sequence[str], place: int, length: int) -> bool:
    before = words[max(0, place - _REACH) : place]
    if not _DENYING.isdisjoint(before) or any(pair in _DENYING_PAIRS for pair in pairwise(before)):
        return False
    if words[max(0, place - 1) : place] == [_UP_TO]:
        return False
    return "or" not in (*words[max(0, place - 1) : place], *words[place + length : place + length + 1])


def _has_parts(words: Sequence[str], gold: str) -> bool:
    """Return whether all items of a gold list occur close together, in any order."""
    parts = [part for part in (_words(each) for each in _LISTED.split(gold)) if part]
    if not 2 <= len(parts) <= _MOST_PARTS:
        return False
    first = [next(iter(_places(words, part)), None) for part in parts]
    places = [place for place in first if place is not None]
    return len(places) == len(parts) and max(places) - min(places) <= 4 * sum(map(len, parts)) + 4
