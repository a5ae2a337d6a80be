"""The routes to an answer as courses: at once, step by step over what the skill needs, or by way of a tool.

Rules
    - Every call of a course shows what was retrieved for the question; calls differ in what stands before the
      question and in what they ask for.
    - What had to be left out of one call, because its prompt did not fit, is left out of those after it.
    - Where the run has a search, the question itself is looked up first, and what is found stands before it.
    - `chain`: one sub-answer for each skill of the plan's chain, each shown those before it, then the answer.
    - `tool`: the model fills in the arguments, the tool runs, and the model answers with the result before it. Where
      the model gives no arguments (the tool may not fit), or the run had a problem, it answers without the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

import msgspec

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.courses import Ask, Course, Fact, Finish, Look, Move, Part, Use, call_of, found_by, result_of
from mage_es.engine.models.seam import Request
from mage_es.engine.rules.harvest import capped
from mage_es.engine.rules.ingredients import (
    earlier_steps,
    sections_of,
    sections_of_step,
    tool_outcome,
    tool_section,
)
from mage_es.engine.rules.prompt import TEMPLATE_OF_ROUTE, Asked, Quote, Section, render_answer
from mage_es.engine.rules.trimming import droppable, without
from mage_es.engine.setting import Setting
from mage_es.events.vocabulary import BundleTrimmed, ModelCalled, QuestionPlanned
from mage_es.projections.fold import State

AFTER_STEPS = "answer_after_steps_v1"
AFTER_TOOL = "answer_after_tool_v1"
PASSAGE = 1_500
"""Characters of a page that stand in a prompt."""
NO_ARGUMENTS = "it was not called: no JSON object of arguments was given"


class Route:
    """A planned question on the state that the plan was made on; `planned` is the plan as it is shown by now."""

    def __init__(self, setting: Setting, state: State, planned: QuestionPlanned, question: Question) -> None:
        self.setting, self.state, self.planned, self.question = setting, state, planned, question
        self._found = Section("Found", ())

    def look_up(self) -> Generator[Move, Fact, None]:
        """Look the question up; what is found stands in every prompt from then on."""
        looked = Look(self.question, self.question.question, 1, self.setting.config.search_passages)
        answered = yield from found_by(looked)
        pages = dict(zip(answered.titles, answered.texts, strict=False))
        quotes = [Quote(f"search/{title}", f"{title}: {text[:PASSAGE]}") for title, text in pages.items()]
        self._found = Section("Found", quotes)

    def ask(self, template: str, sections: Callable[[], Sequence[Section]], *, place: int = 0) -> Part:
        """Ask with a template, and return the reply; `place` counts the calls before the last (0: the last).

        `sections` gives what is shown of the plan as it stands: it is asked again where something had to be left out.
        """
        while isinstance(fact := (yield self._call(template, sections(), place)), BundleTrimmed):
            self.planned = without(self.planned, {fact.memory_id})
        assert isinstance(fact, ModelCalled)
        return fact.text

    def _call(self, template: str, sections: Sequence[Section], place: int) -> Ask:
        config, question = self.setting.config, self.question
        asked = Asked(
            question.question if template == TEMPLATE_OF_ROUTE["direct"] else reasoned_about(question),
            question.context,
            self.setting.answer_format,
            is_instructed=bool(self.state.slots.prompt_template(self.planned.skill)),
        )
        prompt = render_answer(template, [*sections, self._found], asked)
        request = Request(prompt=prompt.text, temperature=config.answer_temperature, max_tokens=config.max_tokens)
        about = call_of(self.planned.question_id, place)
        return Ask(about, request, prompt.spans, droppable=droppable(self.planned))


def reasoned_about(question: Question) -> str:
    """Return a question to be reasoned about: without its end, where it breaks off where its answer belongs."""
    return question.question.removesuffix(question.meta.get("stub", ""))


def follow(route: Route) -> Course:
    """Return the course of a question: the same plan, state and question give the same moves."""
    if route.setting.config.search:
        yield from route.look_up()
    match route.planned.routing_arm:
        case "chain":
            return (yield from _chain(route))
        case "tool":
            return (yield from _tool(route))
        case _:
            reply = yield from route.ask(route.planned.template, lambda: sections_of(route.state, route.planned))
            return Finish(reply)


def _chain(route: Route) -> Course:
    planned, cap = route.planned, route.setting.config.reasoning_cap
    outputs: list[tuple[str, str, str]] = []
    for place, skill in enumerate(planned.chain, start=1):

        def step(skill: str = skill) -> list[Section]:
            *retrieved, this_step = sections_of_step(route.state, route.planned, skill)
            return [*retrieved, earlier_steps(outputs), this_step]

        output = yield from route.ask(planned.template, step, place=place)
        outputs.append((call_of(planned.question_id, place), skill, capped(output.strip(), cap)))
    template = AFTER_STEPS if outputs else TEMPLATE_OF_ROUTE["cot"]
    reply = yield from route.ask(template, lambda: [*sections_of(route.state, route.planned), earlier_steps(outputs)])
    return Finish(reply)


def _tool(route: Route) -> Course:
    tool = route.state.tools.tool(route.planned.tool_id)

    def shown(about_tool: Section) -> Callable[[], list[Section]]:
        return lambda: [*sections_of(route.state, route.planned), about_tool]

    filled = yield from route.ask(route.planned.template, shown(tool_section(tool)), place=1)
    arguments, result, problem = arguments_in(filled), "", NO_ARGUMENTS
    if arguments:
        ran = yield from result_of(Use(tool.tool_id, arguments))
        result, problem = ran.result, ran.problem
    outcome = tool_outcome(tool, arguments=arguments, result=result, problem=problem)
    reply = yield from route.ask(AFTER_TOOL, shown(outcome))
    return Finish(reply)


def arguments_in(reply: str) -> str:
    """Return the JSON object in a reply in canonical form, also where prose or a fence stands around it; "" if none."""
    start, end = reply.find("{"), reply.rfind("}")
    try:
        found = msgspec.json.decode(reply[start : end + 1], type=dict[str, object]) if start >= 0 else None
        return msgspec.json.encode(found, order="sorted").decode() if found is not None else ""
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ""
