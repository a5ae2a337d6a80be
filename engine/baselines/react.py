"""ReAct: thoughts and actions in turn; pages are looked up until an answer is given, or after seven steps none is.

Source: ysymyth/ReAct, hotpotqa.ipynb and wikienv.py.

Rules
    - Search[title] opens a page and shows its first five sentences, or names similar titles. Lookup[words] shows the
      next sentence of the open page that holds the words; other words begin anew. Finish[answer] ends it.
    - A reply without an action that can be told from its thought is asked once more, for the action alone.
    - What was found is quoted as data, and so is every earlier thought.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence

import msgspec

from mage_es.engine.baselines.answering import Attempt
from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.courses import Course, Fact, Finish, Look, Move, call_of, found_by
from mage_es.engine.rules.prompt import Quote, Section
from mage_es.engine.search.protocol import Page

STEPS = 7
"""Most thoughts and actions before the answer is empty; the original's."""
SENTENCES = 5
"""Sentences of a page that a search shows; the original's."""

_STEP, _ACTION = "react_v1", "react_action_v1"
_STEP_FORM = re.compile(r"\s*(?:Thought(?: \d+)?:)?(.*?)\n\s*Action(?: \d+)?:(.+)", re.DOTALL | re.IGNORECASE)
_ACTION_FORM = re.compile(r"([A-Za-z]+)\[(.*)\]")


class Reading:
    """A page that is open, and how far a keyword has been followed in it."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._keyword, self._hits, self._next = "", list[str](), 0

    def open(self, page: Page) -> str:
        """Open a page, and return its first sentences."""
        self._sentences, self._keyword = page.sentences, ""
        return " ".join(self._sentences[:SENTENCES])

    def look_up(self, keyword: str) -> str:
        """Return the next sentence that holds a keyword."""
        if not self._sentences:
            return "No page is open: search for one first."
        if keyword.casefold() != self._keyword:
            self._keyword, self._next = keyword.casefold(), 0
            self._hits = [sentence for sentence in self._sentences if self._keyword in sentence.casefold()]
        if self._next >= len(self._hits):
            return "No more results."
        self._next += 1
        return f"(Result {self._next} / {len(self._hits)}) {self._hits[self._next - 1]}"


def react(attempt: Attempt) -> Course:
    """Think and act until an answer is given. What a question brings with it can be searched, but is not shown."""
    reading, steps, question = Reading(), list[Quote](), attempt.question
    bare = attempt._replace(question=msgspec.structs.replace(question, context=""))
    for step in range(1, STEPS + 1):
        thought, action = yield from _thought(bare, steps, step)
        name, argument = read_action(action)
        if name == "finish":
            return Finish(f"Answer: {argument}")
        seen = yield from _observation(question, reading, (name, argument), step)
        told = f"Thought {step}: {thought}\nAction {step}: {action}\nObservation {step}: {seen}"
        steps.append(Quote(f"call/{call_of(question.id, 2 * step)}", told))
    return Finish("")


def split(reply: str) -> tuple[str, str]:
    """Return the thought and the action of a reply, what stands behind them left out; "" for an action that is none."""
    found = _STEP_FORM.match(reply.partition("\nObservation")[0])
    if found is None:
        return reply.strip().partition("\n")[0].removeprefix("Thought:").strip(), ""
    return " ".join(found[1].split()), found[2].strip().partition("\n")[0]


def read_action(action: str) -> tuple[str, str]:
    """Return the name of an action in small letters and its argument; ("", "") for what is none."""
    found = _ACTION_FORM.search(action)
    return (found[1].casefold(), found[2].strip()) if found else ("", "")


def trajectory(question: Question, facts: Sequence[str], pages: Mapping[str, Page]) -> str:
    """Return how a question can be answered by looking up the pages that its supporting facts name."""
    lines = []
    for step, title in enumerate(facts, start=1):
        lines += [
            f"Thought {step}: The page of {title} may help.",
            f"Action {step}: Search[{title}]",
            f"Observation {step}: {Reading().open(pages[title])}",
        ]
    last = len(facts) + 1
    return "\n".join([*lines, f"Thought {last}: That is enough.", f"Action {last}: Finish[{question.gold}]"])


def _thought(bare: Attempt, steps: Sequence[Quote], step: int) -> Generator[Move, Fact, tuple[str, str]]:
    """Ask for a thought and an action; where both cannot be told apart, once more for the action."""
    shots = [Quote(f"shot/{shot.question_id}", f"Question: {shot.question}\n{shot.reasoning}") for shot in bare.shots]
    solved, name = Section("Solved earlier", shots), bare.question.id
    reply = yield from bare.ask(_STEP, [solved, Section("Steps so far", steps)], place=2 * step - 1)
    thought, action = split(reply)
    if not action:
        told = [*steps, Quote(f"call/{call_of(name, 2 * step - 1)}", f"Thought {step}: {thought}")]
        asked = yield from bare.ask(_ACTION, [solved, Section("Steps so far", told)], place=2 * step)
        action = asked.strip().partition("\n")[0]
    return thought, action


def _observation(
    question: Question, reading: Reading, action: tuple[str, str], step: int
) -> Generator[Move, Fact, str]:
    """Return what an action shows."""
    name, argument = action
    if name == "lookup":
        return reading.look_up(argument)
    if name != "search":
        return "Invalid action. Valid actions are Search[title], Lookup[words] and Finish[answer]."
    answered = yield from found_by(Look(question, argument, step))
    if answered.texts:
        return reading.open(Page(answered.titles[0], answered.texts[0]))
    return f"Could not find {argument}. Similar: {', '.join(answered.titles) or 'none'}."
