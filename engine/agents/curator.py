"""Curator: what an iteration's answers change. No model takes part; everything follows from the verdicts.

Rules
    - Answers are taken in the order of question ids, not in the order of arrival.
    - Mastery counts fresh questions only, and only for the question's own skill: an answer through a chain or a guiding
      skill says nothing by itself about the other skills. Rewards count every answer of the iteration. Without bandits
      there are no rewards.
    - Every correct answer becomes a success memory, also called a case: with the reasoning of its reply if there is
      any, or else as question and answer. If it occurs again, the memory is reinforced. Neither a tool's result nor a
      truncated reply counts as reasoning.
    - Every wrong answer also becomes a case at once, with the right answer, if the run may show that answer to a
      teacher. If guidance writes a correction about it, the correction replaces the case.
    - If a label or option is right but has no reasoning, it may be right by chance; `is_guess` marks such cases. An
      unmarked memory of the same case replaces a marked one.
    - An episode of an open-ended benchmark gives one case for each achievement (rules/action_recipes.py), and all its
      recipes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.commands import LearnFromAnswers
from mage_es.engine.courses import call_of
from mage_es.engine.rules.action_recipes import Milestone, account_of_milestone, harvest_recipes, milestones
from mage_es.engine.rules.bandits import posterior_of, rewarded, update_of
from mage_es.engine.rules.briefing import teacher_knowledge
from mage_es.engine.rules.mastery import ratchet
from mage_es.engine.rules.new_memories import CASE, GUESS, Met, TimesGiven, capped, is_guess, new_memory, reasoning_of
from mage_es.engine.rules.phases import phase_drafts
from mage_es.engine.rules.probation import count_tosses
from mage_es.engine.rules.recall import compare
from mage_es.engine.rules.reproof import reproved
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.task_types import revised_types
from mage_es.engine.rules.trajectories import account_of, own_origin, trajectory_of
from mage_es.engine.seams.benchmark import giver_of, options_of
from mage_es.engine.seams.embedder import Vector, to_bytes
from mage_es.events import vocabulary as v
from mage_es.projections.bandits import Posterior
from mage_es.projections.fold import State


class _Solved(NamedTuple):
    question: str
    reasoning: str
    answer: str
    vector: Vector
    steps: tuple[v.Step, ...] = ()
    kind: str = ""


def learn(setting: Setting, state: State, command: LearnFromAnswers) -> list[v.Draft]:
    """[agents, Curator] No model takes part, although the paper's table lists the Curator under guidance."""
    verdicts = state.progress.verdicts("evaluate")
    harvested = list(_harvest(setting, state, command, verdicts)) if setting.config.success_memories else []
    events: list[v.Event] = [
        *_mastery(setting, state, command.iteration, verdicts),
        *(_rewards(setting, state, verdicts) if setting.config.bandits else ()),
        *harvested,
        *(_missed(setting, state, command, verdicts) if setting.config.cases else ()),
        *(reproved(setting, state, harvested) if setting.reproves(command.iteration) else ()),
        *compare(setting, state, command.iteration, verdicts, command.questions),
        *count_tosses(state, command.iteration, verdicts),
        *_action_recipes(setting, state, command.iteration, verdicts),
        *revised_types(setting, state, command.iteration, command.doubtful),
    ]
    return phase_drafts(command.iteration, "update", events, is_numbered=True)


