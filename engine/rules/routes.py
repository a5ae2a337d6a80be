"""The routes to an answer as courses: directly, step by step through what the skill needs, or with a tool.

Rules
    - Every call of a course shows what was retrieved for the question, except a call that asks for a tool's arguments.
      Calls differ in what precedes the question and in what they ask for.
    - If something is dropped from one call because its prompt did not fit, later calls leave it out as well.
    - If the run has a search, it first looks up the question itself, and the results come before the question.
    - `tool`: the model fills in the arguments, the tool runs, and the model answers with the result in its prompt. If
      the model gives no arguments (the tool may not fit) or the tool fails, the model answers without the tool.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.courses import Ask, Course, Fact, Finish, Look, Move, Use, call_of, fact_of, finish_of, reply_to
from mage_es.engine.rules.ingredients import (
    ASKS,
    as_lines,
    demonstrations_of,
    droppable,
    earlier_steps,
    sections_of,
    sections_of_step,
    tool_outcome,
    tool_section,
    without,
)
from mage_es.engine.rules.new_memories import capped
from mage_es.engine.rules.own import examples_of_others
from mage_es.engine.rules.prompt import Demonstration, PromptQuestion, Quote, Section, render_answer, worked
from mage_es.engine.rules.recall import nearest_answer
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.tools import arguments_in
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.model import RAISE, Request
from mage_es.events.vocabulary import BundleTrimmed, QuestionPlanned, SearchAnswered, ToolRan
from mage_es.projections.fold import State

RECALL = "recall"
"""The route without a call, which is not an arm."""
DIRECT, REASONED = "answer_direct", "answer_cot"
AFTER_STEPS = "answer_after_steps_v1"
AFTER_TOOL = "answer_after_tool_v1"
PASSAGE = 1_500  # characters of a page in a prompt
NO_ARGUMENTS = "it was not called: no JSON object with all of its arguments was given"


class Route:
    """A planned question, on the state on which the plan was made. `planned` is the plan as currently shown."""

    def __init__(self, setting: Setting, state: State, planned: QuestionPlanned, question: Question) -> None:
        self.setting, self.state, self.planned, self.question = setting, state, planned, question
        # Passages belong to the course, not to the plan: they are looked up while it runs, and are in the log.
        self._found = Section("Found", ())

    def look_up(self) -> Generator[Move, Fact, None]:
        looked = Look(self.question, self.question.question, 1, self.setting.config.search_passages)
        answered = yield from fact_of(looked, SearchAnswered)
        pages = dict(zip(answered.titles, answered.texts, strict=False))
        quotes = [Quote(f"search/{title}", f"{title}: {text[:PASSAGE]}") for title, text in pages.items()]
        self._found = Section("Found", quotes)

    def shown(self, *, answers_only: bool = False, has_cases: bool = True) -> list[Section]:
        """Return the sections of the current plan; see `sections_of`."""
        form = self.setting.example_format
        return sections_of(self.state, self.planned, answer_format=form, answers_only=answers_only, has_cases=has_cases)

    def ask(
        self,
        template: str,
        sections: Callable[[], Sequence[Section]],
        *,
        place: int = 0,
        demonstrations: Callable[[], Sequence[Demonstration]] = tuple,
    ) -> Course:
        """Ask with a template, and return how the course ends, given the reply; `place` counts the calls before the
        last (0).

        `sections` and `demonstrations` give what is shown of the current plan: they are called again after something
        was left out.
        """
        # Each turn leaves out one memory or principle, so the loop ends: with nothing left, the call fails permanently
        # instead.
        most = RAISE * self.setting.config.max_tokens
        while True:
            fact = yield from reply_to(self._call(template, sections(), demonstrations(), place), most=most)
            if not isinstance(fact, BundleTrimmed):
                return finish_of(fact)
            self.planned = without(self.planned, {fact.memory_id})

    def _call(
        self, template: str, sections: Sequence[Section], demonstrations: Sequence[Demonstration], place: int
    ) -> Ask:
        config, question = self.setting.config, self.question
        # Plain lines are the same texts, not divided into messages.
        are_lines = bool(demonstrations) and self.planned.form == "lines"
        asked = PromptQuestion(
            (ASKS if are_lines else "") + (question.question if template == DIRECT else reasoned_about(question)),
            question.context,
            self.setting.answer_format,
            self.setting.traits.instruction,
            shared=self.setting.traits.task,
        )
        shown = as_lines(demonstrations) if are_lines else demonstrations
        templates = self.setting.templates
        prompt = render_answer(template, [*sections, self._found], asked, shown, templates=templates)
        request = Request(
            system=prompt.system,
            prompt=prompt.text,
            turns=() if are_lines else prompt.turns,
            temperature=config.answer_temperature,
            max_tokens=self.planned.max_tokens or config.max_tokens,
        )
        about = call_of(self.planned.question_id, place)
        return Ask(about, request, prompt.spans, droppable=droppable(self.planned))


def reasoned_about(question: Question) -> str:
    """Return a question to reason about. If its text breaks off where the answer belongs, that end is left out.

    [section 4, STBench, prompts]
    """
    return question.question.removesuffix(question.stub)


def follow(route: Route) -> Course:
    """Return the course of a question: the same plan, state and question give the same moves.

    [section 3.2, chain] A chain has at most 13 steps; the nearest prerequisites are kept.
    """
    if route.setting.config.search:
        yield from route.look_up()
    # Not an arm: what needs no call is never drawn; only its record can choose it.
    course = _recall if route.planned.routing_arm == RECALL else ROUTING_ARMS[route.planned.routing_arm].course
    return (yield from course(route))


def _at_once(route: Route) -> Course:
    template = route.planned.template
    answers_only, is_quoted = template == DIRECT, route.planned.form == "sections"

    def cases() -> list[Demonstration]:
        if is_quoted:
            return []
        form = route.setting.example_format
        return demonstrations_of(route.state, route.planned, answer_format=form, answers_only=answers_only)

    def sections() -> list[Section]:
        return route.shown(answers_only=answers_only, has_cases=is_quoted)

    return (yield from route.ask(template, sections, demonstrations=cases))


def _chain(route: Route) -> Course:
    planned, cap = route.planned, route.setting.config.reasoning_cap
    outputs: list[tuple[str, str, str]] = []
    for place, skill in enumerate(planned.chain, start=1):
        # A function of what is left of the plan: it is rendered again if the prompt does not fit. `skill` is bound now.
        def step(skill: str = skill) -> list[Section]:
            form = route.setting.example_format
            *retrieved, this_step = sections_of_step(route.state, route.planned, skill, answer_format=form)
            return [*retrieved, earlier_steps(outputs), this_step]

        output = yield from route.ask(planned.template, step, place=place)
        outputs.append((call_of(planned.question_id, place), skill, capped(output.reply.strip(), cap)))
    # Without steps there is nothing to conclude from, so the question is asked as `cot` would ask it.
    template = AFTER_STEPS if outputs else REASONED
    return (yield from route.ask(template, lambda: [*route.shown(), earlier_steps(outputs)]))


def _tool(route: Route) -> Course:
    # The tool that the plan names, not the skill's newest: it may have been quarantined since, and the log must replay.
    tool = route.state.tools.tool(route.planned.tool_id)
    if route.setting.terms.exclude_self:
        tool = msgspec.structs.replace(tool, examples=examples_of_others(tool, route.question.id))

    # What was retrieved says how to answer, not how to read arguments.
    filled = yield from route.ask(route.planned.template, lambda: [tool_section(tool)], place=1)
    arguments, result, problem = arguments_in(filled.reply, tool.parameters), "", NO_ARGUMENTS
    if arguments:
        ran = yield from fact_of(Use(tool.tool_id, arguments), ToolRan)
        result, problem = ran.result, ran.problem
    outcome = tool_outcome(tool, arguments=arguments, result=result, problem=problem)
    return (yield from route.ask(AFTER_TOOL, lambda: [*route.shown(), outcome]))


def _recall(route: Route) -> Course:
    """No call: the answer is the nearest case's (rules/recall.py says when)."""
    nearest = nearest_answer(route.state, route.planned.memories)
    assert nearest is not None
    yield from ()
    return Finish(worked("", nearest.answer, route.setting.answer_format))


class RoutingArm(NamedTuple):
    """A way to ask: the template of its first call, that of a step if questions are episodes, and its course."""

    template: str
    step_template: str = "act_cot"
    course: Callable[[Route], Course] = _at_once
    needs: Literal["nothing", "prerequisites", "principles", "tool"] = "nothing"
    """What must exist before a question is offered this arm; `rules/choice.py` knows what exists."""


# To add an arm, add a row; as with search arms, names are recorded and the order decides ties. In an episode `chain`
# only adds the plan, and no tool is run.
ROUTING_ARMS: Mapping[str, RoutingArm] = {
    "direct": RoutingArm(DIRECT, "act_direct"),
    "cot": RoutingArm(REASONED),
    "chain": RoutingArm("answer_step_v1", course=_chain, needs="prerequisites"),
    "cot_principles": RoutingArm(REASONED, needs="principles"),
    "tool": RoutingArm("answer_tool_v1", course=_tool, needs="tool"),
}
