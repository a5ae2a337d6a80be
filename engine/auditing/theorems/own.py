"""No memory of a question in its own prompt: what a plan shows was made from other questions (rules/own.py), and what
an anchor is shown from questions that are not anchors.

From the log alone: memories, principles and action recipes by the ids that a plan and an episode's steps name; a tool
by the length of its quotation in the first prompt, which is that of the tool without the question's own examples.
"""

from collections.abc import Iterable, Iterator

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.rules.ingredients import tool_section
from mage_es.engine.rules.own import OF_ANCHORS, examples_of_others, is_own_principle
from mage_es.engine.rules.prompt import quoted
from mage_es.engine.seams.check import Check
from mage_es.events import vocabulary as v
from mage_es.events.facts.private import is_erased, texts_in
from mage_es.events.log import LogReader

NAME = "own memories"
CLAIM = "no memory of a question in its own prompt"
BOUND = "0 of its own"


def check_own(reader: LogReader, config: Config) -> Check:
    """Return whether no plan, and no step of an episode, shows a question what was made from it."""
    if config.revisit_self == "include":
        return Check(name=NAME, ok=True, detail="nothing is claimed: revisit_self is `include`", bound="none")
    written, prompts = _Written(), 0
    for seq, event in reader.numbered(
        v.ActionRecipeHarvested, v.EpisodeStepped, v.MemoryAppended, v.QuestionPlanned, v.ToolAuthored
    ):
        prompts += isinstance(event, v.QuestionPlanned | v.EpisodeStepped)
        if found := next(written.shown_to_its_own(event), ""):
            return Check(name=NAME, ok=False, detail=found, measured="1 of its own", bound=BOUND, seq=seq)
    return Check(name=NAME, ok=True, detail=f"{CLAIM}: {prompts} plans and steps", measured=BOUND, bound=BOUND)


class _Written:
    """What the log has recorded so far, by id."""

    def __init__(self) -> None:
        self.memories: dict[str, v.MemoryAppended] = {}
        self.recipes: dict[str, str] = {}
        self.tools: dict[str, v.ToolAuthored] = {}
        self.texts: dict[str, str] = {}

    def shown_to_its_own(self, event: object) -> Iterator[str]:
        """Process an event; yield everything that it shows a question although it was made from that question."""
        match event:
            case v.MemoryAppended():
                self.memories.setdefault(event.memory_id, event)
                self.texts.setdefault(event.question_id, event.question)
            case v.ActionRecipeHarvested():
                self.recipes[event.recipe_id] = event.question_id
            case v.ToolAuthored():
                self.tools[event.tool_id] = event
            case v.EpisodeStepped():
                yield from self._memories(event.memories, event.episode_id)
            case v.QuestionPlanned():
                yield from self._memories([hit.memory_id for hit in event.memories], event.question_id)
                yield from self._others(event)
                yield from self._of_anchors(event)

    def _memories(self, names: Iterable[str], question: str) -> Iterator[str]:
        for name in names:
            if name in self.memories and self.memories[name].question_id == question:
                yield f"{question} was shown the memory {name}, which is about it"

    def _of_anchors(self, planned: v.QuestionPlanned) -> Iterator[str]:
        names = (hit.memory_id for hit in planned.memories if planned.purpose in ("anchor", "form"))
        for name in names:
            if name in self.memories and self.memories[name].phase == OF_ANCHORS:
                yield f"the anchor {planned.question_id} was shown the memory {name}, which is about an anchor"

    def _others(self, planned: v.QuestionPlanned) -> Iterator[str]:
        question, text = planned.question_id, self.texts.get(planned.question_id, "")
        for name in planned.principles:
            if name in self.memories and is_own_principle(self.memories[name], question, text):
                yield f"{question} was shown the principle {name}, which was made of it alone or quotes it"
        for name in planned.action_recipes:
            if self.recipes.get(name) == question:
                yield f"{question} was shown the action recipe {name}, which is from it"
        tool = self.tools.get(planned.tool_id)
        if tool and tool.examples and not any(map(is_erased, texts_in(tool))):
            others = examples_of_others(tool, question)
            shown = {span.length for span in planned.spans if span.source == f"tool/{tool.tool_id}"}
            if not others or not shown <= {_length(msgspec.structs.replace(tool, examples=others))}:
                yield f"{question} was shown the tool {tool.tool_id} with an example of it"


def _length(tool: v.ToolAuthored) -> int:
    return len(quoted(tool_section(tool).quotes[0].text))