def _mastery(
    setting: Setting, state: State, iteration: int, verdicts: Sequence[v.AnswerJudged]
) -> Iterable[v.MasteryUpdated]:
    by_skill: dict[str, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.purpose == "fresh":
            by_skill[verdict.skill].append(verdict.correct)
    for skill, outcomes in sorted(by_skill.items()):
        before, evidence = state.slots.mastery(skill), sum(outcomes) / len(outcomes)
        after = ratchet(before, evidence, increase=setting.config.mastery_increase, decay=setting.config.mastery_decay)
        yield v.MasteryUpdated(
            iteration=iteration,
            skill=skill,
            before=before,
            after=after,
            evidence=evidence,
            successes=sum(outcomes),
            failures=len(outcomes) - sum(outcomes),
        )


def _rewards(setting: Setting, state: State, verdicts: Sequence[v.AnswerJudged]) -> Iterable[v.BanditUpdated]:
    posteriors: dict[tuple[str, str, str], Posterior] = {}
    for verdict in verdicts:
        planned = state.progress.plan("evaluate", verdict.question_id)
        pulled: tuple[tuple[Literal["search", "routing"], str, str, float], ...] = (
            ("search", planned.task_type, planned.search_arm, planned.search_probability),
            ("routing", planned.skill, planned.routing_arm, planned.routing_probability),
        )
        for bandit, key, arm, probability in pulled:
            # Nothing was chosen, and questions without a choice (a run's first) differ from the others.
            if probability == 1:
                continue
            before = posteriors.get((bandit, key, arm)) or posterior_of(setting.config, state, bandit, key, arm)
            after = posteriors[bandit, key, arm] = rewarded(before, verdict.score_micro)
            yield update_of((bandit, key, arm), verdict.question_id, verdict.score_micro, before, after)


def observed_before(setting: Setting, state: State) -> list[str]:
    """Return the texts whose vectors the harvest of an open-ended benchmark needs, each once, sorted."""
    if not (setting.traits.is_open_ended and setting.config.success_memories):
        return []
    verdicts = state.progress.verdicts("evaluate")
    return sorted({stone.observation for verdict in verdicts for stone in _milestones(state, verdict)})


def _harvest(
    setting: Setting, state: State, command: LearnFromAnswers, verdicts: Sequence[v.AnswerJudged]
) -> Iterable[v.MemoryAppended | v.MemoryReinforced | v.MemorySuperseded]:
    met, given = Met(state.memory), given_of(verdicts)
    ordinal = 0
    for verdict in verdicts:
        solved = (
            _reached(state, command, verdict)
            if setting.traits.is_open_ended
            else _solved(setting, state, command, verdict, given)
        )
        origin = _origin(state, command, verdict)
        for one in solved:
            memory = _success_memory(setting, command, verdict, one, origin, ordinal)
            guess = _success_memory(setting, command, verdict, one._replace(kind=GUESS, reasoning=""), origin, ordinal)
            event = met.again(memory)
            ordinal += isinstance(event, v.MemoryAppended)
            yield event
            if (
                isinstance(event, v.MemoryAppended)
                and not one.kind
                and state.memory.status_of(guess.memory_id) == "active"
            ):
                yield v.MemorySuperseded(memory_id=guess.memory_id, by=memory.memory_id)


def _missed(
    setting: Setting, state: State, command: LearnFromAnswers, verdicts: Sequence[v.AnswerJudged]
) -> Iterable[v.MemoryAppended | v.MemoryReinforced]:
    """Yield a case for each missed question: the right answer, as far as the run may show that to a teacher."""
    # Each has its own birth: the harvest of the same phase has the earlier numbers.
    met, ordinal = Met(state.memory), len(verdicts)
    for verdict in verdicts:
        question = command.questions[verdict.question_id]
        answer, solution = teacher_knowledge(setting, question)
        # An episode has no right answer.
        if verdict.correct or not answer or setting.traits.is_open_ended or state.memory.latest_failure(question.id):
            continue
        event = met.again(
            new_memory(
                salt=setting.salt,
                outcome="failure_memory",
                kind=CASE,
                task_type=verdict.task_type,
                skill=verdict.skill,
                question_id=question.id,
                question=question.question,
                reasoning=capped(solution, setting.config.reasoning_cap),
                answer=answer,
                wrong_answer=verdict.answer,
                steps=(),
                origin=msgspec.structs.replace(_origin(state, command, verdict), saw=setting.config.teacher_sees),
                iteration=command.iteration,
                phase="update",
                ordinal=ordinal,
                embedding=to_bytes(command.vectors[question.id]),
            )
        )
        ordinal += isinstance(event, v.MemoryAppended)
        yield event


def _origin(state: State, command: LearnFromAnswers, verdict: v.AnswerJudged) -> v.Origin:
    by = giver_of(command.questions[verdict.question_id])
    return msgspec.structs.replace(own_origin(state, "evaluate", verdict), by=by)


def _reached(state: State, command: LearnFromAnswers, verdict: v.AnswerJudged) -> Iterable[_Solved]:
    for stone in _milestones(state, verdict):
        question = command.questions[verdict.question_id].question
        yield _Solved(question, account_of_milestone(stone), stone.achievement, command.observed[stone.observation])


def given_of(verdicts: Iterable[v.AnswerJudged]) -> Mapping[tuple[str, str], TimesGiven]:
    """Count, by task type and answer, how often the answer was given in an iteration and how often it was right."""
    times, right = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for verdict in verdicts:
        times[verdict.task_type, verdict.answer] += 1
        right[verdict.task_type, verdict.answer] += verdict.correct
    return {key: TimesGiven(count, right[key]) for key, count in times.items()}


def _solved(
    setting: Setting,
    state: State,
    command: LearnFromAnswers,
    verdict: v.AnswerJudged,
    given: Mapping[tuple[str, str], TimesGiven],
) -> Iterable[_Solved]:
    if not verdict.correct:
        return
    steps = _steps(state, verdict.question_id, cap=setting.config.reasoning_cap)
    reply = account_of(state, "evaluate", verdict)
    last = reasoning_of(reply, verdict.answer, setting.answer_format)
    # A chain's last reply repeats the skill's own step, from earlier results, or only states the answer.
    reasoning = "\n".join([*(step.output for step in (steps[:-1] if last else steps)), *([last] if last else [])])
    if any(not ran.problem for ran in state.progress.tool_runs(verdict.purpose, verdict.question_id)):
        reasoning = ""  # the reasoning is in the tool, which no example shows
    question = command.questions[verdict.question_id]
    labels = setting.traits.labels or options_of(question)
    is_guessed = not reasoning and is_guess(given[verdict.task_type, verdict.answer], labels)
    kept, vector = steps if setting.config.decompositions else (), command.vectors[question.id]
    yield _Solved(question.question, reasoning, verdict.answer, vector, kept, GUESS if is_guessed else "")


def _milestones(state: State, verdict: v.AnswerJudged) -> list[Milestone]:
    return milestones(state.progress.steps(verdict.purpose, verdict.question_id))


def _steps(state: State, question_id: str, *, cap: int) -> tuple[v.Step, ...]:
    chain = state.progress.plan("evaluate", question_id).chain
    outputs = (state.progress.reply("evaluate", call_of(question_id, place)).text for place in range(1, 1 + len(chain)))
    return tuple(
        v.Step(skill=skill, output=capped(output.strip(), cap)) for skill, output in zip(chain, outputs, strict=True)
    )


def _action_recipes(
    setting: Setting, state: State, iteration: int, verdicts: Sequence[v.AnswerJudged]
) -> Iterable[v.ActionRecipeHarvested]:
    went_well = [
        trajectory_of(state, "evaluate", verdict)
        for verdict in verdicts
        if verdict.correct or setting.traits.is_open_ended
    ]
    return harvest_recipes(went_well, state.graph, iteration=iteration, phase="update")


def _success_memory(
    setting: Setting,
    command: LearnFromAnswers,
    verdict: v.AnswerJudged,
    solved: _Solved,
    origin: v.Origin,
    ordinal: int,
) -> v.MemoryAppended:
    return new_memory(
        salt=setting.salt,
        outcome="success_memory",
        kind=solved.kind,
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
