"""Acting in prompts that offer Search, Lookup and Finish: it looks up what is named, then answers.

It searches the names of the question first; then suggested titles; then names near the question's words in what was
read. It does nothing twice, and after `MOST_ACTIONS` it gives the answer that the observations hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from mage_es.engine.seams.model import Request
from mage_es.engine.standins.prompts import Example, read_question_prompt, sections_of
from mage_es.engine.standins.reader.deciding import candidates
from mage_es.engine.standins.reader.passages import names_in, nearest_sentences, sentences_of, words

MOST_ACTIONS = 6
"""Most searches and lookups before the answer."""
_SHOWN = 5
"""Sentences of a page that a search shows; a page with fewer has no others."""
_NEAREST = 3
"""Sentences, nearest to the question, whose names it may search."""
_MOST_FOLLOWED = 2
"""Most names of those sentences to search."""
_MOSTLY = 0.5
"""Share of a title's words that makes it worth searching first."""

_QUESTION, _SO_FAR = "\n## Question\n", "Steps so far"
_FORMS = ("Search[", "Finish[")
_STEP = re.compile(r"^Action \d+: ([A-Za-z]+)\[(.*)\]\nObservation \d+: (.*)$", re.MULTILINE)
_FURTHER = re.compile(r"^\(Result \d+ / \d+\) ")
_MISSED = re.compile(r"Could not find .*?\. Similar: (.+)\.$")
_QUOTED = re.compile(r"[\"“]([^\"“”]{2,80})[\"”]")
_ENDED = re.compile(r"Finish\[(.*)\]")


class Lookup(msgspec.Struct, frozen=True):
    action: str
    argument: str
    seen: str

    @property
    def similar(self) -> list[str]:
        missed = _MISSED.match(self.seen) if self.action == "search" else None
        return missed[1].split(", ") if missed and missed[1] != "none" else []

    @property
    def is_page(self) -> bool:
        return self.action == "search" and not self.seen.startswith("Could not find ")


def is_offered(request: Request) -> bool:
    """Return whether a request asks for actions of this form, and does not just quote some."""
    return all(form in request.system for form in _FORMS)


def act(request: Request) -> str:
    told = sections_of(f"\n{request.prompt}".partition(_QUESTION)[0])
    steps = [Lookup(name.casefold(), argument, seen) for name, argument, seen in _STEP.findall(told.get(_SO_FAR, ""))]
    thought, action = _chosen(read_question_prompt(request).question, steps, _solved(told.get("Solved earlier", "")))
    return f"Thought: {thought}\nAction: {action}" if '"Thought: "' in request.system else f"Action: {action}"


def _chosen(question: str, steps: Sequence[Lookup], examples: Sequence[Example]) -> tuple[str, str]:
    if len(steps) < MOST_ACTIONS:
        done = {step.argument.casefold() for step in steps}
        if (word := _unseen(question, steps)) and word not in done:
            return f"The page may say more about {word}.", f"Lookup[{word}]"
        for title in map(_in_a_line, _titles(question, steps)):
            if title and title.casefold() not in done:
                return f"The page of {title} may tell.", f"Search[{title}]"
    answer = _in_a_line(candidates(f"{_passage(steps)}\n{question}", examples)[0].answer)
    return f"The nearest that was found is {answer}.", f"Finish[{answer}]"


def _titles(question: str, steps: Sequence[Lookup]) -> Iterator[str]:
    yield from (_QUOTED.findall(question) + names_in(question)) or [question]
    asked, told = words(question), list(dict.fromkeys(title for step in steps for title in step.similar))
    near = [sentence for sentence, _ in nearest_sentences(question, _passage(steps))[:_NEAREST]]
    read = asked.union(*map(words, near))
    shares = {title: len(words(title) & read) / len(words(title) or [1]) for title in told}
    ranked = sorted(told, key=lambda title: -shares[title])
    yield from (title for title in ranked if shares[title] >= _MOSTLY)
    yield from [name for sentence in near for name in names_in(sentence) if not words(name) <= asked][:_MOST_FOLLOWED]
    yield from (title for title in ranked if shares[title] > 0)


def _unseen(question: str, steps: Sequence[Lookup]) -> str:
    """Return "" unless a page is open that may go on."""
    page = next((step for step in reversed(steps) if step.is_page), None)
    if page is None or len(sentences_of(page.seen)) < _SHOWN:
        return ""
    left = words(question) - words(_passage(steps))
    return max(sorted(left), key=len, default="")


def _passage(steps: Sequence[Lookup]) -> str:
    read = [step for step in steps if step.is_page or _FURTHER.match(step.seen)]
    lines = (f"[{number}] {step.argument}: {_FURTHER.sub('', step.seen)}" for number, step in enumerate(read, start=1))
    return "\n".join(lines)


def _solved(section: str) -> list[Example]:
    solved = []
    for block in section.strip().split("\n\n"):
        asked, _, rest = block.partition("\n")
        if ended := _ENDED.search(rest.rpartition("\n")[2]):
            solved.append(Example(question=asked.removeprefix("Question: "), reasoning="", answer=ended[1]))
    return solved


def _in_a_line(text: str) -> str:
    return " ".join(text.split())
