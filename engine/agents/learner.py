"""Learner: chooses arms and a bundle for each question, and asks the frozen execution model.

Rules
    - All choices of one phase read the state as it is at the phase's start, in question-id order, and every
      random draw is keyed by (seed, purpose, iteration, question): the number of workers changes nothing.
    - The Learner is given no guidance model; it could not call one.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.courses import Ask, Course, Finish, begin, reply_to
from mage_es.engine.models.seam import Request
from mage_es.engine.rules.bandits import (
    FROZEN_DEFAULT,
    ROUTING_ARMS,
    SEARCH_ARMS,
    Choice,
    choose,
    choose_frozen,
)
from mage_es.engine.rules.prompt import TEMPLATE_OF_ROUTE, Ingredients, Prompt, render_answer
from mage_es.engine.rules.randomness import stream
from mage_es.engine.rules.retrieval import Query, retrieve
from mage_es.engine.setting import Setting
from mage_es.events.digests import sha256_text
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import QuestionPlanned, Retrieved
from mage_es.projections.fold import State

Pull = tuple[str, str, str]
"""(bandit, key, arm): a pull planned in this phase."""


class Arms(NamedTuple):
    """The arms chosen for a question."""

    search: Choice
    routing: Choice


def plan_answers(setting: Setting, state: State, command: PlanAnswers) -> list[Draft]:
    """Return one `question.planned` for each question, in question-id order."""
    planned: Counter[Pull] = Counter()
    drafts = []
    for asked in sorted(command.asked, key=lambda a: a.question.id):
        skill = state.graph.skill_for_task(asked.task_type)
        arms = _choose_arms(setting, state, command, asked, skill, planned)
        event = _plan(setting, state, command, asked, skill, arms)
        drafts.append(
            Draft(event=event, iteration=command.iteration, phase=command.phase, correlation=asked.question.id)
        )
    return drafts


def course_of(setting: Setting, state: State, planned: QuestionPlanned, question: Question) -> Course:
    """Return the course of a planned question: the same plan, state and question give the same moves.

    The skill's slots are read from the state, so it must be the one that the plan was made on.
    """
    prompt = _prompt_of(setting, state, planned, question)
    reply = yield from reply_to(_ask(setting, planned.question_id, prompt))
    return Finish(reply)


def _ask(setting: Setting, about: str, prompt: Prompt) -> Ask:
    config = setting.config
    request = Request(prompt=prompt.text, temperature=config.answer_temperature, max_tokens=config.max_tokens)
    return Ask(about, request, prompt.spans)


def _prompt_of(setting: Setting, state: State, planned: QuestionPlanned, question: Question) -> Prompt:
    rows = [state.memory.row(hit.memory_id) for hit in planned.memories]
    ingredients = Ingredients(
        success=[row for row in rows if row.outcome == "success_memory"],
        failure=[row for row in rows if row.outcome == "failure_memory"],
        principles=[state.memory.row(memory_id) for memory_id in planned.principles],
        skill_strategy=state.slots.strategy(planned.skill),
    )
    return render_answer(
        planned.template,
        ingredients,
        question=question.question,
        context=question.context,
        answer_format=setting.answer_format,
    )


def _choose_arms(
    setting: Setting, state: State, command: PlanAnswers, asked: Asked, skill: str, planned: Counter[Pull]
) -> Arms:
    def chosen(bandit: str, key: str, arms: tuple[str, ...], warmup: int) -> Choice:
        posteriors = {arm: state.bandits.posterior(bandit, key, arm) for arm in arms}
        if command.frozen:
            return choose_frozen(posteriors, warmup=warmup, default=FROZEN_DEFAULT[bandit])
        choice = choose(
            posteriors,
            planned={arm: planned[bandit, key, arm] for arm in arms},
            warmup=warmup,
            exploration=setting.config.exploration,
            draw=stream(setting.config.seed, bandit, command.iteration, asked.question.id),
        )
        planned[bandit, key, choice.arm] += 1
        return choice

    skills = len(state.graph.skills())
    return Arms(
        chosen("search", asked.task_type, SEARCH_ARMS, setting.search_warmup()),
        chosen("routing", skill, ROUTING_ARMS, setting.routing_warmup(skills)),
    )


def _plan(
    setting: Setting, state: State, command: PlanAnswers, asked: Asked, skill: str, arms: Arms
) -> QuestionPlanned:
    question = asked.question
    donor = command.donors.get(question.id, asked)
    query = Query(donor.vector, donor.task_type, donor.question.id, len(donor.question.context))
    bundle = retrieve(arms.search.arm, query, state.memory, setting.terms)
    principles: list[str] = []
    if arms.routing.arm == "cot_principles":
        donor_skill = state.graph.skill_for_task(donor.task_type)
        active = state.memory.principles(donor_skill)[-setting.config.principles_per_skill :]
        principles = [row.memory_id for row in active]
    draft = QuestionPlanned(
        iteration=command.iteration,
        purpose=asked.purpose,
        question_id=question.id,
        task_type=asked.task_type,
        skill=skill,
        search_arm=arms.search.arm,
        search_probability=arms.search.probability,
        routing_arm=arms.routing.arm,
        routing_probability=arms.routing.probability,
        memories=tuple(Retrieved(**hit._asdict()) for hit in (*bundle.success, *bundle.failure)),
        principles=tuple(principles),
        template=TEMPLATE_OF_ROUTE[arms.routing.arm],
        prompt_sha256="",
        spans=(),
    )
    first = begin(course_of(setting, state, draft, question))
    assert isinstance(first, Ask)
    return msgspec.structs.replace(draft, prompt_sha256=sha256_text(first.request.prompt), spans=first.spans)
