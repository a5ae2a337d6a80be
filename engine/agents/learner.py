"""Learner: chooses arms and a bundle for each question, and asks the frozen execution model.

Rules
    - Everything about a question is chosen before any question is asked (rules/choice.py), so the number of workers
      changes nothing.
"""

from itertools import compress
from operator import not_

import msgspec

from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.courses import Ask, Course, begin
from mage_es.engine.rules.choice import Choosing, Chosen
from mage_es.engine.rules.forms import form_of
from mage_es.engine.rules.ingredients import sections_of, sections_of_step
from mage_es.engine.rules.probation import PROBATION
from mage_es.engine.rules.prompt import Prompt
from mage_es.engine.rules.randomness import stream
from mage_es.engine.rules.recall import is_recalled, may_be_recalled
from mage_es.engine.rules.routes import RECALL, ROUTING_ARMS, Route, follow
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.step_prompt import EXPLORING, Consulted, step_prompt
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.model import RAISE, Request
from mage_es.events.digests import sha256_text
from mage_es.events.vocabulary import AnswerCarried, Draft, Event, QuestionPlanned, Retrieved
from mage_es.projections.fold import State


def plan_answers(setting: Setting, state: State, command: PlanAnswers, choosing: Choosing | None = None) -> list[Draft]:
    """Return one `question.planned` for each question, in question-id order; an anchor whose prompt would be the same
    as last time keeps its verdict instead. A reply at temperature 0 is treated as a function of the prompt. If the
    server is not quite deterministic, or the temperature is higher, the old verdict is as good a sample as a new one,
    and chance alone can no longer change it.

    [agents, Learner] The learner never gets a guidance model.
    """
    choosing = choosing or Choosing(setting, state, command)
    drafts = []
    for asked in sorted(command.asked, key=lambda a: a.question.id):
        planned = _planned(setting, state, command, asked, choosing)
        event: Event = planned
        last = state.scores.last_asked(asked.question.id)
        if planned.seen and last and planned.seen == last.seen:
            event = AnswerCarried(
                iteration=command.iteration,
                question_id=asked.question.id,
                task_type=asked.task_type,
                correct=last.correct,
            )
        drafts.append(
            Draft(event=event, iteration=command.iteration, phase=command.phase, correlation=asked.question.id)
        )
    return drafts


def _planned(setting: Setting, state: State, command: PlanAnswers, asked: Asked, choosing: Choosing) -> QuestionPlanned:
    skill = state.graph.skill_for_task(asked.task_type)
    if not (command.is_bare or _is_asked_bare(state, asked)):
        if setting.is_served and asked.purpose in ("anchor", "exam"):
            return _plan(setting, state, command, asked, "", choosing.choose_served(asked, skill))
        return _plan(setting, state, command, asked, skill, choosing.choose(asked, skill))
    # The nearest cases may answer where showing them to the model does harm (rules/recall.py).
    if not command.is_bare and may_be_recalled(setting, state, asked.purpose, asked.task_type):
        planned = _plan(setting, state, command, asked, skill, choosing.choose(asked, skill))
        if planned.routing_arm == RECALL:
            return planned
    return _plan(setting, state, command, asked, skill, choosing.bare())


def _is_asked_bare(state: State, asked: Asked) -> bool:
    """Return whether a question gets the bare prompt: for comparison, or because that did better on the anchors.
    Learning and its anchors still use what was learned, so that the record can recover."""
    return asked.purpose == "bare" or (asked.purpose in ("exam", "ask") and state.benefit.is_bare(asked.task_type))


def course_of(setting: Setting, state: State, planned: QuestionPlanned, question: Question) -> Course:
    """The skill's slots are read from the state, which must be the state on which the plan was made."""
    return follow(Route(setting, state, planned, question))


