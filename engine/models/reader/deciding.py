"""Deciding on an answer: by what was right for the most similar questions in the prompt, else by the question alone.

Rules
    - An example of the same kind counts by the words that it shares with the question. With options, its right answer
      votes for the option of the same name, or (where options have texts) for the one with most words of its text.
    - A principle that names what questions of this kind are answered with has a vote as well.
    - Without any vote: the option that shares most words with the question, the answer found in the passage or its
      table, the most similar example's answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mage_es.engine.models.analogist.prompt_reading import Example
from mage_es.engine.models.reader.asking import Wanted, read_wanted
from mage_es.engine.models.reader.passages import find_answer, words
from mage_es.engine.models.reader.tables import calculate

ANSWERED_WITH = re.compile(r"answered with: (.+?)\.?$", re.MULTILINE)
"""How a principle (or a strategy) says what the right answer to most questions of a kind is."""
UNKNOWN = "unknown"
_ALIKE = 0.5
"""Share of common words from which another question counts as nearly the same."""


def decide(question: str, examples: Sequence[Example], lore: Sequence[str]) -> str:
    """Return an answer; `UNKNOWN` where nothing in the prompt leads to one."""
    wanted = read_wanted(question)
    if wanted.options:
        return _chosen(wanted, examples, lore)
    if wanted.guess:
        return wanted.guess
    answered = [example for example in examples if example.answer]
    ranked = sorted(answered, key=lambda example: -_likeness(wanted.sentence, example.question))
    if ranked and _likeness(wanted.sentence, ranked[0].question) >= _ALIKE:
        return ranked[0].answer
    found = calculate(wanted.sentence, wanted.passage) or find_answer(wanted.sentence, wanted.passage)
    told = [match for text in lore for match in ANSWERED_WITH.findall(text)]
    return found or next(iter(told), "") or (ranked[0].answer if ranked else UNKNOWN)


def _chosen(wanted: Wanted, examples: Sequence[Example], lore: Sequence[str]) -> str:
    votes: Counter[str] = Counter()
    for example in examples:
        for name in _meant(wanted, example):
            votes[name] += 1 + int(10 * _likeness(wanted.sentence, example.question))
    for text in lore:
        for answer in ANSWERED_WITH.findall(text):
            for name in wanted.options:
                votes[name] += name.casefold() == answer.casefold()
    if votes and votes.most_common(1)[0][1] > 0:
        return votes.most_common(1)[0][0]
    told = f"{wanted.passage}\n{wanted.sentence}"
    for text in filter(None, wanted.options.values()):  # else the longest option has most words in common, its own
        told = told.replace(text, " ")
    asked = words(told)
    return max(wanted.options, key=lambda name: len(asked & words(wanted.options[name])))


def _meant(wanted: Wanted, example: Example) -> list[str]:
    """Return the option that an example's right answer speaks for."""
    answer = example.answer.strip("[]() .")
    own = read_wanted(example.question).options.get(answer, "")
    if own and own.casefold() != answer.casefold():
        shares = {name: len(words(own) & words(text)) for name, text in wanted.options.items()}
        best = max(shares, key=lambda name: shares[name])
        return [best] if shares[best] else []
    return [name for name in wanted.options if name.casefold() == answer.casefold()]


def _likeness(question: str, other: str) -> float:
    mine, theirs = words(question), words(other.rpartition("\n")[2] or other)
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0
