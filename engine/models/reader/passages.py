"""Finding a short answer in a passage: a name, a date or a number near the question's words, and not among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_NAME = re.compile(
    r"(?:[A-Z][\w'.-]*)(?: (?:of|the|and|de|van|von) (?=[A-Z])| [A-Z][\w'.-]*|(?<=[a-z]) ?& ?(?=[A-Z]))*"
)
_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_EITHER = re.compile(
    r"(?<![\w'.-])([\w'.-]++(?: [\w'.-]++){0,4}) or (?:the )?([\w'.-]++(?: [\w'.-]++){0,4}) ?\?$", re.IGNORECASE
)
_LABEL = re.compile(r"^\[\d+\] (.+?): ")
_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be by did do does for from had has have he her his how in is it its of on or she that the "
        "their they this to was were what when where which who whose will with"
    )
)
_TIMED = ("when", "what year", "how many", "how much", "how old", "which year", "in which year")


def words(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about."""
    return frozenset(_WORD.findall(text.casefold())) - _COMMON


def find_answer(question: str, passage: str) -> str:
    """Return a short answer to a question in a passage, "" if nothing in it shares a word with the question."""
    asked = words(question)
    sentences = [sentence for sentence in _SENTENCE.split(passage) if sentence.strip()]
    spread = Counter(word for sentence in sentences for word in words(sentence))
    ranked = sorted(sentences, key=lambda sentence: -_nearness(asked, sentence, spread))
    if either := _EITHER.search(question.strip()):
        return _one_of(either.groups(), ranked)
    is_number = question.casefold().startswith(_TIMED) or any(f" {cue} " in question.casefold() for cue in _TIMED)
    for sentence in ranked[:3]:
        if not asked & words(sentence):
            break
        for candidate in _candidates(_LABEL.sub("", sentence), is_number=is_number):
            if not words(candidate) <= asked:
                return candidate
    return ""


def _nearness(asked: frozenset[str], sentence: str, spread: Counter[str]) -> float:
    return sum(1 / spread[word] for word in sorted(asked & words(sentence)))


def _candidates(sentence: str, *, is_number: bool) -> Iterator[str]:
    if is_number:
        yield from (number.rstrip(".,") for number in _NUMBER.findall(sentence))
    else:
        yield from (name.rstrip(".,'") for name in _NAME.findall(sentence) if len(name) > 2)


def _one_of(options: Sequence[str], ranked: Sequence[str]) -> str:
    """Return the option that the sentences nearest to the question speak of more."""
    shares = [sum(len(words(option) & words(sentence)) for sentence in ranked[:4]) for option in options]
    return options[shares.index(max(shares))].strip()
