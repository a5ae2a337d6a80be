"""Which course a question of a baseline or a method takes, and how a method goes through the questions it learns
from."""

from collections.abc import Generator, Sequence
from math import inf
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from mage_es.engine.courses import Ask, Course
from mage_es.engine.rules.trajectories import transcript_of
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import Verdict
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.model import MAX_TOKENS, Request, reason_of
from mage_es.engine.session.course_choice import is_learned, playing
from mage_es.engine.session.episodes import episode_of
from mage_es.engine.study.baselines.method import (
    Method,
    Preparing,
    PromptTrial,
    RunView,
    Searching,
    TrialAnswer,
    blind,
    taught,
)
from mage_es.engine.study.baselines.table import LEARNING_AT, find_baseline, open_method
from mage_es.engine.study.baselines.trial import BaselineTrial, asked_by, played_earlier
from mage_es.events.errors import LogError
from mage_es.events.vocabulary import MICRO, Purpose, QuestionPlanned, Tier
from mage_es.projections.fold import State
from mage_es.projections.progress import CallKey

NOTES = "notes"
"""The purpose recorded for calls to a method's writer."""
_Yielded = TypeVar("_Yielded")


def baseline_course(world: World, state: State, planned: QuestionPlanned) -> Course:
    """Return the course of a question that a baseline or a method planned."""
    question = world.questions[planned.question_id]
    if is_learned(state):
        at_work = cast("Preparing | None", world.method)
        method = at_work or learned(world, state, is_trial=planned.purpose == "trial")
        prepared = method.prepare(blind(question))
        if is_sequential(world.benchmark):
            context = playing(world, state, world.benchmark)
            return episode_of(context, planned, question, None, solved=played_earlier(prepared))
        trial = BaselineTrial(world.setting, world.benchmark, question)
        return asked_by(trial, prepared, is_reasoned=view_of(world).is_reasoned)
    baseline = find_baseline(planned.routing_arm)  # a baseline's plan names the baseline as its routing arm
    if baseline is None:
        raise LogError(
            f"The baseline {planned.routing_arm!r} is not installed here, so {question.id} cannot be asked again."
        )
    if is_sequential(world.benchmark):
        context = playing(world, state, world.benchmark)
        return episode_of(context, planned, question, None, mode=baseline.plays_as or "")
    shots = baseline.shots(world.benchmark.name, world.questions, world.setting.evolution)
    return baseline.course(BaselineTrial(world.setting, world.benchmark, question, shots))


def view_of(world: World) -> RunView:
    """Return what a method may know about a run; its answers are reasoned if MAGE's would be."""
    is_reasoned = world.setting.route == "cot"
    sees_gold, traits = world.setting.config.teacher_sees in ("answers", "solutions"), world.setting.traits
    return RunView(
        world.embedder.encode,
        world.setting.answer_format,
        is_reasoned,
        sees_gold,
        traits.task,
        world.setting.config.seed,
        is_sequential(world.benchmark),
        traits.is_open_ended,
    )


def learned(world: World, state: State, *, is_trial: bool) -> Preparing:
    """Return a run's method as it was at a state, rebuilt from what it observed according to the log; with `is_trial`,
    return the trial that it was running."""
    begun = state.progress.baseline
    assert begun is not None
    method = open_method(begun.baseline, view_of(world))
    moves = lessons(method, world, state, begun.learned)
    move = next(moves, None)
    while move is not None and not (isinstance(move, Lesson) and not move.is_settled(state)):
        move = after(moves, "" if isinstance(move, Lesson) else writer_text(world, state, move.ask))
    return move.asked_by if is_trial and isinstance(move, Lesson) else method


class Lesson(NamedTuple):
    """Questions to ask together before their outcomes are observed; a trial is a round of its own."""

    names: Sequence[str]
    asked_by: Preparing
    purpose: Purpose = "fresh"
    round: int = LEARNING_AT

    def is_settled(self, state: State) -> bool:
        return all(state.progress.is_settled("evaluate", name, self.round) for name in self.names)

    def is_planned(self, state: State) -> bool:
        return state.progress.is_planned("evaluate", self.names[0], self.round)


