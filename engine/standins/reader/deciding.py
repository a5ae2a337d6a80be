"""Deciding on an answer: by what was right for similar questions in the prompt, else by the question alone.

An example votes with the words that it shares with the question; a principle that names the usual answer votes too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from mage_es.engine.standins.prompts import Example
from mage_es.engine.standins.reader.asking import Wanted, read_wanted
from mage_es.engine.standins.reader.candidates import WeighedAnswer, ranked
from mage_es.engine.standins.reader.passages import find_answers, words
from mage_es.engine.standins.reader.tables import calculate

ANSWERED_WITH = re.compile(r"answered with: (.+?)\.?$", re.MULTILINE)
"""How a principle or a strategy names the right answer to most questions of a kind."""
UNKNOWN = "unknown"
_ALIKE = 0.5
"""Least share of common words for another question to count as nearly the same."""


def candidates(
    question: str, examples: Sequence[Example], advice: Sequence[str] = (), found: str = ""
) -> list[WeighedAnswer]:
    """Return the answers with some support, the weightiest first; at least one, perhaps `UNKNOWN`.

    `question` includes the passage before it, `advice` are principles and strategies, `found` is what was looked up.
    """
    wanted = read_wanted(question)
    if wanted.options:
        return _voted(wanted, examples, advice) or _spoken_of(wanted)
    if wanted.guess:
        return [WeighedAnswer(wanted.guess, 1.0)]
    others = ranked(
        WeighedAnswer(example.answer, _likeness(wanted.sentence, example.question))
        for example in examples
        if example.answer
    )
    ways: Iterable[Callable[[], list[WeighedAnswer]]] = (
        lambda: [other for other in others if other.weight >= _ALIKE],
        lambda: find_answers(wanted.sentence, found) if found else [],
        lambda: [WeighedAnswer(figure, 1.0)] if (figure := calculate(wanted.sentence, wanted.passage)) else [],
        lambda: find_answers(wanted.sentence, wanted.passage),
        lambda: [WeighedAnswer(told, 1.0) for text in advice for told in ANSWERED_WITH.findall(text)],
        lambda: others,
    )
    return next((answers for way in ways if (answers := way())), [WeighedAnswer(UNKNOWN, 1.0)])


def _voted(wanted: Wanted, examples: Sequence[Example], advice: Sequence[str]) -> list[WeighedAnswer]:
    votes: Counter[str] = Counter()
    for example in examples:
        for name in _meant(wanted, example):
            votes[name] += 1 + int(10 * _likeness(wanted.sentence, example.question))
    for text in advice:
        for answer in ANSWERED_WITH.findall(text):
            for name in wanted.options:
                votes[name] += name.casefold() == answer.casefold()
    return ranked(WeighedAnswer(name, float(count)) for name, count in votes.items() if count)


def _spoken_of(wanted: Wanted) -> list[WeighedAnswer]:
    told = f"{wanted.passage}\n{wanted.sentence}"
    for name, text in wanted.options.items():
        told = re.sub(rf"\(?\b{name}[).:]+ *{re.escape(text)}", " ", told)
    asked = words(told)
    own = {name: words(text) for name, text in wanted.options.items()}
    return ranked(WeighedAnswer(name, len(asked & said) / (len(said) or 1)) for name, said in own.items())


def _meant(wanted: Wanted, example: Example) -> list[str]:
    answer = example.answer.strip("[]() .")
    own = read_wanted(example.question).options.get(answer, "")
    if own and own.casefold() != answer.casefold():
        alike = {name: _common(words(own), words(text)) for name, text in wanted.options.items()}
        best = max(alike, key=lambda name: alike[name])
        return [best] if alike[best] else []
    return [name for name in wanted.options if name.casefold() == answer.casefold()]


def _likeness(question: str, other: str) -> float:
    return _common(words(question), words(other.rpartition("\n")[2] or other))


def _common(mine: frozenset[str], theirs: frozenset[str]) -> float:
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0
