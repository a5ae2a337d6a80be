"""What the reader answers: the option that examples vote for, the answer to a similar question, or words of a passage.

At temperature 0 the answer with most weight is chosen, above that one is drawn; a draw depends only on the request.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from mage_es.engine.players.prompts import Example
from mage_es.engine.players.reader.options import BEGUN, options_in
from mage_es.engine.players.reader.passages import Weights, find_answers, words
from mage_es.engine.seams.model import Request

ANSWERED_WITH = re.compile(r"answered with: (.+?)\.?$", re.MULTILINE)
"""How a principle or strategy states the right answer to most questions of a kind."""
UNKNOWN = "unknown"
_ALIKE = 0.5
"""The share of common words from which another question counts as nearly the same."""
_DIGITS = 13
"""Hexadecimal digits of the request's hash that make a draw: as many as a float holds."""


def candidates(question: str, examples: Sequence[Example], advice: Sequence[str] = (), found: str = "") -> Weights:
    """Return the answers that have some support, with their weights; at least one, which may be `UNKNOWN`.

    `question` includes the passage before it, `advice` are principles and strategies, `found` is what was looked up.
    """
    advised = [answer for text in advice for answer in ANSWERED_WITH.findall(text)]
    if options := options_in(question):
        return _voted(options, question, examples, advised) or _spoken_of(options, question)
    passage, _, sentence = BEGUN.sub("", question).strip().rpartition("\n")
    others: Weights = {}
    for example in (example for example in examples if example.answer):
        others[example.answer] = max(_likeness(sentence, example.question), others.get(example.answer, 0.0))
    return (
        {answer: weight for answer, weight in others.items() if weight >= _ALIKE}
        or find_answers(sentence, found)
        or find_answers(sentence, passage)
        or dict.fromkeys(advised, 1.0)
        or others
        or {UNKNOWN: 1.0}
    )


def choose(answers: Weights, request: Request) -> str:
    """The chance of an answer is its weight to the power of 1 / temperature."""
    ordered = sorted(answers, key=lambda answer: -answers[answer])
    most = answers[ordered[0]]
    if not request.temperature or not most:
        return ordered[0]
    reached = list(accumulate((answers[answer] / most) ** (1 / request.temperature) for answer in ordered))
    drawn = int(request.sha256[:_DIGITS], 16) / 16**_DIGITS * reached[-1]
    return ordered[bisect_right(reached, drawn)]


def _voted(options: Mapping[str, str], question: str, examples: Sequence[Example], advised: Sequence[str]) -> Weights:
    votes: Counter[str] = Counter()
    for example in examples:
        if name := _meant(options, example):
            votes[name] += 1 + int(10 * _likeness(question.rpartition("\n")[2], example.question))
    for answer in advised:
        votes.update(name for name in options if name.casefold() == answer.casefold())
    return {name: float(count) for name, count in votes.items()}


def _meant(options: Mapping[str, str], example: Example) -> str:
    """Return the option whose text is nearest to the one that an example chose, or else the one with that name, or
    ""."""
    answer = example.answer.strip("[]() .")
    text = options_in(example.question).get(answer, "")
    if text.casefold() not in ("", answer.casefold()):
        alike = {name: _common(words(text), words(other)) for name, other in options.items()}
        best = max(alike, key=lambda name: alike[name])
        return best if alike[best] else ""
    return next((name for name in options if name.casefold() == answer.casefold()), "")


def _spoken_of(options: Mapping[str, str], question: str) -> Weights:
    told = question
    for name, text in options.items():
        told = re.sub(rf"\(?\b{re.escape(name)}[).:]+ *{re.escape(text)}", " ", told)
    said = {name: words(text) for name, text in options.items()}
    return {name: len(words(told) & own) / (len(own) or 1) for name, own in said.items()}


def _likeness(question: str, other: str) -> float:
    return _common(words(question), words(other.rpartition("\n")[2] or other))


def _common(mine: frozenset[str], theirs: frozenset[str]) -> float:
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0