class AskedNote(NamedTuple):
    """The prompt for a method's writer, and the questions that it shows."""

    ask: Ask
    shown: tuple[str, ...]


Lessons = Generator[Lesson | AskedNote, str, None]
"""Everything a method learns from; it is sent the writer's text for a note, and "" once a lesson is settled."""


def lessons(method: Method | Searching, world: World, state: State, names: Sequence[str]) -> Lessons:
    """Show a method the questions that it learns from."""
    if isinstance(method, Searching):
        yield from _searched(method, world, state, names)
        return
    for at in range(0, len(names), method.block):
        block = names[at : at + method.block]
        if method.is_asking:
            yield Lesson(block, method)
        for name in block:
            yield from _observed(method, world, state, name)


def _searched(method: Searching, world: World, state: State, names: Sequence[str]) -> Lessons:
    sees = world.setting.config.teacher_sees
    moves = method.search([taught(world.questions[name], sees) for name in names])
    move, round, notes = next(moves, None), LEARNING_AT, 0
    while move is not None:
        if isinstance(move, PromptTrial):
            yield Lesson(tuple(move.prepared), move, "trial", round)
            answers = {name: _answered(state, name, round) for name in move.prepared}
            move, round = after(moves, answers), round + 1
        else:
            notes += 1
            text = yield AskedNote(_writing(world, f"{move.shown[0]}/notes-{notes}", move.request), move.shown)
            move = after(moves, text)


def _observed(method: Method, world: World, state: State, name: str) -> Lessons:
    reply, verdict = _answered(state, name, 0)
    writing = method.observe(taught(world.questions[name], world.setting.config.teacher_sees), reply, verdict)
    request, place = next(writing, None) if writing else None, 0
    while writing and request is not None:
        place += 1
        text = yield AskedNote(_writing(world, f"{name}/notes-{place}", request), (name,))
        request = after(writing, text)


def _answered(state: State, name: str, round: int) -> TrialAnswer:
    reply, verdict, progress = "", None, state.progress
    if progress.is_judged("evaluate", name, round):
        judged = progress.verdict("evaluate", name, round)
        score = judged.score_micro / MICRO
        verdict = Verdict(
            answer=judged.answer,
            score=score,
            strict=judged.strict,
            by=judged.judge,
            # The log says whether it passed, but not the passing score.
            passing=score if judged.correct else inf,
        )
    if steps := progress.steps("fresh", name):
        reply = transcript_of(steps)
    elif progress.is_replied("evaluate", name, round):
        reply = progress.reply("evaluate", name, round).text
    return TrialAnswer(reply, verdict)


def _writing(world: World, about: str, request: Request) -> Ask:
    return writing(about, request, has_guidance=bool(world.setting.config.guidance))


def writing(about: str, request: Request, *, has_guidance: bool) -> Ask:
    """Return the call of a writer: the guidance model, or else the learner."""
    tier: Tier = "guidance" if has_guidance else "execution"
    if has_guidance:  # its thinking counts towards the limit, as in all of its calls
        request = msgspec.structs.replace(request, max_tokens=max(request.max_tokens, MAX_TOKENS))
    return Ask(about, request, agent="Writer", tier=tier, purpose=NOTES)


def after(asking: Generator[_Yielded, Any, None], answer: object) -> _Yielded | None:
    """Send the outcome of what was asked, and return what to ask next, None at the end."""
    try:
        return asking.send(answer)
    except StopIteration:
        return None


def writer_text(world: World, state: State, ask: Ask) -> str:
    """Return a writer's text from the log, "" if it was lost, is not text or quotes a guarded question."""
    called = state.progress.call_at(LEARNING_AT, note_key(ask))
    if called is None or reason_of(called) in ("looped", "empty", "refused"):
        return ""
    return "" if world.setting.guarded.likeness([called.text]).is_leak else called.text


def note_key(ask: Ask) -> CallKey:
    return CallKey(ask.tier, NOTES, ask.about, ask.attempt, ask.request.sha256)
