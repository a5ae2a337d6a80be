"""SkillDiscovery: what the guidance tier is asked, before the first iteration and in every EVOLVE.

The shell makes the calls; rules/ontology.py and rules/authoring.py turn the replies into events.

Rules
    - Once guidance has written about a question (or a type's strategy), it writes about it again only after
      `refresh_gap` iterations.
    - Everything that EVOLVE asks follows from the state at its start, before any reply. So a resumed run asks the same.
    - Guidance sees only evolution questions that this iteration asked. Wrong ones come first; the others are shown as
      question and answer.
    - Only texts that the run reads are requested (rules/writings.py).
    - Only texts that the evidence supports are requested: no principle from one question, no recipe for an empty pool.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.briefs import (
    AuthoredRecipe,
    Brief,
    BundleOutcome,
    Case,
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
    ShownMemory,
    SolvedCase,
    SplittingBrief,
    SplittingReply,
    TaskTypeSample,
    ToolsBrief,
    ToolsReply,
    TypeStanding,
)
from mage_es.engine.commands import Candidate
from mage_es.engine.rules.authoring import LEAST_SUPPORT, PRINCIPLES_PER_TARGET, SLOT_LENGTH
from mage_es.engine.rules.briefing import Detail, case_for_teacher, clipped, fitted, window
from mage_es.engine.rules.curriculum import candidates_of, select_targets
from mage_es.engine.rules.ingredients import without
from mage_es.engine.rules.new_memories import CASE, reasoning_of
from mage_es.engine.rules.ontology import SKILL_CAP
from mage_es.engine.rules.prompt import worked
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
from mage_es.engine.rules.trajectories import account_of, steps_of
from mage_es.engine.rules.writings import CORRECTIONS, STRATEGIES, writings
from mage_es.engine.seams.benchmark import Question
from mage_es.events.vocabulary import AnswerJudged, BriefCut
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow

SAMPLES_PER_TYPE = 3  # questions of each task type that the ontology is induced from
MOST_CHILDREN = 4
MOST_KNOWN = 3  # most tools of a skill, corrections of a type, and failures without replies to show

TEMPLATES: dict[type[Brief], tuple[str, type[msgspec.Struct]]] = {
    FailureBrief: ("failure_memories_v1", FailureReply),
    PrinciplesBrief: ("principles_v1", PrinciplesReply),
    ToolsBrief: ("tools_v1", ToolsReply),
    RetrievalBrief: ("retrieval_recipes_v1", RetrievalReply),
    RefinementBrief: ("prompt_refinement_v1", RefinementReply),
    SplittingBrief: ("skill_splitting_v1", SplittingReply),
}
"""The template with which each brief of EVOLVE is asked, and the form of its reply."""


class Assignment(NamedTuple):
    """One action for one target: the brief and what was cut from it, or why nothing is asked."""

    task_type: str
    action: str
    brief: Brief | None
    idle: str = ""
    cut: BriefCut | None = None


def ontology_brief(
    setting: Setting, benchmark: str, task_types: Sequence[str], questions: Sequence[tuple[Question, str]]
) -> tuple[OntologyBrief, BriefCut | None]:
    """Return the brief for the ontology: every task type with its first few questions."""
    samples: dict[str, list[Question]] = {name: [] for name in task_types}
    for question, task_type in questions:
        samples.setdefault(task_type, []).append(question)

    def sampled(name: str, detail: Detail) -> TaskTypeSample:
        few = samples[name][: min(SAMPLES_PER_TYPE, (detail.cases + 1) // 2)]
        return TaskTypeSample(
            task_type=name, samples=tuple(case_for_teacher(setting, question, detail) for question in few)
        )

    def brief_of(detail: Detail) -> OntologyBrief:
        types = tuple(sampled(name, detail) for name in sorted(samples))
        return OntologyBrief(benchmark=benchmark, task_types=types, skill_cap=SKILL_CAP)

    return fitted(setting, -1, "ontology_v1", "run", brief_of)


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


BriefOf = Callable[[Detail], Brief]


class _Asking:
    """The briefs of one EVOLVE. A skill is refined or split once, however many of its task types are targets."""

    def __init__(self, setting: Setting, state: State, iteration: int, questions: Mapping[str, Question]) -> None:
        self.setting, self.state, self.iteration, self.questions = setting, state, iteration, questions
        doubtful = state.questions.doubtful
        self.verdicts = [each for each in state.progress.verdicts("evaluate") if each.question_id not in doubtful]
        self.done: set[str] = set()
        self.writings = writings(setting, types=len(state.graph.task_types()))
        self.actions: dict[str, tuple[type[Brief], Callable[[str, str], BriefOf | None]]] = {
            WRITE_FAILURES: (FailureBrief, self._failures),
            EXTRACT_PRINCIPLES: (PrinciplesBrief, self._principles),
            AUTHOR_TOOLS: (ToolsBrief, self._tools),
            AUTHOR_RECIPES: (RetrievalBrief, self._recipe),
            REFINE_PROMPTS: (RefinementBrief, self._refinement),
            SPLIT_SKILLS: (SplittingBrief, self._splitting),
        }

    def assignment(self, task_type: str, action: str) -> Assignment:
        kind, asked = self.actions[action]
        if action not in self.writings:
            return Assignment(task_type, action, None, SWITCHED_OFF)
        skill = self.state.graph.skill_for_task(task_type)
        if action in (REFINE_PROMPTS, SPLIT_SKILLS):
            if skill in self.done:
                return Assignment(task_type, action, None, f"done with another task type of {skill}")
            self.done.add(skill)
        brief_of = asked(task_type, skill)
        if brief_of is None:
            missing = hindrance(self.state, skill) if action == SPLIT_SKILLS else NOTHING
            return Assignment(task_type, action, None, missing)
        brief, cut = fitted(self.setting, self.iteration, TEMPLATES[kind][0], task_type, brief_of)
        return Assignment(task_type, action, brief, cut=cut)

    def _failures(self, task_type: str, skill: str) -> BriefOf | None:
        config, memory = self.setting.config, self.state.memory
        wrong = self._wrong(task_type)
        due = [each for each in wrong if self._is_due(memory.latest_failure(each.question_id))]
        due = due[: config.failure_memories_per_target]
        others = [each for each in wrong if each not in due]
        # One failure is not a pattern.
        is_strategy_due = len(due) >= LEAST_SUPPORT and self._is_due(memory.latest_strategy(task_type))
        wants_strategy = STRATEGIES in self.writings and is_strategy_due
        limit = len(due) if CORRECTIONS in self.writings else 0
        if not limit and not wants_strategy:
            return None
        right = self._right(task_type)
        return lambda detail: FailureBrief(
            task_type=task_type,
            skill=skill,
            cases=self._cases(due, detail),
            solved=self._solved(right, detail),
            others=self._plainly(others[: min(MOST_KNOWN, detail.solved)], detail, solution=""),
            existing=self._existing(task_type, skill, detail),
            wants_strategy=wants_strategy,
            limit=limit,
        )

    def _principles(self, task_type: str, skill: str) -> BriefOf | None:
        wrong, right = self._wrong(task_type), self._right(task_type)
        if not wrong or len(wrong) + len(right) < LEAST_SUPPORT:
            return None
        return lambda detail: PrinciplesBrief(
            task_type=task_type,
            skill=skill,
            cases=self._cases(wrong, detail),
            solved=self._solved(right, detail),
            existing=self._existing(task_type, skill, detail),
            limit=PRINCIPLES_PER_TARGET,
        )

    def _tools(self, task_type: str, skill: str) -> BriefOf | None:
        wrong, right = self._wrong(task_type), self._right(task_type)
        # What is the same for all questions needs no tool.
        if len({self.questions[each.question_id].gold for each in (*wrong, *right)}) < LEAST_SUPPORT:
            return None
        tools = [tool for tool in self.state.tools.tools() if tool.skill == skill][-MOST_KNOWN:]
        return lambda detail: ToolsBrief(
            task_type=task_type,
            skill=skill,
            cases=self._cases(wrong, detail),
            solved=self._solved(right, detail),
            existing=tuple(
                KnownTool(name=tool.name, source=clipped(tool.source, detail.text), problem=tool.problem)
                for tool in tools
            ),
            limit=TOOLS_PER_TARGET,
        )

    def _recipe(self, task_type: str, skill: str) -> BriefOf | None:
        """Return the brief about a type's retrieval, if there are memories to choose from and outcomes to compare."""
        wrong, right, bundle = self._wrong(task_type), self._right(task_type), self.setting.config.bundle
        solved, corrected = (len(self.state.memory.slice(index, task_type).ids) for index in ("success", "failure"))
        if not wrong or not right or not bundle or min(solved, corrected) < bundle:
            return None
        current = self.state.recipes.retrieval(task_type)
        in_use = msgspec.convert(current, AuthoredRecipe, from_attributes=True) if current else None
        return lambda detail: RetrievalBrief(
            task_type=task_type,
            skill=skill,
            outcomes=tuple(
                self._outcome(verdict, detail) for verdict in (*wrong[: detail.cases], *right[: detail.solved])
            ),
            solved_pool=solved,
            corrected_pool=corrected,
            in_use=in_use,
            bundle=bundle,
        )

    def _refinement(self, task_type: str, skill: str) -> BriefOf | None:
        wrong, right = self._wrong(task_type), self._right(task_type)
        if len(wrong) < LEAST_SUPPORT:
            return None
        return lambda detail: RefinementBrief(
            skill=skill,
            description=self.state.graph.description(f"skill/{skill}"),
            task_type=task_type,
            prompt_template=self.state.slots.prompt_template(skill),
            strategy=self.state.slots.strategy(skill),
            existing=self._existing(task_type, skill, detail),
            cases=self._cases(wrong, detail),
            solved=self._solved(right, detail, with_replies=True),
            length=SLOT_LENGTH,
        )

    def _splitting(self, task_type: str, skill: str) -> BriefOf | None:
        """Return the brief about splitting a skill, or None if it has only one task type or there is no room for more
        skills."""
        if len(self.state.graph.task_types_of(skill)) < LEAST_CHILDREN:
            return None
        limit = min(MOST_CHILDREN, room(self.state) - MOST_CHILDREN * (len(self.done) - 1))
        if limit < 1:
            return None
        skills = self.state.graph.skills()
        types = self.state.graph.task_types_of(skill) or [task_type]
        return lambda detail: SplittingBrief(
            skill=skill,
            description=self.state.graph.description(f"skill/{skill}"),
            task_types=tuple(self._standing(name, detail) for name in types),
            parts=tuple(name for name in skills if self.state.graph.parent(name) == skill),
            skills=tuple(skills),
            limit=limit,
        )

    def _existing(self, task_type: str, skill: str, detail: Detail) -> tuple[str, ...]:
        """Return what a type's prompts already contain: principles of the skill, failure memories of the type.

        Corrections written by guidance come before cases: every miss becomes a case at once, so the newest cases are
        the very questions that a brief asks about.
        """
        memory, form = self.state.memory, self.setting.answer_format
        rows = [memory.row(name) for name in reversed(memory.slice("failure", task_type).ids)]
        strategies = [row for row in rows if row.kind == "type_strategy"]
        corrections = sorted((row for row in rows if row.kind != "type_strategy"), key=lambda row: row.kind == CASE)
        texts = [
            *(row.reasoning for row in memory.principles(skill)),
            *(f"{row.recognise}: {row.reasoning}" for row in strategies),
            *(
                f"{row.question}\n{worked(row.reasoning, row.answer, form)}"
                for row in corrections[: min(MOST_KNOWN, detail.solved)]
            ),
        ]
        return tuple(clipped(text, detail.text) for text in texts)

    def _is_due(self, latest: MemoryRow | None) -> bool:
        if latest is None or latest.kind == CASE:  # a case was not written by guidance
            return True
        return self.iteration - latest.iteration >= self.setting.config.refresh_gap

    def _standing(self, task_type: str, detail: Detail) -> TypeStanding:
        wrong, right = self._wrong(task_type), self._right(task_type)
        few = [*wrong[: detail.cases], *right[: detail.solved]]
        return TypeStanding(task_type=task_type, right=len(right), wrong=len(wrong), samples=self._plainly(few, detail))

    def _wrong(self, task_type: str) -> list[AnswerJudged]:
        """Return this iteration's failures of a type, fresh questions before revisited ones, then by id.

        A reply that was truncated, empty or a refusal shows no mistake, so it comes last; guidance can still teach how
        its question is worked out.
        """
        wrong = [each for each in self.verdicts if each.task_type == task_type and not each.correct]
        return sorted(wrong, key=lambda each: (each.reason != "", each.purpose != "fresh", each.question_id))

    def _right(self, task_type: str) -> list[AnswerJudged]:
        return [verdict for verdict in self.verdicts if verdict.task_type == task_type and verdict.correct]

    def _cases(self, wrong: Sequence[AnswerJudged], detail: Detail) -> tuple[FailureCase, ...]:
        return tuple(self._case(verdict, detail) for verdict in wrong[: detail.cases])

    def _case(self, verdict: AnswerJudged, detail: Detail) -> FailureCase:
        question = self.questions[verdict.question_id]
        case = case_for_teacher(self.setting, question, detail)
        about = f"{question.question} {case.answer} {case.solution} {verdict.answer}"
        said = account_of(self.state, "evaluate", verdict)
        context = window(question.context, about, detail.context, answer=case.answer)
        return FailureCase(
            **msgspec.structs.asdict(case) | {"context": context},
            wrong_answer=clipped(verdict.answer, detail.text),
            wrong_reasoning=clipped(reasoning_of(said, verdict.answer, self.setting.answer_format), detail.text),
            steps=tuple(clipped(step, detail.text) for step in steps_of(self.state, "evaluate", verdict)),
        )

    def _plainly(self, verdicts: Sequence[AnswerJudged], detail: Detail, **changes: str) -> tuple[Case, ...]:
        cases = (case_for_teacher(self.setting, self.questions[each.question_id], detail) for each in verdicts)
        return tuple(msgspec.structs.replace(case, **changes) for case in cases)

    def _solved(
        self, right: Sequence[AnswerJudged], detail: Detail, *, with_replies: bool = False
    ) -> tuple[SolvedCase, ...]:
        return tuple(
            SolvedCase(
                **msgspec.structs.asdict(case_for_teacher(self.setting, self.questions[verdict.question_id], detail)),
                reply=clipped(account_of(self.state, "evaluate", verdict), detail.text) if with_replies else "",
            )
            for verdict in right[: detail.solved]
        )

    def _outcome(self, verdict: AnswerJudged, detail: Detail) -> BundleOutcome:
        progress = self.state.progress
        trimmed = {each.memory_id for each in progress.trimmings("evaluate", verdict.question_id)}
        hits = without(progress.plan("evaluate", verdict.question_id), trimmed).memories
        return BundleOutcome(
            question_id=verdict.question_id,
            question=clipped(self.questions[verdict.question_id].question, detail.text),
            correct=verdict.correct,
            memories=tuple(
                _memory(self.state.memory.row(hit.memory_id), hit.similarity, detail.text // MOST_KNOWN) for hit in hits
            ),
        )


def _memory(row: MemoryRow, similarity: float, most: int) -> ShownMemory:
    is_strategy = row.kind == "type_strategy"
    return ShownMemory(
        kind="strategy" if is_strategy else "solved" if row.outcome == "success_memory" else "corrected",
        question=clipped(row.recognise if is_strategy else row.question, most),
        similarity=round(similarity, 3),
    )
