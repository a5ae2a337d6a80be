"""Acting in prompts that offer Search, Lookup and Finish: it searches what is named, then answers.

It searches the names of the question first; then titles that are suggested; then names near the question's words in
what was read. It does nothing twice, and after `MOST_SEARCHES` it gives the answer that its observations support.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mage_es.engine.players.prompts import read_question_prompt, sections_of
from mage_es.engine.players.reader.answering import candidates, choose
from mage_es.engine.players.reader.passages import names_in, nearest_sentences, words
from mage_es.engine.seams.model import Request

MOST_SEARCHES = 6
_QUESTION, _SO_FAR = "\n## Question\n", "Steps so far"
_FORMS = ("Search[", "Finish[")
_STEP = re.compile(r"^Action \d+: [A-Za-z]+\[(.*)\]\nObservation \d+: (.*)$", re.MULTILINE)
_MISSED = re.compile(r"Could not find .*?\. Similar: (.+)\.$")
_QUOTED = re.compile(r"[\"“]([^\"“”]{2,80})[\"”]")


class Lookup(NamedTuple):
    argument: str
    seen: str


def is_offered(request: Request) -> bool:
    """Return whether a request asks for actions of this form, rather than just quoting some."""
    return all(form in request.system for form in _FORMS)


def act(request: Request) -> str:
    told = sections_of(f"\n{request.prompt}".partition(_QUESTION)[0])
    steps = [Lookup(*step) for step in _STEP.findall(told.get(_SO_FAR, ""))]
    thought, action = _chosen(request, read_question_prompt(request).question, steps)
    return f"Thought: {thought}\nAction: {action}" if '"Thought: "' in request.system else f"Action: {action}"


def _chosen(request: Request, question: str, steps: Sequence[Lookup]) -> tuple[str, str]:
    pages = [step for step in steps if not step.seen.startswith("Could not find ")]
    passage = "\n".join(f"[{at}] {page.argument}: {page.seen}" for at, page in enumerate(pages, start=1))
    done = {step.argument.casefold() for step in steps}
    for title in map(_in_a_line, _titles(question, steps, passage) if len(steps) < MOST_SEARCHES else ()):
        if title and title.casefold() not in done:
            return f"The page of {title} may tell.", f"Search[{title}]"
    answer = _in_a_line(choose(candidates(f"{passage}\n{question}", ()), request))
    return f"The nearest that was found is {answer}.", f"Finish[{answer}]"


def _titles(question: str, steps: Sequence[Lookup], passage: str) -> Iterator[str]:
    yield from (_QUOTED.findall(question) + names_in(question)) or [question]
    for step in steps:
        if missed := _MISSED.match(step.seen):
            yield from (title for title in missed[1].split(", ") if words(title) & words(question))
    for sentence, _ in nearest_sentences(question, passage):
        yield from (name for name in names_in(sentence) if not words(name) <= words(question))


def _in_a_line(text: str) -> str:
    return " ".join(text.split())
