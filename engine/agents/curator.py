"""Curator: what an iteration's answers change. No model; everything follows from the verdicts.

Rules
    - Answers are taken in question-id order, not in the order of their arrival.
    - Mastery counts fresh questions only, and for the question's own skill: an answer by way of a chain or a guiding
      skill says nothing about those by itself. Rewards count every answer of the iteration; without bandits none.
    - A correct answer with reasoning of its own becomes a success memory; met again, it is reinforced. A tool's result
      is no reasoning; a label needs none. An episode of an open-ended benchmark brings one for each achievement
      (rules/action_recipes.py), and all its recipes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from mage_es.engine.commands import LearnFromAnswers
from mage_es.engine.courses import call_of
from mage_es.engine.rules.action_recipes import Milestone, account_of_milestone, harvest_recipes, milestones
from mage_es.engine.rules.bandits import posterior_of, rewarded
from mage_es.engine.rules.harvest import Met, capped, new_memory, reasoning_of
from mage_es.engine.rules.mastery import ratchet
from mage_es.engine.rules.phases import marked
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.task_types import revised_types
from mage_es.engine.rules.trajectories import account_of, own_origin, trajectory_of
from mage_es.engine.seams.embedder import Vector, to_bytes
from mage_es.events.vocabulary import (
    ActionRecipeHarvested,
    AnswerJudged,
    BanditUpdated,
    Draft,
    Event,
    MasteryUpdated,
    MemoryAppended,
    MemoryReinforced,
    Origin,
    Step,
)
from mage_es.projections.bandits import Posterior
from mage_es.projections.fold import State


class _Solved(NamedTuple):
    question: str
    reasoning: str
    answer: str
    vector: Vector
    steps: tuple[Step, ...] = ()


def learn(setting: Setting, state: State, command: LearnFromAnswers) -> list[Draft]:
    """[agents, Curator] No model takes part, although the paper's table lists the Curator under guidance."""
    verdicts = state.progress.verdicts("evaluate")
    events: list[Event] = [
        *_mastery(setting, state, command.iteration, verdicts),
        *(_rewards(setting, state, verdicts) if setting.config.bandits else ()),
        *(_harvest(setting, state, command, verdicts) if setting.config.success_memories else ()),
        *_action_recipes(setting, state, command.iteration, verdicts),
        *revised_types(setting, state, command.iteration, command.doubtful),
    ]
    return marked(command.iteration, "update", events, is_numbered=True)


