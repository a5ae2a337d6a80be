"""The doctor's trial of a model: a benchmark's real first prompts to its tier, asked as a run asks them.

Rules
    - Limit, second attempt and patience are those of a run, so a run's problems show here.
    - A reply without an answer fails the trial, as most other questions would end the same way.
    - The learner is asked `ASKED` questions, as one says little about how it answers; the other tiers one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from mage_es.engine.agents.skill_discovery import ontology_brief
from mage_es.engine.benchmarks.registry import title
from mage_es.engine.briefs import OntologyReply, TaskTypesReply
from mage_es.engine.config import Config
from mage_es.engine.rules.task_types import BATCH, task_types_brief
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import Question, Verdict, extract_of
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.faults import shortened
from mage_es.engine.seams.model import RAISE, Completion, Request, reason_of
from mage_es.engine.seams.replies import read_reply
from mage_es.engine.session.call import typed_request
from mage_es.engine.session.judge import opinion, template_of
from mage_es.engine.verbs.data import tasks_of
from mage_es.engine.verbs.preflight import first_request
from mage_es.events.vocabulary import Tier

FALLBACK = "wordmath"
"""The benchmark of the trial if the data of the requested one is missing."""
ASKED = 3
"""Questions to ask the learner."""
_SHOWN = 60
_MOST_LABELS = 20
"""Tasks with at most this many distinct right answers count as a choice among labels."""


class FirstPrompt(NamedTuple):
    """What a tier is asked first; `read` returns the answer in a reply as displayed, "" if there is none. `score`
    returns whether that answer is right (None: no rule can tell). `labels` are the possible answers, if few."""

    request: Request
    read: Callable[[str], str]
    score: Callable[[str], bool | None] = lambda text: None
    labels: Collection[str] = ()


class DoctorCheck(msgspec.Struct, frozen=True):
    """The result of a check. `optional`: something is missing that only some commands need. `remedy`: how to fix it."""

    name: str
    state: Literal["ok", "optional", "failed"]
    detail: str
    remedy: str = ""


def first_prompts(config: Config, world: World | None) -> Mapping[Tier, Sequence[FirstPrompt]]:
    """Return the first prompts of a run for each tier; without a world those of `FALLBACK`."""
    world = world or tasks_of(msgspec.structs.replace(config, benchmark=FALLBACK, held_out=1, anchors=0), None)
    evolution = [world.questions[name] for name in world.setting.evolution]
    labels = _labels(evolution)
    return {
        "execution": [_answering(world, question, labels) for question in evolution[:ASKED]],
        "guidance": [_guiding(world)],
        "judge": [_judging(world, evolution[0])],
    }


def _labels(questions: Sequence[Question]) -> Collection[str]:
    """Return the right answers of questions if they are so few that each keeps recurring."""
    answers = {question.gold for question in questions}
    return answers if len(answers) <= min(_MOST_LABELS, len(questions) // 3) else ()


def _answering(world: World, question: Question, labels: Collection[str]) -> FirstPrompt:
    request = first_request(world, question.id)
    if is_sequential(world.benchmark):
        environment = world.benchmark.environment(question)
        environment.reset()
        return FirstPrompt(request, lambda text: environment.parse(text) or "")

    def is_right(reply: str) -> bool | None:
        verdict = world.benchmark.score(question, reply)
        return None if verdict.undecided else verdict.correct

    return FirstPrompt(request, extract_of(world.benchmark), is_right, labels)


def _guiding(world: World) -> FirstPrompt:
    evolution = [world.questions[name] for name in world.setting.evolution]
    if world.typing.is_induced:
        questions, _ = task_types_brief(world.setting, title(world.benchmark.name), evolution[:BATCH], {}, "")
        return _typed(typed_request("task_types_v1", questions, TaskTypesReply), TaskTypesReply)
    typed = list(zip(evolution, world.typing.types_of(evolution, {}), strict=True))
    brief, _ = ontology_brief(world.setting, title(world.benchmark.name), world.setting.task_types, typed)
    return _typed(typed_request("ontology_v1", brief, OntologyReply), OntologyReply)


def _judging(world: World, question: Question) -> FirstPrompt:
    told = Verdict(answer=question.gold, score=0.0, strict=True)
    first: Any = next(opinion(question, told, template_of(world.benchmark)))
    return _typed(first.request, first.typed)


def _typed(request: Request, form: type[Any]) -> FirstPrompt:
    return FirstPrompt(request, lambda text: "" if read_reply(text, form)[0] is None else f"a {form.__name__}")


def outcome_of(
    name: str, first: FirstPrompt, tier: Tier, reply: Completion, *, again: Completion | None
) -> DoctorCheck:
    """Judge a trial; `again` is the reply to the second request, if the first gave no answer."""
    last = again or reply
    size = f"{last.output_tokens} tokens, {last.thinking_tokens} of them thinking"
    quiet = "thinking=off (or a number of tokens, as in thinking=1000) in its spec"
    longer = heated = ""
    if tier == "execution":
        longer, heated = f"--max-tokens {RAISE * first.request.max_tokens}, or ", "Set --answer-temperature 0.7, or "
    unheard = f"Set {quiet}, or serve it without the parser that takes its answer for thinking."
    if not last.thinking_tokens:
        unheard = "Try another server or another chat template: it was asked twice and said nothing."
    problems = {
        "truncated": (
            f"its reply was cut after {size}",
            f"Set {longer}{quiet}; where its context ended first, serve it with a longer one.",
        ),
        "looped": (f"its reply repeats itself ({size})", f"{heated}choose a larger model."),
        "empty": (f"its reply has no text (stop reason {last.stop_reason}; {size})", unheard),
        "refused": (f"it refused the first prompt ({size})", "Choose a model that answers it."),
    }
    if problem := problems.get(reason_of(last)):
        detail, remedy = problem
        return DoctorCheck(name, "failed", detail, remedy[:1].upper() + remedy[1:])
    if not (found := first.read(last.text)):
        detail = f"whole ({size}), but without an answer that can be read: ...{shortened(last.text[-_SHOWN:])!r}"
        remedy = "It does not end as the prompt asks. Choose a larger model, or a task with a plainer answer."
        return DoctorCheck(name, "optional", detail, remedy)
    mark = {True: ", right", False: ", wrong", None: ""}[first.score(last.text)]
    detail = f"whole: {size}; its answer: {shortened(found)[:_SHOWN]}{mark}"
    if first.labels and found.casefold() not in {label.casefold() for label in first.labels}:
        remedy = f"List the answers there can be: --labels {','.join(sorted(first.labels))}"
        return DoctorCheck(name, "optional", f"{detail}; it is none of the answers of these tasks", remedy)
    if again and reply.stop_reason == "length":
        detail += f"; the first was cut after {reply.output_tokens} tokens"
        return DoctorCheck(name, "optional", detail, f"A run asks twice for such a reply. To ask once, set {quiet}.")
    return DoctorCheck(name, "ok", detail)
