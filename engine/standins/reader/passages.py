"""Finding a short answer in a passage: a name, a date or a number near the question's words but not among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import dropwhile

from mage_es.engine.standins.reader.candidates import WeighedAnswer, ranked

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_NAME = re.compile(r"(?:[A-Z][\w'.-]*)(?: (?:of|the|de|van|von)(?= [A-Z])| [A-Z][\w'.-]*|(?<=[a-z]) ?& ?(?=[A-Z]))*")
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
_NEAREST = 3
"""Sentences to look for answers in."""
_TIMED = ("when", "what year", "how many", "how much", "how old", "which year", "in which year")


def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _COMMON


def sentences_of(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]


def nearest_sentences(question: str, passage: str) -> list[tuple[str, float]]:
    """How near: 0 without a common word; a word counts for less if more sentences have it."""
    asked, sentences = words(question), sentences_of(passage)
    spread = Counter(word for sentence in sentences for word in words(sentence))
    near = ((text, sum(1 / spread[word] for word in sorted(asked & words(text)))) for text in sentences)
    return sorted(near, key=lambda pair: -pair[1])


def names_in(text: str) -> list[str]:
    pieces = (name.rstrip(".,'").split() for name in _NAME.findall(text))
    begun = (" ".join(dropwhile(lambda word: word.casefold() in _COMMON, piece)) for piece in pieces)
    return [name for name in begun if len(name) > 2]


def find_answers(question: str, passage: str) -> list[WeighedAnswer]:
    """An answer weighs as much as its sentence is near to the question, divided by its place in the sentence."""
    asked = words(question)
    near = nearest_sentences(question, passage)
    if either := _EITHER.search(question.strip()):
        return _each_of(either.groups(), [sentence for sentence, _ in near[:4]])
    is_number = question.casefold().startswith(_TIMED) or any(f" {cue} " in question.casefold() for cue in _TIMED)
    answers = []
    for sentence, nearness in near[:_NEAREST]:
        said = (text for text in _said(_LABEL.sub("", sentence), is_number=is_number) if not words(text) <= asked)
        answers += [WeighedAnswer(text, nearness / place) for place, text in enumerate(said, start=1) if nearness]
    return ranked(answers)


def _said(sentence: str, *, is_number: bool) -> Iterator[str]:
    if is_number:
        yield from (number.rstrip(".,") for number in _NUMBER.findall(sentence))
    else:
        yield from (name.rstrip(".,'") for name in _NAME.findall(sentence) if len(name) > 2)


def _each_of(options: Sequence[str], sentences: Sequence[str]) -> list[WeighedAnswer]:
    shares = [sum(len(words(option) & words(sentence)) for sentence in sentences) for option in options]
    return ranked(WeighedAnswer(option.strip(), share) for option, share in zip(options, shares, strict=True))