def _plan(
    setting: Setting,
    state: State,
    command: PlanAnswers,
    asked: Asked,
    skill: str,
    chosen: Chosen,
) -> QuestionPlanned:
    question, donor = asked.question, None if chosen.is_bare else command.donors.get(asked.question.id)
    is_tossed = not command.frozen and not asked.is_episode
    coin = setting.config.coin if is_tossed else 0.0
    both = (*chosen.bundle.success, *chosen.bundle.failure)
    # A memory that would show the answer of "" is left out (rules/controls.py).
    hits = [hit for hit in both if command.answers.get(hit.memory_id) != ""]
    # Memories on probation have a coin of their own, unless all memories are left out as often.
    own = PROBATION if is_tossed and coin < PROBATION else 0.0
    retrieved = [
        Retrieved(
            **hit._asdict(),
            answer_of=command.answers.get(hit.memory_id, ""),
            coin=own if hit.memory_id in state.probation else 0.0,
        )
        for hit in hits
    ]
    tosses = stream(setting.config.seed, "coin", command.iteration, question.id).random(len(retrieved))
    is_kept = [bool(toss >= (hit.coin or coin)) for toss, hit in zip(tosses, retrieved, strict=True)]
    draft = QuestionPlanned(
        iteration=command.iteration,
        purpose=asked.purpose,
        question_id=question.id,
        task_type=asked.task_type,
        skill=skill,
        search_arm=chosen.search.arm,
        search_probability=chosen.search.probability,
        routing_arm=chosen.routing.arm,
        routing_probability=chosen.routing.probability,
        memories=tuple(compress(retrieved, is_kept)),
        principles=chosen.principles,
        template=_template(asked, chosen),
        prompt_sha256="",
        spans=(),
        chain=() if asked.is_episode else chosen.chain,
        tool_id=chosen.tool_id,
        recipe_id=chosen.recipe_id,
        guiding_skill=chosen.cascade.guiding_skill,
        planning=chosen.cascade.planning or (chosen.chain if asked.is_episode else ()),
        action_recipes=chosen.cascade.action_recipes,
        donor=donor.question.id if donor else "",
        max_tokens=_raised_limit(setting, state),
        coin=coin,
        left_out=tuple(compress(retrieved, map(not_, is_kept))),
        form=_form(setting, state, asked),
        is_bare=chosen.is_bare,
    )
    if not chosen.is_bare and not asked.is_episode and is_recalled(setting, state, draft):
        draft = msgspec.structs.replace(draft, routing_arm=RECALL, routing_probability=1.0, template="")
    prompt = _first_prompt(setting, state, draft, asked, donor or asked)
    digest = sha256_text(Request(system=prompt.system, prompt=prompt.text).text) if prompt.text else ""
    seen = _seen(state, draft, setting.salt + digest) if asked.purpose == "anchor" and not asked.is_episode else ""
    return msgspec.structs.replace(draft, prompt_sha256=digest, spans=prompt.spans, seen=seen)


def _form(setting: Setting, state: State, asked: Asked) -> str:
    return "sections" if asked.is_episode else form_of(setting, state, asked.purpose)


def _seen(state: State, planned: QuestionPlanned, prompt: str) -> str:
    # What the first prompt may lack: retrieved texts, other skills' steps, and the tool's source.
    sections = [*sections_of(state, planned), *(sections_of_step(state, planned, each)[-1] for each in planned.chain)]
    texts = [quote.text for section in sections for quote in section.quotes]
    about = (prompt, planned.template, planned.tool_id, str(planned.max_tokens), *texts)
    return sha256_text("\x00".join(about))[:16]


def _raised_limit(setting: Setting, state: State) -> int:
    """Return the raised limit if replies of earlier phases were cut, otherwise 0. It is also 0 if calls were lost
    permanently: the provider may have refused the higher limit, and no reply is lost if each asks for it separately.
    """
    used = state.ledger.total("execution")
    return RAISE * setting.config.max_tokens if used.cut and used.failures == used.retries else 0


def _template(asked: Asked, chosen: Chosen) -> str:
    arm = ROUTING_ARMS[chosen.routing.arm]
    if not asked.is_episode:
        return arm.template
    return EXPLORING if asked.purpose == "explore" else arm.step_template


def _first_prompt(setting: Setting, state: State, planned: QuestionPlanned, asked: Asked, giver: Asked) -> Prompt:
    """Return the prompt of a question's first move, or "" if that move is not a call. The question gets the memories of
    the question `giver`.
    """
    if asked.opening is not None:
        about = Consulted(giver.task_type, giver.opening.entities if giver.opening else ())
        return step_prompt(setting, state, planned, asked.question, asked.opening.moment, about=about)
    first = begin(course_of(setting, state, planned, asked.question))
    if not isinstance(first, Ask):
        return Prompt("", "")
    return Prompt(first.request.system, first.request.prompt, first.spans, first.request.turns)
