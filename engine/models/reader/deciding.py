"""Deciding on an answer: by what was right for the most similar questions in the prompt, else by the question alone.

Rules
    - An example of the same kind counts by the words that it shares with the question. With options, its right answer
      votes for the option of the same name, or (where options have texts) for the one whose text is most like its text.
    - A principle that names what questions of this kind are answered with has a vote as well.
    - Without any vote: the option of whose words most are in the question, the answer found in what was looked up, in
      the passage or its table, the most similar example's answer.
    - Whatever speaks for an answer gives it weight; the weightiest is the answer, of equals the first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from mage_es.engine.models.analogist.prompt_reading import Example
from mage_es.engine.models.reader.asking import Wanted, read_wanted
from mage_es.engine.models.reader.candidates import Candidate, ranked
from mage_es.engine.models.reader.passages import find_answers, words
from mage_es.engine.models.reader.tables import calculate

ANSWERED_WITH = re.compile(r"answered with: (.+?)\.?$", re.MULTILINE)
"""How a principle (or a strategy) says what the right answer to most questions of a kind is."""
UNKNOWN = "unknown"
_ALIKE = 0.5
"""Share of common words from which another question counts as nearly the same."""


def decide(question: str, examples: Sequence[Example], lore: Sequence[str], found: str = "") -> str:
    """Return an answer; `UNKNOWN` where nothing in the prompt leads to one."""
    return candidates(question, examples, lore, found)[0].answer


def candidates(question: str, examples: Sequence[Example], lore: Sequence[str], found: str = "") -> list[Candidate]:
    """Return the answers that something speaks for, the weightiest first; at least one.

    Args:
        question: What is asked, with what stands before it.
        examples: Other questions with their right answers.
        lore: Principles and strategies.
        found: What was looked up for the question.
    """
    wanted = read_wanted(question)
    if wanted.options:
        return _voted(wanted, examples, lore) or _spoken_of(wanted)
    if wanted.guess:
        return [Candidate(wanted.guess, 1.0)]
    others = ranked(
        Candidate(example.answer, _likeness(wanted.sentence, example.question))
        for example in examples
        if example.answer
    )
    ways: Iterable[Callable[[], list[Candidate]]] = (
        lambda: [other for other in others if other.weight >= _ALIKE],
        lambda: find_answers(wanted.sentence, found) if found else [],
        lambda: [Candidate(figure, 1.0)] if (figure := calculate(wanted.sentence, wanted.passage)) else [],
        lambda: find_answers(wanted.sentence, wanted.passage),
        lambda: [Candidate(told, 1.0) for text in lore for told in ANSWERED_WITH.findall(text)],
        lambda: others,
    )
    return next((answers for way in ways if (answers := way())), [Candidate(UNKNOWN, 1.0)])


def _voted(wanted: Wanted, examples: Sequence[Example], lore: Sequence[str]) -> list[Candidate]:
    """Return the options that examples and principles speak for."""
    votes: Counter[str] = Counter()
    for example in examples:
        for name in _meant(wanted, example):
            votes[name] += 1 + int(10 * _likeness(wanted.sentence, example.question))
    for text in lore:
        for answer in ANSWERED_WITH.findall(text):
            for name in wanted.options:
                votes[name] += name.casefold() == answer.casefold()
    return ranked(Candidate(name, float(count)) for name, count in votes.items() if count)


def _spoken_of(wanted: Wanted) -> list[Candidate]:
    """Return all options, those first of whose words the question says most, the list of them left out."""
    told = f"{wanted.passage}\n{wanted.sentence}"
    for name, text in wanted.options.items():
        told = re.sub(rf"\(?\b{name}[).:]+ *{re.escape(text)}", " ", told)
    asked = words(told)
    own = {name: words(text) for name, text in wanted.options.items()}
    return ranked(Candidate(name, len(asked & said) / (len(said) or 1)) for name, said in own.items())


def _meant(wanted: Wanted, example: Example) -> list[str]:
    """Return the option that an example's right answer speaks for."""
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
