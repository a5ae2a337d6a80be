"""ReAct: thoughts and actions in turn, which look up pages until there is an answer; after seven steps the answer is
empty.

Source: ysymyth/ReAct, hotpotqa.ipynb and wikienv.py.

Rules
    - Search[title] opens a page and shows its first five sentences, or names similar titles. Lookup[words] shows the
      next sentence of the open page with these words; other words start from the top. Finish[answer] ends the course.
    - If a reply does not separate an action from its thought, the model is asked once more, only for the action.
"""

import re
from collections.abc import Generator, Mapping, Sequence

import msgspec

from mage_es.engine.courses import Course, Fact, Finish, Look, Move, call_of, fact_of
from mage_es.engine.rules.prompt import Quote, Section
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.search import Page
from mage_es.engine.study.baselines.trial import BaselineTrial
from mage_es.events.vocabulary import SearchAnswered

STEPS = 7  # most steps, as in the original
SENTENCES = 5  # sentences of a page that a search shows, as in the original

_STEP, _ACTION = "react_v1", "react_action_v1"
_STEP_FORM = re.compile(r"\s*(?:Thought(?: \d+)?:)?(.*?)\n\s*Action(?: \d+)?:(.+)", re.DOTALL | re.IGNORECASE)
_ACTION_FORM = re.compile(r"([A-Za-z]+)\[(.*)\]")


class PageReading:
    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._keyword, self._hits, self._next = "", list[str](), 0

    def open(self, page: Page) -> str:
        self._sentences, self._keyword = page.sentences, ""
        return " ".join(self._sentences[:SENTENCES])

    def look_up(self, keyword: str) -> str:
        if not self._sentences:
            return "No page is open: search for one first."
        if keyword.casefold() != self._keyword:
            self._keyword, self._next = keyword.casefold(), 0
            self._hits = [sentence for sentence in self._sentences if self._keyword in sentence.casefold()]
        if self._next >= len(self._hits):
            return "No more results."
        self._next += 1
        return f"(Result {self._next} / {len(self._hits)}) {self._hits[self._next - 1]}"


def react(trial: BaselineTrial) -> Course:
    """Think and act until the answer. The question's own context can be searched, but is not shown."""
    reading, steps, question = PageReading(), list[Quote](), trial.question
    bare = trial._replace(question=msgspec.structs.replace(question, context=""))
    for step in range(1, STEPS + 1):
        thought, action = yield from _thought(bare, steps, step)
        name, argument = read_action(action)
        if name == "finish":
            return Finish(f"Answer: {argument}")
        seen = yield from _observation(question, reading, (name, argument), step)
        step_text = f"Thought {step}: {thought}\nAction {step}: {action}\nObservation {step}: {seen}"
        steps.append(Quote(f"call/{call_of(question.id, 2 * step)}", step_text))
    return Finish("")


def split(reply: str) -> tuple[str, str]:
    """Return the thought and the action of a reply, without any text after them; "" if there is no action."""
    found = _STEP_FORM.match(reply.partition("\nObservation")[0])
    if found is None:
        return reply.strip().partition("\n")[0].removeprefix("Thought:").strip(), ""
    return " ".join(found[1].split()), found[2].strip().partition("\n")[0]


def read_action(action: str) -> tuple[str, str]:
    """Return the name of an action in lower case and its argument; or ("", "")."""
    found = _ACTION_FORM.search(action)
    return (found[1].casefold(), found[2].strip()) if found else ("", "")


def trajectory(question: Question, facts: Sequence[str], pages: Mapping[str, Page]) -> str:
    """Return an example that answers a question by looking up the pages of its supporting facts."""
    lines = []
    for step, title in enumerate(facts, start=1):
        lines += [
            f"Thought {step}: The page of {title} may help.",
            f"Action {step}: Search[{title}]",
            f"Observation {step}: {PageReading().open(pages[title])}",
        ]
    last = len(facts) + 1
    return "\n".join([*lines, f"Thought {last}: That is enough.", f"Action {last}: Finish[{question.gold}]"])


def _thought(bare: BaselineTrial, steps: Sequence[Quote], step: int) -> Generator[Move, Fact, tuple[str, str]]:
    """Ask for a thought and an action; if they are not separate, ask once more for the action."""
    shots = [Quote(f"shot/{shot.question_id}", f"Question: {shot.question}\n{shot.reasoning}") for shot in bare.shots]
    solved, name = Section("Solved earlier", shots), bare.question.id
    reply = yield from bare.ask(_STEP, [solved, Section("Steps so far", steps)], place=2 * step - 1)
    thought, action = split(reply.reply)
    if not action:
        quoted = [*steps, Quote(f"call/{call_of(name, 2 * step - 1)}", f"Thought {step}: {thought}")]
        asked = yield from bare.ask(_ACTION, [solved, Section("Steps so far", quoted)], place=2 * step)
        action = asked.reply.strip().partition("\n")[0]
    return thought, action


def _observation(
    question: Question, reading: PageReading, action: tuple[str, str], step: int
) -> Generator[Move, Fact, str]:
    name, argument = action
    if name == "lookup":
        return reading.look_up(argument)
    if name != "search":
        return "Invalid action. Valid actions are Search, Lookup and Finish, as in Search[Mount Erebus]."
    answered = yield from fact_of(Look(question, argument, step), SearchAnswered)
    if answered.texts:
        return reading.open(Page(answered.titles[0], answered.texts[0]))
    return f"Could not find {argument}. Similar: {', '.join(answered.titles) or 'none'}."
