"""Episodes as they were played: their steps in order, and their transcripts.

A transcript has one line for each step: the action, followed by a colon and the effect if the environment gives one.
Like the reply to a question, it is scored, corrected and made into memories.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.courses import call_of
from mage_es.engine.seams.environment import transcript_line
from mage_es.events.facts.envelope import fact_id
from mage_es.events.vocabulary import AnswerJudged, EpisodeStepped, ModelCalled, Origin, Phase, tag_of
from mage_es.projections.fold import State


class Trajectory(NamedTuple):
    """A played episode: its question, task type and skill, its steps, and the origin of what it taught."""

    question_id: str
    task_type: str
    skill: str
    steps: Sequence[EpisodeStepped]
    origin: Origin


def transcript_of(steps: Sequence[EpisodeStepped]) -> str:
    return "\n".join(transcript_line(step.action if step.parsed else None, step.effect) for step in steps)


def trajectory_of(state: State, phase: Phase, verdict: AnswerJudged) -> Trajectory:
    """Return the trajectory of a judged question of the open iteration; without steps if it was not an episode."""
    return Trajectory(
        question_id=verdict.question_id,
        task_type=verdict.task_type,
        skill=verdict.skill,
        steps=state.progress.steps(verdict.purpose, verdict.question_id),
        origin=own_origin(state, phase, verdict),
    )


def steps_of(state: State, phase: Phase, verdict: AnswerJudged) -> list[str]:
    """Return the calls before the last reply to a judged question: steps of a chain, each by its skill, and calls for
    tools."""
    progress, name = state.progress, verdict.question_id
    chain = enumerate(progress.plan(phase, name).chain, start=1)
    said = [
        f"{skill}: {progress.reply(phase, call_of(name, place)).text}"
        for place, skill in chain
        if progress.is_replied(phase, call_of(name, place))
    ]
    runs = (
        (state.tools.tool(ran.tool_id).name, ran.arguments, ran.problem or ran.result)
        for ran in progress.tool_runs(verdict.purpose, name)
    )
    return [*said, *(f"{tool}({arguments}): {came}" for tool, arguments, came in runs)]


def account_of(state: State, phase: Phase, verdict: AnswerJudged) -> str:
    """Return what the learner said to a judged question: the transcript of an episode, else its reply."""
    steps = state.progress.steps(verdict.purpose, verdict.question_id)
    # A single reply says nothing about its episode; what is remembered and corrected is what was done.
    return transcript_of(steps) if steps else state.progress.reply(phase, verdict.question_id).text


def own_origin(state: State, phase: Phase, verdict: AnswerJudged) -> Origin:
    """Return the origin of what a judged question taught without a teacher: its verdict, and the replies that led to it
    (for an episode the last)."""
    progress, name = state.progress, verdict.question_id
    chain = () if progress.steps(verdict.purpose, name) else progress.plan(phase, name).chain
    abouts = [call_of(name, place) for place in range(1, 1 + len(chain))]
    replies = [progress.reply(phase, about) for about in (*abouts, name) if progress.is_replied(phase, about)]
    facts = (fact_of(phase, verdict), *(fact_of(phase, reply) for reply in replies))
    return Origin(facts=facts, writer=replies[-1].model if replies else "")


def fact_of(phase: Phase, event: AnswerJudged | ModelCalled) -> str:
    """Return the fact id of a verdict or a reply, in hexadecimal digits: the same in every run that records it."""
    return fact_id(event.iteration, phase, event.subject, tag_of(event), 0).hex()
