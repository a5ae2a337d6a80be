"""Finding a short answer in a passage: a name, a date or a number near the question's words but not among them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import dropwhile

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_NAME = re.compile(r"(?:[A-Z][\w'.-]*)(?: (?:of|the|de|van|von)(?= [A-Z])| [A-Z][\w'.-]*|(?<=[a-z]) ?& ?(?=[A-Z]))*")
_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_LABEL = re.compile(r"^\[\d+\] (.+?): ")
_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be by did do does for from had has have he her his how in is it its of on or she that the "
        "their they this to was were what when where which who whose will with"
    )
)
_NEAREST = 3
"""How many sentences to look for answers in."""
_TIMED = ("when", "what year", "how many", "how much", "how old", "which year", "in which year")

Weights = dict[str, float]
"""Each answer's support."""


def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _COMMON


def nearest_sentences(question: str, passage: str) -> list[tuple[str, float]]:
    """How near it is: 0 without a common word; a word counts for less if more sentences have it."""
    asked, sentences = words(question), [sentence for sentence in _SENTENCE.split(passage) if sentence.strip()]
    spread = Counter(word for sentence in sentences for word in words(sentence))
    near = ((text, sum(1 / spread[word] for word in sorted(asked & words(text)))) for text in sentences)
    return sorted(near, key=lambda pair: -pair[1])[:_NEAREST]


def names_in(text: str) -> list[str]:
    pieces = (name.rstrip(".,'").split() for name in _NAME.findall(text))
    begun = (" ".join(dropwhile(lambda word: word.casefold() in _COMMON, piece)) for piece in pieces)
    return [name for name in begun if len(name) > 2]


def find_answers(question: str, passage: str) -> Weights:
    """An answer's weight is its sentence's nearness to the question, divided by its place in the sentence."""
    asked, folded = words(question), question.casefold()
    is_number = folded.startswith(_TIMED) or any(f" {cue} " in folded for cue in _TIMED)
    found: Weights = {}
    for sentence, nearness in nearest_sentences(question, passage):
        said = _LABEL.sub("", sentence)
        texts = [text.rstrip(".,") for text in _NUMBER.findall(said)] if is_number else names_in(said)
        for place, text in enumerate((text for text in texts if not words(text) <= asked), start=1):
            if nearness:
                found[text] = max(nearness / place, found.get(text, 0.0))
    return found
