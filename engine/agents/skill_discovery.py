"""SkillDiscovery: what the guidance tier is asked, before the first iteration and in every EVOLVE.

What becomes of its replies is in rules/ontology.py and rules/authoring.py; calling it is the shell's part.

Rules
    - A question (or a type's strategy) that was written about is written about again only `refresh_gap`
      iterations later.
    - Whatever EVOLVE asks follows from the state at its start, before any reply: a resumed run asks the same.
    - Only evolution questions are shown, those that this iteration asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.briefs import (
    Brief,
    BundleOutcome,
    FailureBrief,
    FailureCase,
    FailureReply,
    KnownTool,
    OntologyBrief,
    PrinciplesBrief,
    PrinciplesReply,
    RefinementBrief,
    RefinementReply,
    RetrievalBrief,
    RetrievalReply,
    SolvedCase,
    SolvedSample,
    SplittingBrief,
    SplittingReply,
    TaskTypeSample,
    ToolsBrief,
    ToolsReply,
    TypeStanding,
)
from mage_es.engine.commands import Candidate
from mage_es.engine.rules.authoring import PRINCIPLES_PER_TARGET
from mage_es.engine.rules.curriculum import candidates_of, select_targets
from mage_es.engine.rules.ontology import SKILL_CAP
from mage_es.engine.rules.refinement import SLOT_LENGTH
from mage_es.engine.rules.rotation import (
    AUTHOR_RECIPES,
    AUTHOR_TOOLS,
    EXTRACT_PRINCIPLES,
    NOTHING,
    REFINE_PROMPTS,
    SPLIT_SKILLS,
    SWITCHED_OFF,
    WRITE_FAILURES,
    action_of,
    with_companions,
)
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.splitting import LEAST_CHILDREN, hindrance, room
from mage_es.engine.rules.tools import TOOLS_PER_TARGET
from mage_es.engine.rules.trajectories import account_of
from mage_es.engine.rules.trimming import without
from mage_es.engine.seams.benchmark import Question
from mage_es.events.vocabulary import AnswerJudged
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow

SAMPLES_PER_TYPE = 5  # solved questions of each task type that the ontology is induced from
MOST_CASES = 12
MOST_CHILDREN = 4

TEMPLATES: dict[type[Brief], tuple[str, type[msgspec.Struct]]] = {
    FailureBrief: ("failure_memories_v1", FailureReply),
    PrinciplesBrief: ("principles_v1", PrinciplesReply),
    ToolsBrief: ("tools_v1", ToolsReply),
    RetrievalBrief: ("retrieval_recipes_v1", RetrievalReply),
    RefinementBrief: ("prompt_refinement_v1", RefinementReply),
    SplittingBrief: ("skill_splitting_v1", SplittingReply),
}
"""With which template each brief of EVOLVE is asked, and of what form the reply is."""


class Assignment(NamedTuple):
    """One action for one target: the brief to ask about, or why nothing is asked."""

    task_type: str
    action: str
    brief: Brief | None
    idle: str = ""


def ontology_brief(benchmark: str, questions: Sequence[tuple[Question, str]]) -> OntologyBrief:
    """Return the brief for the ontology from (question, task type) pairs, the first few of each type."""
    samples: dict[str, list[SolvedSample]] = {}
    for question, task_type in questions:
        of_type = samples.setdefault(task_type, [])
        if len(of_type) < SAMPLES_PER_TYPE:
            of_type.append(
                SolvedSample(question_id=question.id, question=question.question, solution=question.solution)
            )
    types = tuple(TaskTypeSample(task_type=name, samples=tuple(samples[name])) for name in sorted(samples))
    return OntologyBrief(benchmark=benchmark, task_types=types, skill_cap=SKILL_CAP)


def targets(setting: Setting, state: State, iteration: int) -> list[Candidate]:
    signal = setting.config.failure_signal
    observed = {verdict.task_type: iteration - 1 for verdict in state.progress.verdicts("evaluate")}
    last = observed | {name: state.coverage.last_selected(name) for name in state.coverage.observed()}
    return select_targets(
        candidates_of(state.scores, last, iteration=iteration, signal=signal),
        iteration=iteration,
        recency_weight=setting.recency_weight,
        count=setting.config.targets,
        signal=signal,
    )


def assignments(
    setting: Setting, state: State, iteration: int, chosen: Sequence[Candidate], questions: Mapping[str, Question]
) -> list[Assignment]:
    asking = _Asking(setting, state, iteration, questions)
    return [
        asking.assignment(target.task_type, action)
        for target in chosen
        for action in with_companions(action_of(iteration))
    ]


class _Asking:
    """The briefs of one EVOLVE. A skill is refined or split once, however many of its task types are targets."""

    def __init__(self, setting: Setting, state: State, iteration: int, questions: Mapping[str, Question]) -> None:
        self.setting, self.state, self.iteration, self.questions = setting, state, iteration, questions
        self.verdicts = state.progress.verdicts("evaluate")
        self.done: set[str] = set()
        config = setting.config
        self.actions: dict[str, tuple[bool, Callable[[str, str], Brief | None]]] = {
            WRITE_FAILURES: (config.failure_memories, self._failures),
            EXTRACT_PRINCIPLES: (config.principles, self._principles),
            AUTHOR_TOOLS: (config.tools, self._tools),
            AUTHOR_RECIPES: (config.retrieval_recipes, self._recipe),
            REFINE_PROMPTS: (config.prompt_refinement, self._refinement),
            SPLIT_SKILLS: (config.skill_splitting, self._splitting),
        }

    def assignment(self, task_type: str, action: str) -> Assignment:
        is_on, brief_of = self.actions[action]
        if not is_on:
            return Assignment(task_type, action, None, SWITCHED_OFF)
        skill = self.state.graph.skill_for_task(task_type)
        if action in (REFINE_PROMPTS, SPLIT_SKILLS):
            if skill in self.done:
                return Assignment(task_type, action, None, f"done with another task type of {skill}")
            self.done.add(skill)
        brief = brief_of(task_type, skill)
        missing = hindrance(self.state, skill) if action == SPLIT_SKILLS else NOTHING
        return Assignment(task_type, action, brief, "" if brief else missing)

    def _failures(self, task_type: str, skill: str) -> FailureBrief | None:
        config, memory = self.setting.config, self.state.memory
        due = [case for case in self._cases([task_type]) if self._is_due(memory.latest_failure(case.question_id))]
        if not due:
            return None
        return FailureBrief(
            task_type=task_type,
            skill=skill,
            cases=tuple(due[: config.failure_memories_per_target]),
            wants_strategy=self._is_due(memory.latest_strategy(task_type)),
            limit=config.failure_memories_per_target,
        )

    def _principles(self, task_type: str, skill: str) -> PrinciplesBrief | None:
        cases = self._cases([task_type])[:MOST_CASES]
        if not cases:
            return None
        return PrinciplesBrief(
            task_type=task_type,
            skill=skill,
            cases=tuple(cases),
            solved=tuple(self._solved([task_type])[:MOST_CASES]),
            existing=tuple(row.reasoning for row in self.state.memory.principles(skill)),
            limit=PRINCIPLES_PER_TARGET,
        )

    def _tools(self, task_type: str, skill: str) -> ToolsBrief | None:
        cases, solved = self._cases([task_type])[:MOST_CASES], self._solved([task_type])[:MOST_CASES]
        if not cases and not solved:
            return None
        tools = [tool for tool in self.state.tools.tools() if tool.skill == skill]
        return ToolsBrief(
            task_type=task_type,
            skill=skill,
            cases=tuple(cases),
            solved=tuple(solved),
            existing=tuple(KnownTool(name=tool.name, source=tool.source, problem=tool.problem) for tool in tools),
            limit=TOOLS_PER_TARGET,
        )

    def _recipe(self, task_type: str, skill: str) -> RetrievalBrief | None:
        """Return what is asked about the retrieval of a type; only one with failures needs another way."""
        cases = self._cases([task_type])[:MOST_CASES]
        current = self.state.recipes.retrieval(task_type)
        if not cases or self.setting.config.bundle < 1:
            return None
        return RetrievalBrief(
            task_type=task_type,
            skill=skill,
            cases=tuple(cases),
            outcomes=tuple(self._outcome(verdict) for verdict in self.verdicts if verdict.task_type == task_type),
            existing=current.query_template if current else "",
            bundle=self.setting.config.bundle,
        )

    def _refinement(self, task_type: str, skill: str) -> RefinementBrief | None:
        task_types = self._task_types(task_type, skill)
        cases = self._cases(task_types)[:MOST_CASES]
        if not cases:
            return None
        return RefinementBrief(
            skill=skill,
            description=self.state.graph.description(f"skill/{skill}"),
            task_types=tuple(task_types),
            prompt_template=self.state.slots.prompt_template(skill),
            strategy=self.state.slots.strategy(skill),
            cases=tuple(cases),
            solved=tuple(self._solved(task_types)[:MOST_CASES]),
            length=SLOT_LENGTH,
        )

    def _splitting(self, task_type: str, skill: str) -> SplittingBrief | None:
        """Return what is asked about splitting a skill; None where it has one task type, or others need the room."""
        if len(self.state.graph.task_types_of(skill)) < LEAST_CHILDREN:
            return None
        limit = min(MOST_CHILDREN, room(self.state) - MOST_CHILDREN * (len(self.done) - 1))
        if limit < 1:
            return None
        skills = self.state.graph.skills()
        return SplittingBrief(
            skill=skill,
            description=self.state.graph.description(f"skill/{skill}"),
            task_types=tuple(self._standing(name) for name in self._task_types(task_type, skill)),
            parts=tuple(name for name in skills if self.state.graph.parent(name) == skill),
            skills=tuple(skills),
            limit=limit,
        )

    def _is_due(self, latest: MemoryRow | None) -> bool:
        return latest is None or self.iteration - latest.iteration >= self.setting.config.refresh_gap

    def _task_types(self, task_type: str, skill: str) -> list[str]:
        return self.state.graph.task_types_of(skill) or [task_type]

    def _standing(self, task_type: str) -> TypeStanding:
        answers = [verdict.correct for verdict in self.verdicts if verdict.task_type == task_type]
        wrong = [case.question_id for case in self._cases([task_type])[:MOST_CASES]]
        right = [case.question_id for case in self._solved([task_type])[:MOST_CASES]]
        return TypeStanding(
            task_type=task_type,
            right=sum(answers),
            wrong=len(answers) - sum(answers),
            samples=tuple(self._sample(question_id) for question_id in (*wrong, *right)),
        )

    def _cases(self, task_types: Sequence[str]) -> list[FailureCase]:
        """Return this iteration's failures of some types, fresh questions before revisited ones, then by id.

        A reply that was cut, refused or left empty shows no mistake to learn from.
        """
        wrong = [v for v in self.verdicts if v.task_type in task_types and not (v.correct or v.reason)]
        return [self._case(verdict) for verdict in sorted(wrong, key=lambda v: (v.purpose != "fresh", v.question_id))]

    def _solved(self, task_types: Sequence[str]) -> list[SolvedCase]:
        right = [verdict for verdict in self.verdicts if verdict.task_type in task_types and verdict.correct]
        return [self._sample(verdict.question_id) for verdict in right]

    def _case(self, verdict: AnswerJudged) -> FailureCase:
        question = self.questions[verdict.question_id]
        return FailureCase(
            question_id=verdict.question_id,
            question=question.question,
            context=question.context,
            wrong_answer=verdict.answer,
            wrong_reasoning=account_of(self.state, "evaluate", verdict),
            answer=verdict.expected,
            solution=question.solution,
        )

    def _sample(self, question_id: str) -> SolvedCase:
        question = self.questions[question_id]
        return SolvedCase(
            question_id=question_id,
            question=question.question,
            context=question.context,
            answer=question.gold,
            solution=question.solution,
        )

    def _outcome(self, verdict: AnswerJudged) -> BundleOutcome:
        progress = self.state.progress
        trimmed = {each.memory_id for each in progress.trimmings("evaluate", verdict.question_id)}
        hits = without(progress.plan("evaluate", verdict.question_id), trimmed).memories
        kinds = [self.state.memory.row(hit.memory_id).outcome for hit in hits]
        return BundleOutcome(
            question_id=verdict.question_id,
            success_memories=kinds.count("success_memory"),
            failure_memories=kinds.count("failure_memory"),
            best_similarity=max((hit.similarity for hit in hits), default=0.0),
            correct=verdict.correct,
        )