def _mastery(
    setting: Setting, state: State, iteration: int, verdicts: Sequence[AnswerJudged]
) -> Iterable[MasteryUpdated]:
    by_skill: dict[str, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.purpose == "fresh":
            by_skill[verdict.skill].append(verdict.correct)
    for skill, outcomes in sorted(by_skill.items()):
        before, evidence = state.slots.mastery(skill), sum(outcomes) / len(outcomes)
        after = ratchet(before, evidence, increase=setting.config.mastery_increase, decay=setting.config.mastery_decay)
        yield MasteryUpdated(
            iteration=iteration,
            skill=skill,
            before=before,
            after=after,
            evidence=evidence,
            successes=sum(outcomes),
            failures=len(outcomes) - sum(outcomes),
        )


def _rewards(setting: Setting, state: State, verdicts: Sequence[AnswerJudged]) -> Iterable[BanditUpdated]:
    posteriors: dict[tuple[str, str, str], Posterior] = {}
    for verdict in verdicts:
        planned = state.progress.plan("evaluate", verdict.question_id)
        pulled: tuple[tuple[Literal["search", "routing"], str, str, float], ...] = (
            ("search", planned.task_type, planned.search_arm, planned.search_probability),
            ("routing", planned.skill, planned.routing_arm, planned.routing_probability),
        )
        for bandit, key, arm, probability in pulled:
            # Nothing was chosen, and the questions without a choice are not like the others (the first ones of a run).
            if probability == 1:
                continue
            before = posteriors.get((bandit, key, arm)) or posterior_of(setting.config, state, bandit, key, arm)
            after = posteriors[bandit, key, arm] = rewarded(before, verdict.score_micro)
            yield BanditUpdated(
                bandit=bandit,
                key=key,
                arm=arm,
                question_id=verdict.question_id,
                reward_micro=verdict.score_micro,
                alpha_before=before.alpha,
                beta_before=before.beta,
                alpha_after=after.alpha,
                beta_after=after.beta,
                pulls_after=after.pulls,
            )


def observed_before(setting: Setting, state: State) -> list[str]:
    """Return the texts whose vectors the harvest of an open-ended benchmark needs, each once, sorted."""
    if not (setting.traits.is_open_ended and setting.config.success_memories):
        return []
    verdicts = state.progress.verdicts("evaluate")
    return sorted({stone.observation for verdict in verdicts for stone in _milestones(state, verdict)})


def _harvest(
    setting: Setting, state: State, command: LearnFromAnswers, verdicts: Sequence[AnswerJudged]
) -> Iterable[MemoryAppended | MemoryReinforced]:
    met = Met(state.memory)
    ordinal = 0
    for verdict in verdicts:
        solved = (
            _reached(state, command, verdict)
            if setting.traits.is_open_ended
            else _solved(setting, state, command, verdict)
        )
        origin = own_origin(state, "evaluate", verdict)
        for one in solved:
            event = met.again(_success_memory(setting, command, verdict, one, origin, ordinal))
            ordinal += isinstance(event, MemoryAppended)
            yield event


def _reached(state: State, command: LearnFromAnswers, verdict: AnswerJudged) -> Iterable[_Solved]:
    for stone in _milestones(state, verdict):
        question = command.questions[verdict.question_id].question
        yield _Solved(question, account_of_milestone(stone), stone.achievement, command.observed[stone.observation])


def _solved(setting: Setting, state: State, command: LearnFromAnswers, verdict: AnswerJudged) -> Iterable[_Solved]:
    if not verdict.correct or verdict.reason:  # a reply that was cut is right by its answer, not by its reasoning
        return
    steps = _steps(state, verdict.question_id, cap=setting.config.reasoning_cap)
    reply = account_of(state, "evaluate", verdict)
    last = reasoning_of(reply, verdict.answer, setting.answer_format)
    # A chain's last reply does the skill's own step again, from what the steps before found; or only states the answer.
    reasoning = "\n".join([*(step.output for step in (steps[:-1] if last else steps)), *([last] if last else [])])
    if any(not ran.problem for ran in state.progress.tool_runs(verdict.purpose, verdict.question_id)):
        reasoning = ""  # what led to the answer is in the tool, which no example shows
    if reasoning or setting.traits.has_labels:
        question = command.questions[verdict.question_id].question
        kept = steps if setting.config.decompositions else ()
        yield _Solved(question, reasoning, verdict.answer, command.vectors[verdict.question_id], kept)


def _milestones(state: State, verdict: AnswerJudged) -> list[Milestone]:
    return milestones(state.progress.steps(verdict.purpose, verdict.question_id))


def _steps(state: State, question_id: str, *, cap: int) -> tuple[Step, ...]:
    chain = state.progress.plan("evaluate", question_id).chain
    outputs = (state.progress.reply("evaluate", call_of(question_id, place)).text for place in range(1, 1 + len(chain)))
    return tuple(
        Step(skill=skill, output=capped(output.strip(), cap)) for skill, output in zip(chain, outputs, strict=True)
    )


def _action_recipes(
    setting: Setting, state: State, iteration: int, verdicts: Sequence[AnswerJudged]
) -> Iterable[ActionRecipeHarvested]:
    went_well = [
        trajectory_of(state, "evaluate", verdict)
        for verdict in verdicts
        if verdict.correct or setting.traits.is_open_ended
    ]
    return harvest_recipes(went_well, state.graph, iteration=iteration, phase="update")


def _success_memory(
    setting: Setting, command: LearnFromAnswers, verdict: AnswerJudged, solved: _Solved, origin: Origin, ordinal: int
) -> MemoryAppended:
    return new_memory(
        salt=setting.salt,
        outcome="success_memory",
        task_type=verdict.task_type,
        skill=verdict.skill,
        question_id=verdict.question_id,
        question=solved.question,
        reasoning=capped(solved.reasoning, setting.config.reasoning_cap),
        answer=solved.answer,
        steps=solved.steps,
        origin=origin,
        iteration=command.iteration,
        phase="update",
        ordinal=ordinal,
        embedding=to_bytes(solved.vector),
    )
