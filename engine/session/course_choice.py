"""Which course a planned question takes: the Learner's, an episode, or that of a baseline or a method."""

from collections.abc import Generator, Sequence
from typing import TypeVar

import msgspec

from mage_es.engine.agents.learner import course_of
from mage_es.engine.baselines.answering import BaselineTrial
from mage_es.engine.baselines.methods import asked_by
from mage_es.engine.baselines.table import BASELINES, is_method, open_method
from mage_es.engine.courses import Ask, Course
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import Verdict
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.method import Method, RunView, blind, taught
from mage_es.engine.seams.model import MAX_TOKENS, reason_of
from mage_es.engine.session.episodes import Donor, EpisodeContext, episode_of
from mage_es.events.vocabulary import QuestionPlanned, Tier
from mage_es.projections.fold import State
from mage_es.projections.progress import CallKey

NOTES = "notes"
"""The purpose of a call of a method's writer."""
_Yielded = TypeVar("_Yielded")


def planned_course(world: World, state: State, planned: QuestionPlanned) -> Course:
    question = world.questions[planned.question_id]
    if is_learned(state):
        method, is_reasoned = world.method or learned(world, state), view_of(world).is_reasoned
        trial = BaselineTrial(world.setting, world.benchmark, question)
        return asked_by(trial, method.prepare(blind(question)), is_reasoned=is_reasoned)
    baseline = BASELINES.get(planned.routing_arm)  # a baseline's plan names the baseline as its routing arm
    if not is_sequential(world.benchmark):
        if baseline is None:
            return course_of(world.setting, state, planned, question)
        shots = baseline.shots(world.benchmark.name, world.questions, world.setting.evolution)
        return baseline.course(BaselineTrial(world.setting, world.benchmark, question, shots))
    context = EpisodeContext(world.setting, state, world.benchmark, lambda text: world.embedder.encode([text])[0])
    if baseline is not None:
        return episode_of(context, planned, question, None, mode=baseline.plays_as or "")
    donor = None
    if planned.donor:
        other = world.questions[planned.donor]
        # Typed again: the plan records only which question donates.
        donor = Donor(other, world.typing.types_of([other], state.graph.induced_types())[0])
    return episode_of(context, planned, question, donor)


def is_learned(state: State) -> bool:
    """Return whether a state is that of a method's run."""
    begun = state.progress.baseline
    return begun is not None and is_method(begun.baseline)


def view_of(world: World) -> RunView:
    """Return what a method may know of a run: it reasons where MAGE would."""
    is_reasoned = world.setting.route == "cot"
    sees_gold = world.setting.config.teacher_sees in ("answers", "solutions")
    return RunView(world.embedder.encode, world.setting.answer_format, is_reasoned, sees_gold)


def learned(world: World, state: State) -> Method:
    """Return the method of a run as it was on a state, made anew from what the log says that it observed."""
    begun = state.progress.baseline
    assert begun is not None
    method = open_method(begun.baseline, view_of(world))
    for block in blocks(method, begun.learned):
        if method.is_asking and not all(state.progress.is_settled("evaluate", name) for name in block):
            break
        observing = observe(method, world, state, block)
        ask = next(observing, None)
        while ask is not None:
            ask = after(observing, written(world, state, ask))
    return method


def blocks(method: Method, names: Sequence[str]) -> list[Sequence[str]]:
    """Return the questions to learn from as they are asked: those of a block before any of it is observed."""
    return [names[at : at + method.block] for at in range(0, len(names), method.block)]


def observe(method: Method, world: World, state: State, names: Sequence[str]) -> Generator[Ask, str, None]:
    """Have a method observe questions, each with the answer that the log has, if any; yield what it asks its writer."""
    for name in names:
        reply, verdict, progress = "", None, state.progress
        if progress.is_judged("evaluate", name):
            judged = progress.verdict("evaluate", name)
            verdict = Verdict(answer=judged.answer, score=float(judged.correct), strict=judged.strict, by=judged.judge)
        if progress.is_replied("evaluate", name):
            reply = progress.reply("evaluate", name).text
        writing = method.observe(taught(world.questions[name], world.setting.config.teacher_sees), reply, verdict)
        request = next(writing, None) if writing else None
        tier: Tier = "guidance" if world.setting.config.guidance else "execution"
        place = 0
        while writing and request is not None:
            place += 1
            if tier == "guidance":  # whose thinking counts, as in all its calls
                request = msgspec.structs.replace(request, max_tokens=max(request.max_tokens, MAX_TOKENS))
            about = f"{name}/notes-{place}"
            request = after(writing, (yield Ask(about, request, agent="Writer", tier=tier, purpose=NOTES)))


def after(writing: Generator[_Yielded, str, None], text: str) -> _Yielded | None:
    """Send a writer's text, and return what is asked next, None at the end."""
    try:
        return writing.send(text)
    except StopIteration:
        return None


def written(world: World, state: State, ask: Ask) -> str:
    """Return the text that the log has of a writer, "" if it was lost, is no text or quotes a guarded question."""
    called = state.progress.call(note_key(ask))
    if called is None or reason_of(called) in ("looped", "empty", "refused"):
        return ""
    return "" if world.setting.guarded.likeness([called.text]).is_leak else called.text


def note_key(ask: Ask) -> CallKey:
    return CallKey(ask.tier, NOTES, ask.about, ask.attempt, ask.request.sha256)
